"""Writes what a player knows as tokens that choices point at, laid out as token_fields.py says.

Doubles and singles alike; every entry is written every time. What follows from names alone is kept
with the Pokémon and copied. Knows nothing of lines or of where the row goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanista.games.showdown.observation import token_fields
from lanista.games.showdown.observation.fields import (
    BENCH,
    FAINTED,
    FIRST_PLACE,
    LEFT_AT_HOME,
    MOVES,
    NOT_SHOWN,
    PARTY,
    STATUSES,
)
from lanista.games.showdown.observation.matchups import Matchups, thousandths
from lanista.games.showdown.observation.mon_traits import foe_traits, likely_numbers, own_traits
from lanista.games.showdown.observation.move_tokens import MoveWriter
from lanista.games.showdown.observation.place_tokens import (
    MOST,
    Turn,
    field_numbers,
    memory_numbers,
    request_flags,
    write_place,
)
from lanista.games.showdown.protocol.battle_state import FOE, FULL, OWN, Known, Mon, Place, Side
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.likely import likely
from lanista.games.showdown.protocol.requests import PREVIEW, Own, OwnMon
from lanista.games.showdown.protocol.speeds import bounds
from lanista.games.showdown.protocol.vocabulary import NONE, UNKNOWN, Dex, dex, number_of
from lanista.games.showdown.scripted.damage import guessed_stats
from lanista.games.showdown.scripted.reckoning import (
    Sheet,
    arsenal,
    versus_team,
    write_versus_foe,
)

Token = list[int]
Written = NDArray[np.int16]
_STATUS = {"": 0} | {status: at for at, status in enumerate(STATUSES, 1)}


class FoeNames(NamedTuple):
    """What of an opponent's token follows from names."""

    who: list[int]
    """Numbers of its species, item, ability and moves."""
    types: tuple[str, ...]
    """Of its species."""
    tera: int
    stats: tuple[int, ...]
    """HP first."""


