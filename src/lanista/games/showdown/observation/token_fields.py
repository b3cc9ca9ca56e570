"""The fields of observation version 2: tokens that a choice can point at.

Four kinds of token. Group `own`: the own party in the simulator's order (as choices count it),
those on the field first. Group `foe`: the opponent's team, those on the field first by their
places. Group `move`: the moves of the Pokémon in each own place, four a place, as choices count
them. Fields without a group: the field, the sides, the request. Entries of a group are
interchangeable: nothing in a token hangs on where its Pokémon or move stands in the team's text.
Knows nothing of how a value is come by.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from lanista.games.contract import Field, Group, Observation
from lanista.games.showdown.observation.fields import (
    DTYPE,
    EVENT_KINDS,
    FATES,
    MOVES,
    PARTY,
    REQUEST_FLAGS,
    REQUEST_KINDS,
    STATUS_CLASSES,
    TABLES,
    TERRAIN_CLASSES,
    WEATHER_CLASSES,
    Column,
)
from lanista.games.showdown.protocol.battle_state import BOOSTS
from lanista.games.showdown.protocol.effects import ROOMS, SIDE_CONDITIONS, SINGLE, VOLATILES
from lanista.games.showdown.protocol.requests import STATS
from lanista.games.showdown.protocol.traits import CERTAIN, MOVE_UNIT, traits
from lanista.games.showdown.protocol.vocabulary import (
    ABILITY_CLASSES,
    CATEGORY_CLASSES,
    ITEM_CLASSES,
    MOVE_CLASSES,
    SPECIES_CLASSES,
    TYPE_CLASSES,
)

VERSION = 2
OWN_GROUP, FOE_GROUP, MOVE_GROUP = "own", "foe", "move"
LIKELY_MOVES, LIKELY_ITEMS, LIKELY_TERAS = 4, 2, 2
REMEMBERED_TURNS = 2
AIMS = 5
"""At whom a move went: nobody or all, itself, its ally, the other side; room for one more."""
TARGETS = (
    *("one_foe", "all_foes", "all_others", "itself", "ally", "own_side", "foe_side", "everything"),
    "any_foe",
)
"""What a move can be aimed at, one flag each."""
HAS = (
    *("guard", "first_turn", "priority", "spread", "tailwind", "trickroom", "redirect", "sleep"),
    *("hinder", "taunt", "encore", "helpinghand", "healing", "set_up", "slows", "pivot"),
    *("side_guard", "screen", "weather", "terrain", "phazes", "physical", "special"),
)
"""What a Pokémon's moves can do, whichever of them does it."""


def _scaled(names: Iterable[str], scale: float, head: str = "") -> list[Column]:
    return [(head + name, 0, scale) for name in names]


def _numbered(name: str, count: int, classes: int = 0, scale: float = 1.0) -> list[Column]:
    return [(f"{name}{at}", classes, scale) for at in range(1, count + 1)]


def _memory() -> list[Column]:
    """What a Pokémon did in the last turns, and what was done to it."""
    columns: list[Column] = []
    for turn in range(1, REMEMBERED_TURNS + 1):
        columns += [
            (f"turn{turn}_kind", EVENT_KINDS, 1.0),
            (f"turn{turn}_move", MOVE_CLASSES, 1.0),
            (f"turn{turn}_aim", AIMS, 1.0),
            *_scaled(("dealt", "lost"), 1000.0, f"turn{turn}_"),
            *_scaled(("missed", "stopped", "crit"), 1.0, f"turn{turn}_"),
        ]
    return columns


def _shared() -> list[Column]:
    """What both sides' Pokémon have."""
    facts = traits()
    return [
        ("species", SPECIES_CLASSES, 1.0),
        ("item", ITEM_CLASSES, 1.0),
        ("ability", ABILITY_CLASSES, 1.0),
        *_numbered("move", MOVES, MOVE_CLASSES),
        ("fate", FATES, 1.0),
        ("status", STATUS_CLASSES, 1.0),
        *_numbered("type", 2, TYPE_CLASSES),
        ("tera", TYPE_CLASSES, 1.0),
        ("hp", 0, 1000.0),
        ("level", 0, 100.0),
        ("most_hp", 0, 200.0),
        *_scaled(STATS, 200.0),
        ("pace", 0, 200.0),
        ("terastallized", 0, 1.0),
        ("slept", 0, 3.0),
        ("lost_item", 0, 1.0),
        *_scaled(facts.item_names, CERTAIN, "item_"),
        *_scaled(facts.ability_names, CERTAIN, "ability_"),
        *_scaled(HAS, CERTAIN, "has_"),
        ("on_field", 0, 1.0),
        ("fresh", 0, 1.0),
        ("turns_here", 0, 5.0),
        ("protects", 0, 2.0),
        ("locked", 0, 1.0),
        *_scaled(BOOSTS, 6.0, "stage_"),
        *_scaled(SINGLE, 1.0, "now_"),
        *_scaled(VOLATILES, 3.0),
        *_memory(),
    ]


