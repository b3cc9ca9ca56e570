"""What a seat of MicroRTS sees and chooses, as numbers.

A board of `side` x `side` cells. Each cell is one head with the 65 things a unit there could be
told; a cell without a unit of the seat's that is free to act has one legal choice, to wait. Seat 1
sees the board turned by half, so both seats start at the top left. Knows nothing of Java.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import (
    Abilities,
    Facts,
    Field,
    Group,
    Head,
    Observation,
    References,
    Role,
    Spec,
)

NAME = "microrts"
SEATS = 2
SIDES = (8, 16)

KINDS = ("resource", "base", "barracks", "worker", "light", "heavy", "ranged")
"""The units, numbered from 1 on a board; 0 is an empty cell."""
RESOURCE, BASE = 1, 2
MADE = KINDS[1:]
WAYS = ("up", "right", "down", "left")
STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))
"""A step of each way, as (columns, rows)."""
REACH = 3
AIMS = tuple(
    (across, down)
    for down in range(-REACH, REACH + 1)
    for across in range(-REACH, REACH + 1)
    if 0 < across * across + down * down <= REACH * REACH
)
"""Where a ranged unit can shoot, from where it stands."""

WAIT = 0
MOVE, HARVEST, RETURN = 1, 5, 9
MAKE = 13
ATTACK = MAKE + 4 * len(MADE)
CHOICES = ATTACK + len(AIMS)
"""The first choice of each sort: four ways each, `MAKE` four for each unit, then the aims."""

LABELS = (
    "wait",
    *(f"{verb} {way}" for verb in ("move", "harvest", "return") for way in WAYS),
    *(f"make {unit} {way}" for unit in MADE for way in WAYS),
    *(f"attack {across:+d},{down:+d}" for across, down in AIMS),
)

ORDERS = ("none", "move", "harvest", "return", "attack", *(f"make {unit}" for unit in MADE))
MOST_LEFT = 255


def _offsets() -> NDArray[np.int64]:
    ways = [STEPS[way] for _ in range(3 + len(MADE)) for way in range(4)]
    return np.array([(0, 0), *ways, *AIMS], np.int64)


OFFSETS = _offsets()
"""`[choices, 2]`: where a choice is aimed at, as (columns, rows) from the unit."""


def _order_of() -> NDArray[np.int64]:
    makes = [5 + unit for unit in range(len(MADE)) for _ in range(4)]
    return np.array([0, *[1] * 4, *[2] * 4, *[3] * 4, *makes, *[4] * len(AIMS)], np.int64)


ORDER_OF = _order_of()
"""The order, as an observation shows it, of each choice."""


def _half_turn() -> NDArray[np.int64]:
    at = {(int(ORDER_OF[k]), *OFFSETS[k].tolist()): k for k in range(CHOICES)}
    return np.array(
        [at[(int(ORDER_OF[k]), *(-OFFSETS[k]).tolist())] for k in range(CHOICES)], np.int64
    )


TURNED = _half_turn()
"""Each choice as it is called on the board turned by half; its own inverse."""


def _vectors() -> NDArray[np.int32]:
    rows = np.zeros((CHOICES, 8), np.int32)
    for choice in range(MOVE, MAKE):
        sort, way = divmod(choice - MOVE, 4)
        rows[choice, 1], rows[choice, 2 + sort] = 1 + sort, way
    for choice in range(MAKE, ATTACK):
        unit, way = divmod(choice - MAKE, 4)
        rows[choice, 1], rows[choice, 5], rows[choice, 6] = 4, way, 1 + unit
    for choice in range(ATTACK, CHOICES):
        across, down = AIMS[choice - ATTACK]
        rows[choice, 1] = 5
        rows[choice, 7] = (down + REACH) * (2 * REACH + 1) + across + REACH
    return rows


VECTORS = _vectors()
"""`[choices, 8]`: a choice as the engine reads it; the first column is for the cell."""


@cache
def targets(side: int) -> NDArray[np.int64]:
    """Return `[cells, choices]`: the cell a choice is aimed at; `cells` itself means off board."""
    cell = np.arange(side * side)
    across = cell[:, None] % side + OFFSETS[:, 0]
    down = cell[:, None] // side + OFFSETS[:, 1]
    inside = (across >= 0) & (across < side) & (down >= 0) & (down < side)
    return np.where(inside, down * side + across, side * side)


@cache
def views(side: int) -> NDArray[np.int64]:
    """Return `[seats, cells]`: the board's cell that each cell of a seat's view shows."""
    cell = np.arange(side * side)
    return np.stack([cell, cell[::-1]])


def observation(side: int) -> Observation:
    """Return the layout of what a seat sees."""
    cells = side * side
    planes = (
        Field("unit", cells, classes=1 + len(KINDS), group="cell"),
        Field("owner", cells, classes=3, group="cell"),
        Field("hit points", cells, scale=4.0, group="cell"),
        Field("carried", cells, group="cell"),
        Field("deposit", cells, scale=25.0, group="cell"),
        Field("order", cells, classes=len(ORDERS), group="cell"),
        Field("aimed at", cells, classes=4, group="cell"),
        Field("ticks left", cells, scale=50.0, group="cell"),
    )
    rest = (
        Field("own resources", scale=10.0),
        Field("enemy resources", scale=10.0),
        Field("clock", scale=255.0),
    )
    grid = Group("cell", grid=(side, side))
    return Observation((*planes, *rest), "uint8", (grid,))


def head_of(cell: int, side: int) -> Head:
    """Return the head of a cell: each of its choices is an order to the unit there."""
    unit = Role("unit", "cell", (cell,) * CHOICES)
    references = (References((unit,), LABELS),)
    return Head(f"cell {cell % side},{cell // side}", CHOICES, LABELS, references=references)


def describe(side: int, longest: int, engine: str) -> Spec:
    """Return the description of the game on a board of a size."""
    return Spec(
        name=NAME,
        facts=Facts(
            seats=SEATS,
            longest=longest,
            zero_sum=True,
            simultaneous=True,
        ),
        observation=observation(side),
        heads=tuple(head_of(cell, side) for cell in range(side * side)),
        abilities=Abilities(simulator="gym-microrts", simulator_version=engine),
        settings={"side": side, "longest": longest},
    )