class TokenWriter:
    """Writes observations of formats with a number of places a side."""

    def __init__(self, places: int) -> None:
        self.places = places
        self._dex: Dex = dex()
        self._moves = MoveWriter(places)
        names = [name for name, _, _ in token_fields.own_columns(places)]
        self._place = names.index("on_field")
        self._memory = names.index("turn1_kind")
        self._after = names.index("asked_can_tera")
        self._versus = names.index("best_on1")
        widths = (
            len(names),
            len(token_fields.foe_columns(places)),
            self._moves.width,
        )
        sizes = (PARTY * widths[0], PARTY * widths[1], MOVES * places * widths[2])
        self._widths = widths
        self._starts = (sizes[0], sizes[0] + sizes[1], sum(sizes))

    def write(self, battle: Known, own: Own, belief: Belief | None, out_row: NDArray[Any]) -> None:
        """Fill a row."""
        matchups = Matchups(battle, own, belief)
        party = np.zeros((PARTY, self._widths[0]), np.int16)
        team = np.zeros((PARTY, self._widths[1]), np.int16)
        moves = np.zeros((MOVES * self.places, self._widths[2]), np.int16)
        for at, mon in enumerate(own.party[:PARTY]):
            self._write_own(battle, own, matchups, at, mon, party[at])
        self._write_moves(battle, own, matchups, moves)
        self._write_foes(battle, own, matchups, belief, party, moves, team)
        starts = self._starts
        _by_column(party, out_row[: starts[0]])
        _by_column(team, out_row[starts[0] : starts[1]])
        _by_column(moves, out_row[starts[1] : starts[2]])
        out_row[starts[2] :] = field_numbers(battle, own)

    def write_own(self, battle: Known, own: Own, out_row: NDArray[Any]) -> None:
        """Fill a row with the own party and its moves alone."""
        matchups = Matchups(battle, own)
        party = np.zeros((PARTY, self._widths[0]), np.int16)
        moves = np.zeros((MOVES * self.places, self._widths[2]), np.int16)
        for at, mon in enumerate(own.party[:PARTY]):
            self._write_own(battle, own, matchups, at, mon, party[at])
        self._write_moves(battle, own, matchups, moves)
        _by_column(party, out_row[: party.size])
        _by_column(moves, out_row[party.size :])

    # Inside: the own side.

    def _write_own(
        self, battle: Known, own: Own, matchups: Matchups, at: int, mon: OwnMon, out: Written
    ) -> None:
        side = battle.sides[OWN]
        public_mon = side.named(mon.name)
        on_field = at < self.places and own.kind != PREVIEW
        place = side.places[at] if on_field and at < len(side.places) else None
        fate = FAINTED if mon.fainted else FIRST_PLACE if on_field else BENCH
        if own.kind == PREVIEW:
            fate = NOT_SHOWN
        slept, lost = (public_mon.slept, public_mon.lost_item) if public_mon else (0, "")
        types = place.current_types() if place is not None and place.mon is not None else ()
        key = (fate, lost, slept, types)
        if mon.written[0] != key:
            mon.written = key, self._own_static(mon, fate, lost, slept, types)
        head, named = mon.written[1]
        out[:_HEAD] = head
        out[_HEAD : self._place] = named
        if at < len(matchups.sheets) and matchups.sheets[at] is not None:
            out[_PACE] = min(round(matchups.paces[at]), 2000)
        if place is not None and place.mon is not None and not mon.fainted:
            locked = "choice" in mon.item and bool(place.last_move)
            write_place(battle, place, out[self._place : self._memory], locked=locked)
        if public_mon is not None:
            memory = memory_numbers(matchups.lately, public_mon, OWN)
            if memory is not None:
                out[self._memory : self._after] = memory
        if at < self.places:
            out[self._after : self._versus] = request_flags(own, mon, at)
        self._write_own_versus(own, matchups, at, mon, out[self._versus :])

    def _own_static(
        self, mon: OwnMon, fate: int, lost: str, slept: int, types: tuple[str, ...]
    ) -> tuple[Written, Written]:
        dex_entry = self._dex.species_of(mon.species)
        if not types:
            types = (mon.tera,) if mon.terastallized and mon.tera != "stellar" else dex_entry.types
        ability = number_of(self._dex.abilities, mon.ability) if mon.ability else NONE
        head = [
            *(dex_entry.number, self._item(mon.item), ability),
            *self._sorted_moves(mon.moves, NONE),
            *(fate, _STATUS.get(mon.status, 0), *self._types(types)),
            number_of(self._dex.types, mon.tera) if mon.tera else NONE,
            *(mon.hp, mon.level, mon.most, *mon.stats),
            *(0, int(mon.terastallized), min(slept, MOST), int(bool(lost))),
        ]
        return np.array(head, np.int16), own_traits(mon.item, mon.ability, tuple(mon.moves))

    def _write_own_versus(
        self, own: Own, matchups: Matchups, at: int, mon: OwnMon, out: Written
    ) -> None:
        sheet = matchups.sheets[at] if at < len(matchups.sheets) else None
        if sheet is None:
            return
        moves, air, turned = arsenal(tuple(mon.moves)), matchups.air, sheet
        active = own.active[at] if at < len(own.active) else {}
        if active.get("canTerastallize"):
            turned = Sheet(sheet.fighter.turned(mon.tera))
        total = 0.0
        for column, foe in enumerate(matchups.foes):
            if foe is not None:
                total += write_versus_foe(
                    *(sheet, turned, moves, foe.sheet, foe.shown, foe.likely, air),
                    matchups.acts_before(matchups.paces[at], foe),
                    matchups.is_faster(at, foe),
                    out[_VERSUS * column : _VERSUS * (column + 1)],
                )
        best_on_team, danger_of_team = versus_team(sheet, moves, matchups.team, air)
        out[_VERSUS * self.places :] = (
            *(thousandths(total), thousandths(best_on_team), thousandths(danger_of_team)),
            int(total >= max(sheet.fighter.hp, 0.01)),
        )

    def _write_moves(self, battle: Known, own: Own, matchups: Matchups, out: Written) -> None:
        if own.kind == PREVIEW:
            return
        for at, place in enumerate(battle.sides[OWN].places):
            if at >= len(own.party) or place.mon is None:
                continue
            mon = own.party[at]
            active = own.active[at] if at < len(own.active) else {}
            targets = [move.get("target", "") for move in active.get("moves", ())]
            tera = mon.tera if active.get("canTerastallize") else ""
            rows = out[MOVES * at : MOVES * (at + 1)]
            self._moves.write(matchups, at, mon, place, targets, tera, rows)

    # Inside: the opponent's side.

    def _write_foes(
        self,
        battle: Known,
        own: Own,
        matchups: Matchups,
        belief: Belief | None,
        party: Written,
        moves: Written,
        out: Written,
    ) -> None:
        side = battle.sides[FOE]
        order = _shown_order(side, self.places)
        all_known = bool(side.size) and side.brought() >= side.size
        for row, (mon, place) in enumerate(order[:PARTY]):
            if mon is None:
                continue
            fate = _fate(mon, place, side, all_known)
            self._write_foe(battle, mon, place, fate, belief, matchups.lately, out[row])
        for row in range(len(order), side.size or PARTY):
            if not side.previewed and row < PARTY:
                out[row, :_HEAD] = _HIDDEN
        self._write_foe_versus(matchups, party, moves, out)

    def _write_foe(
        self,
        battle: Known,
        mon: Mon,
        place: Place | None,
        fate: int,
        belief: Belief | None,
        lately: Sequence[Turn],
        out: Written,
    ) -> None:
        types = place.current_types() if place is not None else ()
        ability = place.ability if place is not None and place.ability else mon.ability
        forme = place.forme if place is not None else ""
        key = (
            *(ability, forme, mon.species, mon.level, mon.item, mon.brought, mon.ability),
            *(mon.tera, mon.speed_low, mon.speed_high, *mon.moves),
        )
        if mon.written[0] != key:
            mon.written = key, self._foe_names(mon, ability, forme, belief)
        names, named, likely_part = mon.written[1]
        head = self._foe_head(mon, fate, types, names)
        out[:_HEAD] = head
        out[_HEAD : self._place] = named
        if place is not None and mon.hp > 0:
            locked = "choice" in (mon.item or "") and bool(place.last_move)
            write_place(battle, place, out[self._place : self._memory], locked=locked)
        memory = memory_numbers(lately, mon, FOE)
        if memory is not None:
            out[self._memory : self._after] = memory
        out[self._after : self._after + len(likely_part)] = likely_part

    def _foe_head(self, mon: Mon, fate: int, types: tuple[str, ...], names: FoeNames) -> Token:
        if not types:
            turned = mon.terastallized and mon.tera and mon.tera != "stellar"
            types = (mon.tera,) if turned else names.types
        return [
            *names.who,
            *(fate, _STATUS.get(mon.status, 0), *self._types(types)),
            *(names.tera, mon.hp, mon.level, *names.stats),
            *(0, mon.terastallized, min(mon.slept, MOST), bool(mon.lost_item)),
        ]

    def _foe_names(
        self, mon: Mon, ability: str, forme: str, belief: Belief | None
    ) -> tuple[FoeNames, Written, Written]:
        """Return what follows from names alone, which a turn mostly leaves as they are."""
        tables, chances, moves = self._dex, likely(mon, belief), tuple(mon.moves)
        dex_entry = tables.species_of(forme or mon.species)
        if not ability and len(dex_entry.abilities) == 1:
            ability = dex_entry.abilities[0]
        most_hp, stats = guessed_stats(dex_entry.stats, mon.level)
        who = [
            dex_entry.number,
            UNKNOWN if mon.item is None else self._item(mon.item),
            number_of(tables.abilities, ability) if ability else UNKNOWN,
            *self._sorted_moves(moves, UNKNOWN),
        ]
        tera = number_of(tables.types, mon.tera) if mon.tera else UNKNOWN
        names = FoeNames(who, dex_entry.types, tera, (most_hp, *stats))
        likely_part = np.array([*bounds(mon), *likely_numbers(chances)], np.int16)
        return names, foe_traits(chances, moves), likely_part

    def _write_foe_versus(
        self, matchups: Matchups, party: Written, moves: Written, out: Written
    ) -> None:
        """Write what stands on the field takes and does, over all own Pokémon alike."""
        names = self._versus_columns()
        for at, foe in enumerate(matchups.foes):
            if foe is None:
                continue
            out[at, _PACE] = min(round(foe.pace), 2000)
            best, danger, most = names[at]
            # Of so few numbers Python finds the largest sooner.
            out[at, -3] = max(party[: self.places, danger].tolist())
            out[at, -2] = max(moves[:, most].tolist())
            out[at, -1] = max(party[self.places :, best].tolist())

    @cache  # noqa: B019 - there are two writers, for ever.
    def _versus_columns(self) -> list[tuple[int, int, int]]:
        own = [name for name, _, _ in token_fields.own_columns(self.places)]
        move = [name for name, _, _ in token_fields.move_columns(self.places)]
        return [
            (own.index(f"best_on{at}"), own.index(f"threat_of{at}"), move.index(f"most{at}"))
            for at in range(1, self.places + 1)
        ]

    # Inside: names as numbers.

    def _types(self, types: Sequence[str]) -> tuple[int, int]:
        numbers = self._dex.types
        if not types:
            return NONE, NONE
        second = number_of(numbers, types[1]) if len(types) > 1 else NONE
        return number_of(numbers, types[0]), second

    def _item(self, item: str) -> int:
        return number_of(self._dex.items, item) if item else NONE

    def _sorted_moves(self, moves: Sequence[str], rest: int) -> Token:
        """Return moves as numbers in the order of the dex, so that a set's order has no meaning."""
        numbers = sorted(self._dex.move_of(move).number for move in moves)[:MOVES]
        return numbers + [rest] * (MOVES - len(numbers))


