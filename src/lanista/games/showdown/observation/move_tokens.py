"""Writes the tokens of moves: what each does, and what it does to whom now.

Knows nothing of Pokémon's own tokens and of where a row goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lanista.games.showdown.observation.fields import MOVES
from lanista.games.showdown.observation.matchups import Matchups, priority_of, thousandths
from lanista.games.showdown.observation.mon_traits import SPREADS
from lanista.games.showdown.observation.token_fields import TARGETS, move_columns
from lanista.games.showdown.protocol.battle_state import Place
from lanista.games.showdown.protocol.requests import OwnMon
from lanista.games.showdown.protocol.traits import traits
from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.scripted.damage import SPREAD, Fighter
from lanista.games.showdown.scripted.reckoning import (
    Sheet,
    arsenal,
    facts,
    share,
    write_moves_versus_foe,
)

Written = NDArray[np.int16]
TARGET_FLAGS = {
    **dict.fromkeys(("normal", "any", "adjacentFoe"), ("one_foe",)),
    "allAdjacentFoes": ("all_foes",),
    "allAdjacent": ("all_others",),
    "self": ("itself",),
    "adjacentAlly": ("ally",),
    "adjacentAllyOrSelf": ("ally", "itself"),
    **dict.fromkeys(("allies", "allySide", "allyTeam"), ("own_side",)),
    "foeSide": ("foe_side",),
    "all": ("everything",),
    **dict.fromkeys(("randomNormal", "scripted"), ("any_foe",)),
}
NOBODY = Sheet(Fighter("", 50, (), (), (100,) * 5, 150, 1.0))
"""A target for moves whose power hangs on one, where nobody stands."""


class MoveWriter:
    """Writes move tokens of formats with a number of places a side."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.width = len(move_columns(places))
        names = [name for name, _, _ in move_columns(places)]
        self._traits = names.index(f"does_{traits().move_names[0]}")
        self._versus = self._traits + len(traits().move_names)

    def write(
        self,
        matchups: Matchups,
        at: int,
        mon: OwnMon,
        place: Place,
        targets: Sequence[str],
        tera: str,
        out: Written,
    ) -> None:
        """Fill the four rows of a place; `targets` are the request's, `tera` what it can turn."""
        moves = tuple((mon.offered or mon.moves)[:MOVES])
        attacker = matchups.sheets[at]
        if attacker is None or not moves:
            return
        turned = Sheet(attacker.fighter.turned(tera)) if tera else attacker
        first = next((foe.sheet for foe in matchups.foes if foe is not None), NOBODY)
        priorities = [priority_of(attacker.fighter, move, matchups.ground) for move in moves]
        pp = dict(zip(mon.moves, mon.pp, strict=False))
        for row, move in enumerate(moves):
            target = targets[row] if row < len(targets) and targets[row] else ""
            out[row, : self._traits] = (
                *(*(numbers := facts(attacker, move, first, matchups.air))[:7], priorities[row]),
                *(numbers[7], pp.get(move, 100)),
                mon.disabled[row] if row < len(mon.disabled) else 0,
                int(place.last_move == move),
                *_target_flags(target or dex().targets.get(move, "")),
            )
            out[row, self._traits : self._versus] = _done_by(move)
        self._write_versus(matchups, at, (attacker, turned), moves, priorities, out)

    def _write_versus(
        self,
        matchups: Matchups,
        at: int,
        users: tuple[Sheet, Sheet],
        moves: tuple[str, ...],
        priorities: Sequence[int],
        out: Written,
    ) -> None:
        """`users`: who moves, and the same terastallized."""
        ally, air, weapons = self._ally(matchups, at), matchups.air, arsenal(moves)
        standing = sum(foe is not None for foe in matchups.foes)
        spread = [_is_spread(move, standing, ally is not None) for move in moves]
        column = self._versus
        for foe in matchups.foes:
            if foe is not None:
                before = matchups.acts_before(matchups.paces[at], foe)
                write_moves_versus_foe(
                    *(*users, weapons, foe.sheet, air, spread, priorities, before),
                    out[: len(moves), column : column + 7],
                )
            column += 7
        if ally is not None:
            for row, move in enumerate(moves):
                if dex().targets.get(move) in HITS_ALLY:
                    harm = share(users[0], move, ally, air)
                    out[row, column] = thousandths(harm * (SPREAD if spread[row] else 1.0))

    def _ally(self, matchups: Matchups, at: int) -> Sheet | None:
        if self.places == 1 or len(matchups.sheets) < 2:
            return None
        return matchups.sheets[1 - at]


HITS_ALLY = frozenset(("allAdjacent", "normal", "any"))
"""Targets of attacks that hit the ally too, or may be aimed at it."""


def _is_spread(move: str, foes: int, ally: bool) -> bool:
    target = dex().targets.get(move, "")
    return target in SPREADS and foes + (ally and target == "allAdjacent") > 1


@lru_cache(maxsize=1 << 10)
def _done_by(move: str) -> Written:
    """Return what a move does, as it is written."""
    facts = traits()
    return np.array(facts.moves.get(move, (0,) * len(facts.move_names)), np.int16)


@lru_cache(maxsize=64)
def _target_flags(target: str) -> tuple[int, ...]:
    named = TARGET_FLAGS.get(target, ())
    return tuple(int(name in named) for name in TARGETS)
