"""What an opponent's Pokémon probably brought, from how often the teams of a pool bring it.

Of the pool's sets of a species those stay that agree with everything revealed; each counts alike.
Knows nothing of the truth: it sees what the tracker has seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from lanista.games.showdown.protocol.battle_state import Mon, base_of
from lanista.games.showdown.protocol.traits import Usage
from lanista.games.showdown.protocol.vocabulary import NONE, OTHER, dex
from lanista.games.showdown.teams.sets import Set, unpack

MOVES, ITEMS, TERAS = 4, 2, 2
"""How many of the likeliest are told of each."""
CERTAIN = 1000
"""Chances are counted in thousandths."""
SIZE = 2 * (MOVES + ITEMS + TERAS) + 3
NOTHING: tuple[int, ...] = (NONE,) * SIZE
Ranked = list[tuple[int, int]]
"""Numbers of the vocabulary and the chance of each, likeliest first."""


class Seen(NamedTuple):
    """What was revealed of a Pokémon, by which answers are remembered."""

    species: str
    base: str
    level: int
    item: str | None
    brought: str
    ability: str
    tera: str
    moves: tuple[str, ...]
    """Sorted: the order that they were shown in says nothing of the set."""


def seen_of(mon: Mon) -> Seen:
    """Return what was revealed of a Pokémon."""
    moves = tuple(sorted(mon.moves))
    return Seen(
        mon.species, mon.base, mon.level, mon.item, mon.brought, mon.ability, mon.tera, moves
    )


class Belief:
    """Sets of a pool, or usage statistics, asked what is likely."""

    def __init__(self, sets: Iterable[Set], usage: Mapping[str, Usage] | None = None) -> None:
        """`usage` is what players bring, by species: it stands in the place of the prior."""
        self.usage = usage or {}
        self._sets: dict[str, list[Set]] = {}
        for mon_set in sets:
            self._sets.setdefault(base_of(mon_set.species), []).append(mon_set)

    @classmethod
    def of_teams(cls, packed: Iterable[str]) -> Belief:
        """Return the belief of somebody who knows these packed teams."""
        return cls(mon_set for team in packed for mon_set in unpack(team))

    def about(self, mon: Mon) -> tuple[int, ...]:
        """Return `SIZE` numbers: likeliest unseen moves, items and types, chances, share, speeds.

        In order: `MOVES` moves, `ITEMS` items and `TERAS` types (numbers of the vocabulary), the
        chance of each in the same order, the share of the species' sets that agree with what was
        seen (thousandths), and the least and the most Speed stat of those sets. All 0 where no set
        agrees.
        """
        # What it holds now decides nothing here: a set is known by what it brought.
        return _worked_out(self, seen_of(mon)._replace(item=None))

    def sets_of(self, base: str) -> Sequence[Set]:
        """Return the sets of a species."""
        return self._sets.get(base, ())

    def agreeing(self, seen: Seen) -> list[Set]:
        """Return the sets of a species that agree with everything revealed."""
        moves = frozenset(seen.moves)
        return [
            mon_set
            for mon_set in self.sets_of(seen.base)
            if moves.issubset(mon_set.moves) and _agrees(mon_set, seen)
        ]


@lru_cache(maxsize=1 << 12)
def _worked_out(belief: Belief, seen: Seen) -> tuple[int, ...]:
    every, agreeing = belief.sets_of(seen.base), belief.agreeing(seen)
    if not agreeing:
        return NOTHING
    moves = _ranked(
        (
            dex().move_of(move).number
            for mon_set in agreeing
            for move in mon_set.moves
            if move not in seen.moves
        ),
        len(agreeing),
        MOVES,
    )
    items = _ranked(
        (dex().items.get(mon_set.item, OTHER) if mon_set.item else NONE for mon_set in agreeing),
        len(agreeing),
        ITEMS,
    )
    teras = _ranked(
        (dex().types.get(mon_set.tera, OTHER) for mon_set in agreeing), len(agreeing), TERAS
    )
    ranked = (*moves, *items, *teras)
    speeds = [mon_set.speed(seen.level) for mon_set in agreeing]
    share = CERTAIN * len(agreeing) // len(every)
    numbers, chances = zip(*ranked, strict=True)
    return (*numbers, *chances, share, min(speeds), max(speeds))


def _agrees(mon_set: Set, seen: Seen) -> bool:
    """Return whether a set has what was revealed beside moves."""
    return (
        (not seen.brought or seen.brought == mon_set.item)
        and (not seen.tera or seen.tera == mon_set.tera)
        and (not seen.ability or seen.ability == mon_set.ability)
    )


def _ranked(numbers: Iterable[int], sets: int, count: int) -> Ranked:
    """Return the `count` most frequent numbers; ties by number, so that order never matters."""
    by_frequency: Sequence[tuple[int, int]] = sorted(
        Counter(numbers).items(), key=lambda pair: (-pair[1], pair[0])
    )
    chances = [(number, CERTAIN * times // sets) for number, times in by_frequency[:count]]
    return chances + [(NONE, 0)] * (count - len(chances))
