"""A collector's events in the arena's own units, projected onto its 19 numbers and its choices.

docs/reference/feedback.md has the mapping. What an event says beyond it is named and left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lanista.games.arena.action_codec import AXES, Action, encode_action
from lanista.games.contract import GameError, Spec

SIGHT = 10.0
_OWN = {"x": 50, "y": 50, "vx": 15, "vy": 15, "hp": 100, "ammo": 30}
"""What each number is divided by."""
_ZONE = ("zone_x", "zone_y", "zone_radius")
_ENEMY, _ITEM = ("x", "y", "hp"), ("x", "y")
_MOST_ENEMIES, _MOST_ITEMS = 7, 5
_SWITCHES = ("fire", "interact")
_LARGEST = 1e9


def project_observation(spec: Spec, event: Mapping[str, Any]) -> tuple[list[float], list[str]]:
    """Return the 19 numbers that the game would show, and the names of what was left out."""
    if spec.settings["observation"] != "classic19":
        raise GameError(
            "events are projected onto the observation classic19, and the settings say "
            f"{spec.settings['observation']}; set it to classic19."
        )
    unknown = [key for key in event if key not in (*_OWN, *_ZONE, "enemies", "items")]
    own = {key: _number(event, key) for key in _OWN}
    zone_x, zone_y = (_number(event, key) if key in event else 0.0 for key in _ZONE[:2])
    radius = _number(event, "zone_radius")
    x, y = own["x"], own["y"]
    enemies = _things(event, "enemies", _ENEMY, x, y, unknown)
    items = _things(event, "items", _ITEM, x, y, unknown)
    inside = (x - zone_x) ** 2 + (y - zone_y) ** 2 <= radius**2
    numbers = [own[key] / scale for key, scale in _OWN.items()]
    numbers += [zone_x / 50, zone_y / 50, radius / 50, float(inside)]
    nearest = enemies[0] if enemies else {"x": 0.0, "y": 0.0, "hp": -100.0}
    numbers += [nearest["x"] / 50, nearest["y"] / 50, nearest["hp"] / 100]
    numbers += [items[0]["x"] / 50, items[0]["y"] / 50] if items else [0.0, 0.0]
    numbers += [len(enemies) / _MOST_ENEMIES, len(items) / _MOST_ITEMS]
    numbers += [things[0]["distance"] / 10 if things else -1.0 for things in (enemies, items)]
    return numbers, unknown


def project_action(event: Mapping[str, Any]) -> tuple[list[int], list[str]]:
    """Return a choice for each head, and the names of what was left out."""
    unknown = [key for key in event if key not in (*AXES, *_SWITCHES, "ability")]
    axes: dict[str, Any] = {key: _number(event, key) for key in AXES if key in event}
    for key in _SWITCHES:
        if type(event.get(key, False)) is not bool:
            raise GameError(f"{key} of the action is {event[key]!r}; give true or false.")
    switches = {key: bool(event.get(key, False)) for key in _SWITCHES}
    return encode_action(Action(ability=event.get("ability"), **axes, **switches)), unknown


def _things(
    event: Mapping[str, Any], key: str, names: Sequence[str], x: float, y: float, unknown: list[str]
) -> list[dict[str, float]]:
    """Return what is within sight, nearest first, with its distance."""
    things = []
    listed = event.get(key, [])
    if type(listed) is not list or not all(type(thing) is dict for thing in listed):
        raise GameError(f"{key} of the event is no list of objects.")
    for thing in listed:
        unknown += [f"{key}.{name}" for name in thing if name not in names]
        numbers = {name: _number(thing, name) for name in names}
        numbers["distance"] = math.sqrt((numbers["x"] - x) ** 2 + (numbers["y"] - y) ** 2)
        if numbers["distance"] <= SIGHT:
            things.append(numbers)
    return sorted(things, key=lambda thing: thing["distance"])


def _number(values: Mapping[str, Any], key: str) -> float:
    number = values.get(key)
    if type(number) not in (int, float) or not abs(number) <= _LARGEST:  # type: ignore[arg-type]
        raise GameError(f"{key} of the event is {number!r}; give a number.")
    return float(number)  # type: ignore[arg-type]
