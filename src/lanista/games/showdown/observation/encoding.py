"""Writes what a player knows as one row of whole numbers, laid out as fields.py says.

Doubles 1,382 entries, singles 1,066, int16. Every entry is written every time; a Pokémon that has
not changed since the last row is copied from it. Tracking, writing and the mask take 0.2 to 0.3 ms
a decision in VGC, of which tracking is a quarter. Knows nothing of lines or of where the row goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.showdown.observation.fields import (
    BENCH,
    EVENTS,
    FAINTED,
    FIRST_PLACE,
    GENDERS,
    LEFT_AT_HOME,
    MON,
    MOVES,
    NOT_SHOWN,
    PARTY,
    REQUEST_FLAGS,
    STATUSES,
    event_columns,
    place_columns,
)
from lanista.games.showdown.protocol import belief
from lanista.games.showdown.protocol.battle_state import (
    FOE,
    FULL,
    OWN,
    Event,
    Known,
    Mon,
    Place,
    Side,
)
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.effects import (
    COUNTED,
    LAYERED,
    ROOMS,
    SIDE_CONDITIONS,
    SINGLE,
    TERRAINS,
    VOLATILES,
    WEATHERS,
)
from lanista.games.showdown.protocol.requests import PREVIEW, Own, OwnMon
from lanista.games.showdown.protocol.speeds import bounds
from lanista.games.showdown.protocol.vocabulary import (
    NONE,
    UNKNOWN,
    Dex,
    dex,
    effectiveness,
    number_of,
)

Token = list[int]
Written = NDArray[np.int16]
MOST = 20
"""Where counts that could grow for ever stop."""
_STATUS = {"": 0} | {status: at for at, status in enumerate(STATUSES, 1)}
_WEATHER = {"": 0} | {name: at for at, name in enumerate(WEATHERS, 1)}
_TERRAIN = {"": 0} | {name: at for at, name in enumerate(TERRAINS, 1)}
_VOLATILE = {name: at for at, name in enumerate(VOLATILES)}
_NO_BELIEF = belief.NOTHING
_NO_MOVES = [0] * MOVES
_NO_FLAGS = [0] * len(REQUEST_FLAGS)
_NO_CONDITIONS = [0] * len(SIDE_CONDITIONS)
SPEED = 4
_UNKNOWN = ("species", "type1", "type2", "tera", "item", "ability1")
_HIDDEN = [
    {"fate": NOT_SHOWN, "hp": FULL}.get(
        name, UNKNOWN if name in _UNKNOWN or name in {f"move{at}" for at in range(1, 5)} else 0
    )
    for name, _, _ in MON
]
"""A Pokémon of which nothing is known but that it is there."""


class Writer:
    """Writes observations of formats with a number of places a side."""

    def __init__(self, places: int) -> None:
        self.places = places
        self._dex: Dex = dex()
        self._events = EVENTS[places]
        self._no_event = [0] * len(event_columns(places))
        self._no_place = [0] * len(place_columns(places))
        sizes = (2 * PARTY * len(MON), 2 * places * len(self._no_place))
        self._starts = (sizes[0], sum(sizes), sum(sizes) + self._events * len(self._no_event))

    def write(self, battle: Known, own: Own, belief: Belief | None, out_row: NDArray[Any]) -> None:
        """Fill a row."""
        side = battle.sides[OWN]
        mons = np.zeros((2 * PARTY, len(MON)), np.int16)
        for at, mon in enumerate(own.party[:PARTY]):
            mons[at] = self._own_mon(own, side, at, mon)
        self._write_foes(battle.sides[FOE], belief, mons[PARTY:])
        places: Token = []
        for at in range(self.places):
            places += self._own_place(battle, own, at)
        for place in battle.sides[FOE].places:
            places += self._foe_place(battle, place)
        events: Token = []
        recent = battle.events[-self._events :]
        for event in recent:
            events += self._event(event)
        events += self._no_event * (self._events - len(recent))
        starts = self._starts
        out_row[: starts[0]] = mons.T.ravel()
        out_row[starts[0] : starts[1]] = _by_column(places, 2 * self.places)
        out_row[starts[1] : starts[2]] = _by_column(events, self._events)
        out_row[starts[2] :] = self._rest(battle, own)

    def _own_mon(self, own: Own, side: Side, at: int, mon: OwnMon) -> Written:
        if mon.fainted:
            fate = FAINTED
        elif own.kind == PREVIEW:
            fate = NOT_SHOWN
        else:
            fate = FIRST_PLACE + at if at < self.places else BENCH
        public_mon = side.named(mon.name)
        lost, slept = (public_mon.lost_item, public_mon.slept) if public_mon else ("", 0)
        key = (fate, lost, slept, *mon.pp)
        if mon.written[0] != key:
            mon.written = key, np.array(self._own_token(mon, fate, lost, slept), np.int16)
        written: Written = mon.written[1]
        return written

    def _own_token(self, mon: OwnMon, fate: int, lost: str, slept: int) -> Token:
        dex = self._dex
        dex_entry = dex.species_of(mon.species)
        types = (mon.tera,) if mon.terastallized and mon.tera != "stellar" else dex_entry.types
        ability = number_of(dex.abilities, mon.ability) if mon.ability else NONE
        return [
            *(dex_entry.number, fate, *self._types(types), number_of(dex.types, mon.tera)),
            self._item(mon.item),
            self._item(lost),
            *(ability, NONE, NONE, _STATUS.get(mon.status, 0), GENDERS[mon.gender]),
            *self._moves(mon.moves, NONE),
            *(mon.hp, mon.points, mon.level, *mon.stats, *dex_entry.stats),
            *(mon.stats[SPEED], mon.stats[SPEED]),
            int(mon.terastallized),
            min(slept, MOST),
            *_four(mon.pp),
            *_NO_MOVES,
            *_NO_BELIEF,
        ]

    def _write_foes(self, side: Side, belief: Belief | None, out: Written) -> None:
        active = {place.mon: at for at, place in enumerate(side.places)}
        all_known = bool(side.size) and side.brought() >= side.size
        for row, mon in enumerate(side.mons[:PARTY]):
            if not mon.appeared:
                fate = LEFT_AT_HOME if all_known else NOT_SHOWN
            elif mon.hp <= 0:
                fate = FAINTED
            else:
                fate = FIRST_PLACE + active[mon] if mon in active else BENCH
            key = (
                *(fate, mon.species, mon.hp, mon.status, mon.slept, mon.item, mon.lost_item),
                *(mon.brought, mon.ability, mon.tera, mon.terastallized, mon.speed_low),
                *(mon.speed_high, *mon.moves, *mon.moves.values()),
            )
            if mon.written[0] != key:
                mon.written = key, np.array(self._foe_token(mon, fate, belief), np.int16)
            out[row] = mon.written[1]
        if not side.previewed:
            out[len(side.mons) : side.size or PARTY] = _HIDDEN

    def _foe_token(self, mon: Mon, fate: int, belief: Belief | None) -> Token:
        dex = self._dex
        dex_entry = dex.species_of(mon.species)
        types = (mon.tera,) if mon.terastallized and mon.tera != "stellar" else dex_entry.types
        moves = list(mon.moves)
        return [
            *(dex_entry.number, fate, *self._types(types)),
            number_of(dex.types, mon.tera) if mon.tera else UNKNOWN,
            UNKNOWN if mon.item is None else self._item(mon.item),
            self._item(mon.lost_item),
            *self._abilities(mon.ability, dex_entry.abilities),
            _STATUS.get(mon.status, 0),
            GENDERS[mon.gender],
            *self._moves(moves, UNKNOWN),
            *(mon.hp, 0, mon.level, 0, 0, 0, 0, 0, *dex_entry.stats),
            *bounds(mon),
            int(mon.terastallized),
            min(mon.slept, MOST),
            *_NO_MOVES,
            *_four([min(uses, MOST) for uses in mon.moves.values()]),
            *(belief.about(mon) if belief is not None else _NO_BELIEF),
        ]

    def _own_place(self, battle: Known, own: Own, at: int) -> Token:
        place = battle.sides[OWN].places[at]
        if own.kind == PREVIEW or at >= len(own.party) or place.mon is None:
            return self._no_place
        mon = own.party[at]
        flags = _request_flags(own, mon, at)
        disabled = mon.disabled or _NO_MOVES
        return (
            self._place(
                battle,
                place,
                place.forme or mon.species,
                mon.ability,
                mon.hp,
                mon.offered or mon.moves,
                disabled,
                FOE,
            )
            + flags
        )

    def _foe_place(self, battle: Known, place: Place) -> Token:
        mon = place.mon
        if mon is None:
            return self._no_place
        moves = list(mon.moves if place.moves is None else place.moves)
        ability = place.ability or mon.ability
        if place.moves is not None:
            ability = place.ability  # Transformed: its own does not act.
        elif not ability:
            possible = self._dex.species_of(mon.species).abilities
            ability = possible[0] if len(possible) == 1 else ""
        return (
            self._place(battle, place, place.species, ability, mon.hp, moves, _NO_MOVES, OWN)
            + _NO_FLAGS
        )

    def _place(
        self,
        battle: Known,
        place: Place,
        species: str,
        ability: str,
        hp: int,
        moves: Sequence[str],
        disabled: Sequence[int],
        against: int,
    ) -> Token:
        dex, turn = self._dex, battle.turn
        volatiles = [0] * len(VOLATILES)
        for name, value in place.volatiles.items():
            volatiles[_VOLATILE[name]] = value if name in COUNTED else min(turn - value + 1, MOST)
        single = place.single
        targets = [place.current_types() for place in battle.sides[against].places]
        return [
            dex.species_of(species).number,
            *self._types(place.current_types()),
            number_of(dex.abilities, ability) if ability else UNKNOWN,
            dex.move_of(place.last_move).number if place.last_move else NONE,
            hp,
            int(place.mon is not None and place.mon.terastallized),
            *place.boosts,
            min(turn - place.since, MOST),
            place.protects if place.protected >= turn - 1 else 0,
            *(int(name in single) for name in SINGLE),
            *volatiles,
            *_arms(tuple(moves), tuple(disabled), tuple(targets)),
        ]

    def _event(self, event: Event) -> Token:
        dex = self._dex
        return [
            event.kind,
            event.actor + 1,
            dex.species_of(event.species).number if event.species else NONE,
            dex.move_of(event.move).number if event.move else NONE,
            event.target + 1,
            *event.damage,
            *event.fell,
            *(event.crit, event.missed, event.failed),
            *(event.blocked, event.immune, event.effective),
        ]

    def _rest(self, battle: Known, own: Own) -> Token:
        turn, (mine, theirs) = battle.turn, battle.sides
        size = theirs.size or PARTY
        fallen = sum(mon.appeared and mon.hp <= 0 for mon in theirs.mons)
        return [
            own.kind,
            _WEATHER.get(battle.weather, len(_WEATHER)),
            _TERRAIN.get(battle.terrain, len(_TERRAIN)),
            min(turn, 999),
            min(turn - battle.weather_since + 1, MOST) if battle.weather else 0,
            min(turn - battle.terrain_since + 1, MOST) if battle.terrain else 0,
            *(_age(battle.rooms, name, turn) for name in ROOMS),
            *_ages(mine.conditions, turn),
            *_ages(theirs.conditions, turn),
            sum(not mon.fainted for mon in own.party),
            *(size - fallen, size, theirs.brought()),
            *(int(mine.terastallized), int(theirs.terastallized)),
        ]

    def _types(self, types: Sequence[str]) -> tuple[int, int]:
        numbers = self._dex.types
        if not types:
            return NONE, NONE
        second = number_of(numbers, types[1]) if len(types) > 1 else NONE
        return number_of(numbers, types[0]), second

    def _item(self, item: str) -> int:
        return number_of(self._dex.items, item) if item else NONE

    def _moves(self, moves: Sequence[str], rest: int) -> Token:
        numbers = [self._dex.move_of(move).number for move in moves[:MOVES]]
        return numbers + [rest] * (MOVES - len(numbers))

    def _abilities(self, ability: str, possible: Sequence[str]) -> Token:
        """Return the ability, or up to three that it may be."""
        numbers = self._dex.abilities
        if ability:
            return [number_of(numbers, ability), NONE, NONE]
        candidates = [number_of(numbers, name) for name in possible[:3]]
        return (candidates or [UNKNOWN]) + [NONE] * (3 - max(len(candidates), 1))


@cache
def writer_of(places: int) -> Writer:
    """Return the writer for a number of places a side."""
    return Writer(places)


@lru_cache(maxsize=1 << 14)
def _arms(
    moves: tuple[str, ...], disabled: tuple[int, ...], targets: tuple[tuple[str, ...], ...]
) -> tuple[int, ...]:
    """Return what the dex says of each move, and what its type does to whom it may hit."""
    tables, out = dex(), []
    for at in range(MOVES):
        if at >= len(moves):
            out += [0] * (6 + len(targets))
            continue
        move = tables.move_of(moves[at])
        out += (
            number_of(tables.types, move.type),
            move.category,
            move.power,
            move.accuracy,
            move.priority,
            disabled[at] if at < len(disabled) else 0,
        )
        out += [effectiveness(move.type, types) if move.power else 0 for types in targets]
    return tuple(out)


def _age(begun: dict[str, int], name: str, turn: int) -> int:
    """Return layers, or turns since it began, counting the first; 0 if it is not there."""
    if name not in begun:
        return 0
    return begun[name] if name in LAYERED else min(turn - begun[name] + 1, MOST)


def _ages(begun: dict[str, int], turn: int) -> Token:
    """Return the ages of all that a side can have."""
    return [_age(begun, name, turn) for name in SIDE_CONDITIONS] if begun else _NO_CONDITIONS


def _by_column(tokens: Token, count: int) -> Written:
    """Return `count` tokens, one after another, with the same field of all side by side."""
    return np.array(tokens, np.int16).reshape(count, -1).T.ravel()


def _four(numbers: list[int]) -> Token:
    return (numbers + _NO_MOVES)[:MOVES]


def _request_flags(own: Own, mon: OwnMon, at: int) -> Token:
    active = own.active[at] if at < len(own.active) else {}
    forced = at < len(own.forced) and own.forced[at]
    return [
        int(bool(active.get("canTerastallize"))),
        int(bool(active.get("trapped"))),
        int(bool(active.get("maybeTrapped"))),
        int(bool(active.get("maybeDisabled"))),
        int(bool(active.get("maybeLocked"))),
        int(bool(forced)),
        int(mon.reviving),
        int(mon.commanding),
    ]
