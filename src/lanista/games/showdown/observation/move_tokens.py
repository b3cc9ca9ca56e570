"""Writes the tokens of moves: what each does, and what it does to whom now.

Knows nothing of Pokémon's own tokens and of where a row goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lanista.games.showdown.observation.fields import MOVES
from lanista.games.showdown.observation.matchups import (
    LEAST_ROLL,
    Foe,
    Matchups,
    attack_shares,
    hit_chances,
    knock_out,
    priority_of,
    thousandths,
)
from lanista.games.showdown.observation.mon_traits import SPREADS
from lanista.games.showdown.observation.token_fields import TARGETS, move_columns
from lanista.games.showdown.protocol.battle_state import Place
from lanista.games.showdown.protocol.requests import OwnMon
from lanista.games.showdown.protocol.traits import traits
from lanista.games.showdown.protocol.vocabulary import IMMUNE, dex, effectiveness, number_of
from lanista.games.showdown.scripted.damage import (
    FIXED,
    HITS,
    MEAN_ROLL,
    SPREAD,
    Fighter,
    Ground,
    power_of,
    same_type,
    type_of,
)

Written = NDArray[np.int16]
NO_EFFECT = -4
"""What is written where a type does nothing."""
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
NOBODY = Fighter("", 50, (), (), (100,) * 5, 150, 1.0)
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
        attacker = matchups.party[at]
        if attacker is None or not moves:
            return
        turned = attacker.turned(tera) if tera else attacker
        ground = matchups.ground
        standing = [foe for foe in matchups.foes if foe is not None]
        first = standing[0].fighter if standing else NOBODY
        pp = dict(zip(mon.moves, mon.pp, strict=False))
        for row, move in enumerate(moves):
            target = targets[row] if row < len(targets) and targets[row] else ""
            out[row, : self._traits] = (
                *_facts(attacker, move, first, ground),
                pp.get(move, 100),
                mon.disabled[row] if row < len(mon.disabled) else 0,
                int(place.last_move == move),
                *_target_flags(target or dex().targets.get(move, "")),
            )
            out[row, self._traits : self._versus] = traits().moves.get(move, 0)
        self._write_versus(matchups, at, attacker, turned, moves, out)

    def _write_versus(
        self,
        matchups: Matchups,
        at: int,
        attacker: Fighter,
        turned: Fighter,
        moves: tuple[str, ...],
        out: Written,
    ) -> None:
        ground, ally = matchups.ground, self._ally(matchups, at)
        standing = sum(foe is not None for foe in matchups.foes)
        spread = [_is_spread(move, standing, ally is not None) for move in moves]
        priorities = [priority_of(attacker, move, ground) for move in moves]
        own_pace = matchups.paces[at]
        column = self._versus
        for foe in matchups.foes:
            if foe is not None:
                shares = attack_shares(attacker, moves, foe.fighter, ground)
                after = shares
                if turned is not attacker:
                    after = attack_shares(turned, moves, foe.fighter, ground)
                chances = hit_chances(attacker, moves, foe.fighter, ground)
                before = matchups.acts_before(own_pace, foe)
                for row, move in enumerate(moves):
                    factor = SPREAD if spread[row] else 1.0
                    out[row, column : column + 7] = _versus(
                        _effective(attacker, move, foe, ground),
                        shares[row] * factor,
                        after[row] * factor,
                        chances[row],
                        foe.fighter,
                        before if not priorities[row] else float(priorities[row] > 0),
                    )
            column += 7
        if ally is not None:
            for row, move in enumerate(moves):
                if dex().targets.get(move) in HITS_ALLY:
                    share = attack_shares(attacker, (move,), ally, ground)[0]
                    out[row, column] = thousandths(share * (SPREAD if spread[row] else 1.0))

    def _ally(self, matchups: Matchups, at: int) -> Fighter | None:
        if self.places == 1 or len(matchups.party) < 2:
            return None
        return matchups.party[1 - at]


HITS_ALLY = frozenset(("allAdjacent", "normal", "any"))
"""Targets of attacks that hit the ally too, or may be aimed at it."""


def _versus(
    effective: int,
    share: float,
    after: float,
    chance: float,
    target: Fighter,
    before: float,
) -> tuple[int, ...]:
    return (
        effective,
        thousandths(share * LEAST_ROLL / MEAN_ROLL),
        thousandths(share / MEAN_ROLL),
        thousandths(after),
        round(1000 * knock_out(share, target) * chance),
        round(1000 * chance),
        round(1000 * before),
    )


def _effective(attacker: Fighter, move: str, foe: Foe, ground: Ground) -> int:
    dex_move = dex().move_of(move)
    if dex_move.category not in (1, 2):
        return 0
    doublings = effectiveness(type_of(attacker, move, dex_move, ground), foe.fighter.types)
    return NO_EFFECT if doublings == IMMUNE else doublings


def _is_spread(move: str, foes: int, ally: bool) -> bool:
    target = dex().targets.get(move, "")
    return target in SPREADS and foes + (ally and target == "allAdjacent") > 1


@lru_cache(maxsize=1 << 14)
def _facts(
    attacker: Fighter, move: str, target: Fighter, ground: Ground
) -> tuple[int, int, int, int, int, int, int, int, int]:
    """Return number, type, category, presence, power, accuracy, surety, priority, same type."""
    dex_move = dex().move_of(move)
    type = type_of(attacker, move, dex_move, ground)
    attacks = dex_move.category in (1, 2)
    power = 0.0
    if move in FIXED:
        power = 100 * FIXED[move](attacker, target) / target.most_hp
    elif attacks:
        power = HITS.get(move, 1.0) * power_of(attacker, move, dex_move, target)
    return (
        dex_move.number,
        number_of(dex().types, type) if type else 0,
        dex_move.category,
        1,
        round(power),
        dex_move.accuracy or 100,
        int(not dex_move.accuracy),
        priority_of(attacker, move, ground),
        round(100 * same_type(attacker, type)) - 100 if attacks else 0,
    )


@lru_cache(maxsize=64)
def _target_flags(target: str) -> tuple[int, ...]:
    named = TARGET_FLAGS.get(target, ())
    return tuple(int(name in named) for name in TARGETS)
