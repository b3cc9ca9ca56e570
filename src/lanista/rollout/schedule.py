"""Who sits where, in which match, on which deal; all of it fixed before the first match.

A unit is one deal played in every rotation of the seats, so that neither the deal nor a seat
favours anybody. Knows nothing of games and results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError

FIRST_BLOCK = 32
"""Matches in the first block of a long schedule."""


@dataclass(frozen=True)
class Schedule:
    """Matches to be played, a row each."""

    match: NDArray[np.int64]
    """Match ids, each once."""
    deal: NDArray[np.int64]
    """The deal of each match, which is also the unit it belongs to."""
    seating: NDArray[np.int32]
    """`[matches, seats]`: the number of the player in each seat."""

    def __post_init__(self) -> None:
        lengths = {len(self.match), len(self.deal), len(self.seating)}
        if self.seating.ndim != 2 or len(lengths) != 1:
            raise LanistaError(
                f"A schedule has {len(self.match)} match ids, {len(self.deal)} deals and a seating "
                f"of shape {list(self.seating.shape)}; give each match one of each."
            )
        if not _all_differ(self.match):
            raise LanistaError("A schedule names a match id twice; give every match its own.")

    def __len__(self) -> int:
        return len(self.match)

    @property
    def seats(self) -> int:
        return int(self.seating.shape[1])

    def part(self, start: int, stop: int) -> Schedule:
        """Return the matches from row `start` up to row `stop`."""
        rows = slice(start, stop)
        return Schedule(self.match[rows], self.deal[rows], self.seating[rows])

    def shards(self, count: int) -> list[Schedule]:
        """Return the schedule cut into `count` runs of rows of nearly equal length."""
        borders = [len(self) * i // count for i in range(count + 1)]
        return [self.part(a, b) for a, b in pairwise(borders)]

    def blocks(self, matches: int) -> list[Schedule]:
        """Return the schedule cut into runs of at most `matches` rows, whole units each.

        A unit has as many matches as seats; a block is never smaller than one unit. Blocks start
        at `FIRST_BLOCK` and double: whoever stops loses about half of the time at most, however
        slow the game and the players are, and long runs have no more than a few small blocks.
        """
        blocks, start, target = [], 0, FIRST_BLOCK
        while start < len(self):
            size = max(1, min(target, matches) // self.seats) * self.seats
            blocks.append(self.part(start, start + size))
            start, target = start + size, target * 2
        return blocks


def _all_differ(numbers: NDArray[np.int64]) -> bool:
    if (np.diff(numbers) > 0).all():
        return True  # The usual case, at a tenth of the price.
    return bool((np.diff(np.sort(numbers)) > 0).all())


def rotations(
    players: int | Sequence[int], matches: int, *, first_match: int = 0, first_deal: int = 0
) -> Schedule:
    """Return at least `matches` matches of `players`, one player a seat, in whole units.

    In a unit's r-th match player i sits in seat (i + r) mod seats: for two players, the seats
    swapped on the same deal. `players` is how many, or their numbers.
    """
    who = np.arange(players) if isinstance(players, int) else np.asarray(players)
    seats = len(who)
    if seats < 1 or matches < 1:
        raise LanistaError(f"{matches} matches of {seats} players cannot be scheduled.")
    units = -(-matches // seats)
    turned = np.stack([np.roll(who, shift) for shift in range(seats)]).astype(np.int32)
    return Schedule(
        match=first_match + np.arange(units * seats, dtype=np.int64),
        deal=first_deal + np.repeat(np.arange(units, dtype=np.int64), seats),
        seating=np.tile(turned, (units, 1)),
    )