_NAMES = [name for name, _, _ in token_fields.own_columns(2)]
_PACE = _NAMES.index("pace")
_VERSUS = _NAMES.index("best_on2") - _NAMES.index("best_on1")
"""Columns on each opponent on the field."""
_HEAD = _NAMES.index("lost_item") + 1
_UNKNOWN = {"species", "item", "ability", "type1", "type2", "tera"} | {
    f"move{at}" for at in range(1, MOVES + 1)
}
_HIDDEN = [
    {"fate": NOT_SHOWN, "hp": FULL}.get(name, UNKNOWN if name in _UNKNOWN else 0)
    for name in _NAMES[:_HEAD]
]
"""A Pokémon of which nothing is known but that it is there."""


def _by_column(tokens: Written, out: NDArray[Any]) -> None:
    """Write tokens as a row has them: field by field, each of all tokens."""
    np.copyto(out.reshape(tokens.shape[::-1]), tokens.T)


def _shown_order(side: Side, places: int) -> list[tuple[Mon | None, Place | None]]:
    """Return the team: who stands on the field by place, then the others as they were shown."""
    standing = {place.mon: place for place in side.places if place.mon is not None}
    if not standing:
        return [(mon, None) for mon in side.mons]
    first: list[tuple[Mon | None, Place | None]] = [(place.mon, place) for place in side.places]
    return first + [(mon, None) for mon in side.mons if mon not in standing]


def _fate(mon: Mon, place: Place | None, side: Side, all_known: bool) -> int:
    if not mon.appeared:
        return LEFT_AT_HOME if all_known else NOT_SHOWN
    if mon.hp <= 0:
        return FAINTED
    return FIRST_PLACE + side.places.index(place) if place is not None else BENCH


@cache
def token_writer_of(places: int) -> TokenWriter:
    """Return the writer for a number of places a side."""
    return TokenWriter(places)
