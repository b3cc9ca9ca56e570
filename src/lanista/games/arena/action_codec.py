"""The arena's action as other programs have it, and as this game's choices: there and back.

Moving and aiming are numbers from −1 to 1 there, and one of eleven bins here. Knows no rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lanista.games.arena.layout import HEADS
from lanista.games.contract import GameError

AXES = ("move_x", "move_y", "aim_x", "aim_y")
BINS = HEADS[0].size
_CENTRE = BINS // 2
_ABILITIES = HEADS[5].labels


@dataclass(frozen=True)
class Action:
    """What a fighter does: directions with numbers from −1 to 1, and switches."""

    move_x: float = 0.0
    move_y: float = 0.0
    aim_x: float = 0.0
    aim_y: float = 0.0
    fire: bool = False
    ability: str | None = None
    """dash, shield or None."""
    interact: bool = False


def encode_action(action: Action) -> list[int]:
    """Return one choice for each head: the nearest bin; numbers beyond ±1 count as ±1."""
    bins = [_bin(name, getattr(action, name)) for name in AXES]
    ability = "none" if action.ability is None else action.ability
    if ability not in _ABILITIES:
        names = ", ".join(_ABILITIES[1:])
        raise GameError(f"The ability is {ability!r}; give one of {names}, or None.")
    return [*bins, int(action.fire), _ABILITIES.index(ability), int(action.interact)]


def decode_action(choices: Sequence[int]) -> Action:
    """Return the action that a choice for each head stands for: the middles of its bins."""
    if len(choices) != len(HEADS):
        raise GameError(f"An action of the arena has {len(HEADS)} choices; {len(choices)} given.")
    for head, choice in zip(HEADS, choices, strict=True):
        if not 0 <= choice < head.size:
            raise GameError(
                f"The choice of head {head.name} is {choice}; give 0 to {head.size - 1}."
            )
    *bins, fire, ability, interact = (int(choice) for choice in choices)
    move_x, move_y, aim_x, aim_y = ((one - _CENTRE) / _CENTRE for one in bins)
    name = _ABILITIES[ability] if ability else None
    return Action(move_x, move_y, aim_x, aim_y, bool(fire), name, bool(interact))


def _bin(name: str, number: float) -> int:
    if not math.isfinite(number):
        raise GameError(f"{name} is {number}; give a number from -1 to 1.")
    # Halves go outwards, so that mirrored numbers have mirrored bins.
    steps = math.floor(abs(min(max(number, -1.0), 1.0)) * _CENTRE + 0.5)
    return _CENTRE + (steps if number > 0 else -steps)
