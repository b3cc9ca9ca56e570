"""A moment of an arena match as plain values for a page; keys that a person holds as an action.

Fighters, shots and items are shown where one of the eyes can see them. Knows nothing of how they
are drawn, and no rules but how far a seat sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

from lanista.games.arena.action_codec import Action, encode_action
from lanista.games.arena.frames import Fighter, Frame, frame_of
from lanista.games.arena.layout import HEADS, TICKS_A_SECOND, match_dtype, time_limit
from lanista.games.contract import Game, GameError, Spec
from lanista.games.scenes import Board, Eyes, Facts, Scene, everybody

SIGHT = 10.0
"""How far a seat sees (state.pxd)."""
_CENTRE = 5
_FIRE, _AIM_X, _AIM_Y = 4, 2, 3


def scene(game: Game, slot: int, eyes: Eyes) -> Scene:
    """Return zone, fighters, shots and items as far as the eyes see."""
    spec = game.spec
    ticks = time_limit(spec.settings["duration"])
    saved = game.save([slot])["matches"].view(match_dtype(spec.seats))[0, 0]
    frame = frame_of(saved, spec.seats, ticks * 2 // 3)
    everything = eyes == everybody(spec)
    watchers = [frame.fighters[seat] for seat in sorted(eyes)]

    def visible(x: float, y: float) -> bool:
        near = ((one.x - x) ** 2 + (one.y - y) ** 2 <= SIGHT**2 for one in watchers)
        return everything or any(near)

    return {
        "kind": "arena",
        "seconds": frame.seconds,
        "limit": ticks / TICKS_A_SECOND,
        "step": spec.settings["ticks_per_decision"] / TICKS_A_SECOND,
        "zone": frame.zone,
        "sight": None if everything else SIGHT,
        "fighters": [
            _fighter(fighter, seat in eyes, seat in eyes or visible(fighter.x, fighter.y))
            for seat, fighter in enumerate(frame.fighters)
        ],
        "shots": _shots(frame, eyes, visible),
        "items": [
            {"x": _short(item.x), "y": _short(item.y), "kind": item.kind}
            for item in frame.items
            if visible(item.x, item.y)
        ],
    }


def _shots(frame: Frame, eyes: Eyes, visible: Any) -> list[dict[str, Any]]:
    return [
        {
            "owner": shot.owner,
            "fired": shot.fired,
            **{name: _short(getattr(shot, name)) for name in ("x", "y", "vx", "vy")},
        }
        for shot in frame.shots
        if shot.owner in eyes or visible(shot.x, shot.y)
    ]


def _fighter(fighter: Fighter, own: bool, visible: bool) -> dict[str, Any]:
    if not visible:
        return {"alive": fighter.alive}
    return {
        "alive": fighter.alive,
        "x": _short(fighter.x),
        "y": _short(fighter.y),
        "hp": round(fighter.hp, 1),
        "shielded": fighter.shielded,
        "died": fighter.died,
        **({"ammo": fighter.ammo} if own else {}),
    }


def _short(number: float) -> float:
    return round(number, 3)


def words(game: Game, slot: int, seat: int, head: int, choice: int) -> str:
    """Return a choice of a head in words."""
    entry = HEADS[head]
    if entry.labels:
        return entry.labels[choice]
    return f"{entry.name.replace('_', ' ')} {(choice - _CENTRE) / _CENTRE:+.1f}"


def seen(spec: Spec, observation: NDArray[Any]) -> Facts:
    """Return what a seat saw, a line for each enemy, shot and item that is there."""
    facts, start = [], 0
    for entry in spec.observation.fields:
        values = observation[start : start + entry.size].tolist()
        start += entry.size
        if entry.size > 2 and not values[0]:
            continue  # Nothing is there.
        facts.append((entry.name, ", ".join(f"{value:.2f}" for value in values)))
    return facts


def held_action(
    keys: Mapping[str, Any], mask: NDArray[Any], fighter: tuple[float, float]
) -> list[int]:
    """Return the action of what a person holds: a direction, a point to aim at, and switches.

    `keys` has `move` (x, y), `aim` (a point of the arena, or None), `fire`, `ability` and
    `interact`. What is not legal now is left out.
    """
    move_x, move_y = _pair("move", keys.get("move", (0, 0)))
    action = Action(
        move_x, move_y, fire=bool(keys.get("fire")), interact=bool(keys.get("interact"))
    )
    aim = keys.get("aim")
    if aim is not None:
        dx, dy = (to - at for to, at in zip(_pair("aim", aim), fighter, strict=True))
        longest = max(abs(dx), abs(dy)) or 1.0
        action = Action(
            move_x, move_y, dx / longest, dy / longest, action.fire, None, action.interact
        )
    ability = keys.get("ability")
    if ability in ("dash", "shield"):
        action = Action(**{**vars(action), "ability": ability})
    return _allowed(encode_action(action), mask)


def _allowed(choices: Iterable[int], mask: NDArray[Any]) -> list[int]:
    """Return the choices with those that the mask refuses put back to doing nothing."""
    action, start = [], 0
    for head, choice in zip(HEADS, choices, strict=True):
        idle = _CENTRE if not head.labels else 0
        action.append(choice if mask[start + choice] else idle)
        start += head.size
    if not action[_FIRE]:
        # Where to aim does not matter then, and may be barred.
        action[_AIM_X] = action[_AIM_Y] = _CENTRE
    return action


def _pair(name: str, value: Any) -> tuple[float, float]:
    try:
        x, y = (float(number) for number in value)
    except (TypeError, ValueError) as error:
        raise GameError(f"{name} is {value!r}; give two numbers.") from error
    if not (abs(x) < 1e6 and abs(y) < 1e6):
        raise GameError(f"{name} is {value!r}; give two numbers within the arena.")
    return x, y


BOARD = Board(scene, words, seen=seen, live=True)
