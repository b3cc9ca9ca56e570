"""The fields of an observation: which number stands where, for doubles and for singles.

Three groups of tokens and the rest. Token i of group `mon`: 0-5 the own party in the simulator's
order (as choices count it), 6-11 the opponent's team in the order it was shown. Group `place`: the
own places, then the opponent's. Group `event`: what the last turn brought, oldest first. Fields
without a group: the field, the sides, the request. Knows nothing of how a value is come by.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from lanista.games.contract import Field, Observation
from lanista.games.showdown.protocol import belief
from lanista.games.showdown.protocol.battle_state import BOOSTS
from lanista.games.showdown.protocol.effects import (
    ROOMS,
    SIDE_CONDITIONS,
    SINGLE,
    TERRAINS,
    VOLATILES,
    WEATHERS,
)
from lanista.games.showdown.protocol.requests import STATS
from lanista.games.showdown.protocol.vocabulary import (
    ABILITY_CLASSES,
    CATEGORY_CLASSES,
    ITEM_CLASSES,
    MOVE_CLASSES,
    SPECIES_CLASSES,
    TYPE_CLASSES,
)

DTYPE = "int16"
PARTY = 6
MOVES = 4
EVENTS = {1: 6, 2: 10}
"""By places a side: how many events are told; older ones are left out."""
# Where a Pokémon is.
ABSENT, BENCH, FIRST_PLACE, SECOND_PLACE, FAINTED, NOT_SHOWN, LEFT_AT_HOME = range(7)
FATES = 8
STATUSES = ("brn", "par", "slp", "frz", "psn", "tox")
STATUS_CLASSES = 8
GENDERS = {"": 1, "M": 2, "F": 3}
GENDER_CLASSES = 4
EVENT_KINDS = 8
REQUEST_KINDS = 4
WEATHER_CLASSES = len(WEATHERS) + 4
TERRAIN_CLASSES = len(TERRAINS) + 4
REQUEST_FLAGS = (
    *("can_tera", "trapped", "maybe_trapped", "maybe_disabled", "maybe_locked"),
    *("must_switch", "reviving", "commanding"),
)
EVENT_FLAGS = ("crit", "missed", "failed", "blocked", "immune", "effective")

TABLES = {
    SPECIES_CLASSES: "species",
    MOVE_CLASSES: "move",
    ITEM_CLASSES: "item",
    ABILITY_CLASSES: "ability",
    TYPE_CLASSES: "type",
}
"""By number of classes: what a category is one of, wherever it stands."""
Column = tuple[str, int, float]
"""A field: name, classes, scale."""


def _numbered(name: str, count: int, classes: int = 0, scale: float = 1.0) -> list[Column]:
    return [(f"{name}{at}", classes, scale) for at in range(1, count + 1)]


def _scaled(names: Iterable[str], scale: float, head: str = "") -> list[Column]:
    return [(head + name, 0, scale) for name in names]


MON: tuple[Column, ...] = (
    ("species", SPECIES_CLASSES, 1.0),
    ("fate", FATES, 1.0),
    *_numbered("type", 2, TYPE_CLASSES),
    ("tera", TYPE_CLASSES, 1.0),
    ("item", ITEM_CLASSES, 1.0),
    ("lost_item", ITEM_CLASSES, 1.0),
    *_numbered("ability", 3, ABILITY_CLASSES),
    ("status", STATUS_CLASSES, 1.0),
    ("gender", GENDER_CLASSES, 1.0),
    *_numbered("move", MOVES, MOVE_CLASSES),
    ("hp", 0, 1000.0),
    ("hp_points", 0, 300.0),
    ("level", 0, 100.0),
    *_scaled(STATS, 200.0),
    *_scaled(("hp", *STATS), 100.0, "base_"),
    *_scaled(("speed_low", "speed_high"), 200.0),
    ("terastallized", 0, 1.0),
    ("slept", 0, 3.0),
    *_numbered("pp", MOVES, scale=100.0),
    *_numbered("uses", MOVES, scale=4.0),
    *_numbered("likely_move", belief.MOVES, MOVE_CLASSES),
    *_numbered("likely_item", belief.ITEMS, ITEM_CLASSES),
    *_numbered("likely_tera", belief.TERAS, TYPE_CLASSES),
    *_numbered("likely_move_chance", belief.MOVES, scale=1000.0),
    *_numbered("likely_item_chance", belief.ITEMS, scale=1000.0),
    *_numbered("likely_tera_chance", belief.TERAS, scale=1000.0),
    ("likely_sets", 0, 1000.0),
    *_scaled(("likely_speed_low", "likely_speed_high"), 200.0),
)


def place_columns(places: int) -> tuple[Column, ...]:
    """Return the fields of group `place`, for one or two places a side."""
    per_move: list[Column] = []
    for at in range(1, MOVES + 1):
        per_move += [
            (f"move{at}_type", TYPE_CLASSES, 1.0),
            (f"move{at}_category", CATEGORY_CLASSES, 1.0),
            (f"move{at}_power", 0, 100.0),
            (f"move{at}_accuracy", 0, 100.0),
            (f"move{at}_priority", 0, 3.0),
            (f"move{at}_disabled", 0, 1.0),
            *((f"move{at}_on{foe}", 0, 2.0) for foe in range(1, places + 1)),
        ]
    return (
        ("species", SPECIES_CLASSES, 1.0),
        *_numbered("type", 2, TYPE_CLASSES),
        ("ability", ABILITY_CLASSES, 1.0),
        ("last_move", MOVE_CLASSES, 1.0),
        ("hp", 0, 1000.0),
        ("terastallized", 0, 1.0),
        *_scaled(BOOSTS, 6.0, "stage_"),
        ("turns_here", 0, 5.0),
        ("protects", 0, 2.0),
        *_scaled(SINGLE, 1.0, "now_"),
        *_scaled(VOLATILES, 3.0),
        *per_move,
        *_scaled(REQUEST_FLAGS, 1.0, "asked_"),
    )


def event_columns(places: int) -> tuple[Column, ...]:
    """Return the fields of group `event`, for one or two places a side."""
    at_place = range(1, 2 * places + 1)
    return (
        ("kind", EVENT_KINDS, 1.0),
        ("actor", 1 + 2 * places, 1.0),
        ("species", SPECIES_CLASSES, 1.0),
        ("move", MOVE_CLASSES, 1.0),
        ("target", 1 + 2 * places, 1.0),
        *((f"damage{at}", 0, 1000.0) for at in at_place),
        *((f"fell{at}", 0, 1.0) for at in at_place),
        *_scaled(EVENT_FLAGS, 1.0),
    )


REST: tuple[Column, ...] = (
    ("request", REQUEST_KINDS, 1.0),
    ("weather", WEATHER_CLASSES, 1.0),
    ("terrain", TERRAIN_CLASSES, 1.0),
    ("turn", 0, 20.0),
    ("weather_turns", 0, 5.0),
    ("terrain_turns", 0, 5.0),
    *_scaled(ROOMS, 5.0),
    *_scaled(SIDE_CONDITIONS, 4.0, "own_"),
    *_scaled(SIDE_CONDITIONS, 4.0, "foe_"),
    *_scaled(("own_left", "foe_left", "foe_size", "foe_shown"), 6.0),
    *_scaled(("own_tera_used", "foe_tera_used"), 1.0),
)


@cache
def layout(places: int) -> Observation:
    """Return the observation's layout for one or two places a side."""
    groups = (
        ("mon", 2 * PARTY, MON),
        ("place", 2 * places, place_columns(places)),
        ("event", EVENTS[places], event_columns(places)),
    )
    fields = [
        Field(f"{group}.{name}", size, classes, scale, group, TABLES.get(classes, ""))
        for group, size, columns in groups
        for name, classes, scale in columns
    ]
    fields += [Field(name, 1, classes, scale) for name, classes, scale in REST]
    return Observation(tuple(fields), DTYPE)