@cache
def own_columns(places: int) -> tuple[Column, ...]:
    """Return the fields of group `own`."""
    versus: list[Column] = []
    for at in range(1, places + 1):
        versus += [
            *_scaled((f"best_on{at}", f"threat_of{at}", f"threat_of{at}_turned"), 1000.0),
            (f"likely_threat_of{at}", 0, 1000.0),
            *_scaled((f"knocks_out{at}", f"acts_before{at}"), 1000.0),
            (f"faster_than{at}", 0, 1.0),
        ]
    return (
        *_shared(),
        *_scaled(REQUEST_FLAGS, 1.0, "asked_"),
        *versus,
        *_scaled(("threat", "best_on_team", "threat_of_team"), 1000.0),
        ("doomed", 0, 1.0),
    )


@cache
def foe_columns(places: int) -> tuple[Column, ...]:
    """Return the fields of group `foe`."""
    return (
        *_shared(),
        *_scaled(("speed_low", "speed_high"), 200.0),
        *_numbered("likely_move", LIKELY_MOVES, MOVE_CLASSES),
        *_numbered("likely_item", LIKELY_ITEMS, ITEM_CLASSES),
        *_numbered("likely_tera", LIKELY_TERAS, TYPE_CLASSES),
        *_numbered("likely_move_chance", LIKELY_MOVES, scale=1000.0),
        *_numbered("likely_item_chance", LIKELY_ITEMS, scale=1000.0),
        *_numbered("likely_tera_chance", LIKELY_TERAS, scale=1000.0),
        *_scaled(("strongest_threat", "takes_at_most", "takes_on_bench"), 1000.0),
    )


@cache
def move_columns(places: int) -> tuple[Column, ...]:
    """Return the fields of group `move`."""
    versus: list[Column] = []
    for at in range(1, places + 1):
        versus += [
            (f"effective{at}", 0, 2.0),
            *_scaled((f"least{at}", f"most{at}", f"turned{at}"), 1000.0),
            *_scaled((f"knocks_out{at}", f"hits{at}", f"acts_before{at}"), 1000.0),
        ]
    return (
        ("move", MOVE_CLASSES, 1.0),
        ("type", TYPE_CLASSES, 1.0),
        ("category", CATEGORY_CLASSES, 1.0),
        ("there", 0, 1.0),
        ("power", 0, 100.0),
        ("accuracy", 0, 100.0),
        ("never_misses", 0, 1.0),
        ("priority", 0, 3.0),
        ("same_type", 0, 100.0),
        ("pp", 0, 100.0),
        ("disabled", 0, 1.0),
        ("used_last", 0, 1.0),
        *_scaled(TARGETS, 1.0, "at_"),
        *_scaled(traits().move_names, MOVE_UNIT, "does_"),
        *versus,
        ("on_ally", 0, 1000.0),
    )


@cache
def rest_columns() -> tuple[Column, ...]:
    """Return the fields without a group."""
    return (
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
        *_scaled(("own_hp", "foe_hp"), 4000.0),
    )


@cache
def token_layout(places: int) -> Observation:
    """Return the layout for one or two places a side."""
    groups = (
        (OWN_GROUP, PARTY, own_columns(places)),
        (FOE_GROUP, PARTY, foe_columns(places)),
        (MOVE_GROUP, MOVES * places, move_columns(places)),
    )
    fields = [
        Field(f"{group}.{name}", size, classes, scale, group, TABLES.get(classes, ""))
        for group, size, columns in groups
        for name, classes, scale in columns
    ]
    fields += [Field(name, 1, classes, scale) for name, classes, scale in rest_columns()]
    unordered = tuple(Group(group, (0,) * size) for group, size, _ in groups)
    return Observation(tuple(fields), DTYPE, unordered)
