"""Numbers for species, moves, items, abilities and types, and what the dex says of them.

Reads dex.json, which dex.mjs makes from the dex of the locked simulator and which ships with the
package, so that a bot on another machine counts alike. A number never changes its meaning: a new
simulator's names go to the end, into room that is kept. Knows nothing of battles.

    0   none: there is nothing
    1   unknown: there may be something, nobody has said what
    2   other: something that the dex of this version does not have
    3…  the dex
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

NONE, UNKNOWN, OTHER, FIRST = range(4)
DEX = Path(__file__).parents[1] / "dex.json"
SPECIES_CLASSES = 1024
MOVE_CLASSES = 768
ITEM_CLASSES = 320
ABILITY_CLASSES = 384
TYPE_CLASSES = 24
CATEGORIES = ("Physical", "Special", "Status")
CATEGORY_CLASSES = 4
"""0 is none; a category of `CATEGORIES` is one more than its place there."""
UNTOLD = "unknown"
"""The name of whatever nobody has said, where a name must stand; it gets the number `UNKNOWN`."""
RECHARGE = "recharge"
"""What a request calls the turn after Hyper Beam; the dex has no such move."""


@dataclass(frozen=True)
class Species:
    """What the dex says of a species."""

    number: int
    base: str
    """The species of which this one is a forme."""
    types: tuple[str, ...]
    abilities: tuple[str, ...]
    """Every ability that it can have."""
    stats: tuple[int, ...]
    """Base HP, Attack, Defense, Special Attack, Special Defense, Speed."""


@dataclass(frozen=True)
class Move:
    """What the dex says of a move."""

    number: int
    type: str
    category: int
    power: int
    accuracy: int
    """In hundredths; 0 where it cannot miss."""
    priority: int
    steady: bool
    """Nothing about the move itself changes its priority."""


@dataclass(frozen=True)
class Dex:
    """The tables of one version of the simulator."""

    simulator: str
    species: dict[str, Species]
    moves: dict[str, Move]
    items: dict[str, int]
    abilities: dict[str, int]
    types: dict[str, int]
    weak: dict[tuple[str, str], int]
    """By (attack's type, target's type): 1 doubled, -1 halved, `IMMUNE` nothing."""
    order: frozenset[str]
    """Items and abilities that change who acts first, apart from the Speed stat."""
    targets: dict[str, str]
    """By move: what the simulator lets it be aimed at."""

    def species_of(self, name: str) -> Species:
        """Return a species by its id; `NO_SPECIES` if the dex does not have it."""
        return self.species.get(name) or (UNTOLD_SPECIES if name == UNTOLD else NO_SPECIES)

    def move_of(self, name: str) -> Move:
        """Return a move by its id; `NO_MOVE` if the dex does not have it."""
        return self.moves.get(name) or (UNTOLD_MOVE if name == UNTOLD else NO_MOVE)


IMMUNE = -8
NO_SPECIES = Species(OTHER, "", (), (), (0,) * 6)
NO_MOVE = Move(OTHER, "", 0, 0, 0, 0, False)
UNTOLD_SPECIES = Species(UNKNOWN, UNTOLD, (UNTOLD, UNTOLD), (), (0,) * 6)
UNTOLD_MOVE = Move(UNKNOWN, UNTOLD, 0, 0, 0, 0, False)


@lru_cache(maxsize=1 << 14)
def to_id(name: str) -> str:
    """Return a name as the simulator's id: small letters and figures alone."""
    return "".join(letter for letter in name.lower() if letter.isascii() and letter.isalnum())


def number_of(table: dict[str, int], name: str) -> int:
    """Return the number of an item, an ability or a type."""
    return table.get(name) or (UNKNOWN if name == UNTOLD else OTHER)


@cache
def dex() -> Dex:
    """Return the dex that ships with the package."""
    return read_dex(DEX.read_text(encoding="utf-8"))


def read_dex(text: str) -> Dex:
    """Read what dex.mjs wrote."""
    tables = json.loads(text)
    species = {
        row[0]: Species(number, row[1], tuple(row[2]), tuple(row[3]), tuple(row[4]))
        for number, row in enumerate(tables["species"], FIRST)
    }
    for forme, shown in tables["cosmetic"].items():
        species.setdefault(forme, species[shown])
    moves = {row[0]: _move(number, *row[1:]) for number, row in enumerate(tables["moves"], FIRST)}
    moves[RECHARGE] = Move(MOVE_CLASSES - 1, "normal", 3, 0, 0, 0, steady=True)
    result = Dex(
        simulator=tables["simulator"],
        species=species,
        moves=moves,
        items=_numbered(tables["items"]),
        abilities=_numbered(tables["abilities"]),
        types=_numbered(row[0] for row in tables["types"]),
        weak=_weaknesses(tables["types"]),
        order=frozenset(tables["order"]),
        targets={move: aim for aim, moves in tables["targets"].items() for move in moves},
    )
    _check_room(tables)
    return result


@lru_cache(maxsize=1 << 14)
def effectiveness(attack: str, target: tuple[str, ...]) -> int:
    """Return how often an attack's damage doubles by types alone; `IMMUNE` if it does nothing."""
    weak = dex().weak
    doublings = [weak.get((attack, type_name), 0) for type_name in target]
    return IMMUNE if IMMUNE in doublings else sum(doublings)


def _move(
    number: int, type: str, category: str, power: int, accuracy: int, priority: int, changes: int
) -> Move:
    place = 1 + CATEGORIES.index(category)
    return Move(number, type, place, power, accuracy, priority, steady=not changes)


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names, FIRST)}


def _weaknesses(types: list[Any]) -> dict[tuple[str, str], int]:
    effects = (1, -1, IMMUNE)
    return {
        (attack, row[0]): effect
        for row in types
        for effect, attacks in zip(effects, row[1:], strict=True)
        for attack in attacks
    }


def _check_room(tables: dict[str, Any]) -> None:
    rooms = {
        **{"species": SPECIES_CLASSES, "moves": MOVE_CLASSES - 1, "items": ITEM_CLASSES},
        **{"abilities": ABILITY_CLASSES, "types": TYPE_CLASSES},
    }
    for name, room in rooms.items():
        if FIRST + len(tables[name]) > room:
            raise ValueError(
                f"dex.json lists {len(tables[name])} {name}; an observation has room for "
                f"{room - FIRST}: widen it and move the observation's version."
            )
