"""Counts how matches ended, by who sat where; what a run's record of its training games says.

Places give pairwise results, so games of any number of seats are counted alike. Matches that were
broken off have no result and are not counted. Knows nothing of who the numbers are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.rollout.counting import Counter

Pairs = tuple[tuple[int, int, int], ...]
_COLUMNS = ("seated", "place", "returns", "match", "update")


@dataclass(frozen=True)
class Count:
    """What came of all matches with one seating."""

    seating: tuple[int, ...]
    """The number of the player in each seat."""
    matches: int
    pairs: Pairs
    """Wins, draws and losses of each two seats (0, 1), (0, 2), (1, 2) …, as the first has them."""
    returns: tuple[float, ...]
    """Summed, by seat."""
    first_match: int
    last_match: int
    first_update: int
    """The learner's update count when the oldest of the matches began."""


class Tally:
    """Matches that ended since the last `clear`."""

    def __init__(self, seats: int) -> None:
        self.seats = seats
        self.clear()

    def clear(self) -> None:
        self._chunks: list[dict[str, NDArray[Any]]] = []
        self._counter: Counter | None = None
        self._counted = 0
        """Chunks that the counter has."""
        self._counts: list[Count] = []
        self.matches = 0

    def add(
        self,
        seated: NDArray[np.int32],
        place: NDArray[np.int32],
        returns: NDArray[np.float32],
        match: NDArray[np.int64],
        update: NDArray[np.int64],
    ) -> None:
        """Take in matches that ended, a row each; `update` is when each began.

        The columns are kept, not copied: they must stay as they are until `clear`.
        """
        self._chunks.append(
            {"seated": seated, "place": place, "returns": returns, "match": match, "update": update}
        )
        self.matches += len(seated)

    def rows(self) -> dict[str, NDArray[Any]]:
        """Return the matches so far as columns, for `extend` elsewhere; none: empty."""
        if not self.matches:
            return {}
        return {name: np.concatenate([chunk[name] for chunk in self._chunks]) for name in _COLUMNS}

    def extend(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Take in what `rows` of another tally gave."""
        if rows:
            self.add(**rows)

    def counts(self) -> list[Count]:
        """Return the matches so far by seating, in the order of the players' numbers.

        Only what came since the last call is counted: this is asked for after every update.
        """
        if self._counted == len(self._chunks):
            return self._counts
        if self._counter is None:
            self._counter = Counter(self.seats)
        for chunk in self._chunks[self._counted :]:
            # Returns are summed in float64 and in the order played: the same sum wherever it is
            # made, for which parts of it must not be summed first.
            self._counter.add(**chunk)
        self._counted = len(self._chunks)
        seatings, numbers, pairs, returns = (rows.tolist() for rows in self._counter.table())
        self._counts = [
            Count(tuple(seating), matches, tuple(map(tuple, results)), tuple(sums), *rest)
            for seating, (matches, *rest), results, sums in zip(
                seatings, numbers, pairs, returns, strict=True
            )
        ]
        return self._counts


def pair_results(place: NDArray[np.int32]) -> Pairs:
    """Return wins, draws and losses of each two seats from places `[matches, seats]`."""
    return tuple(
        (
            int((place[:, a] < place[:, b]).sum()),
            int((place[:, a] == place[:, b]).sum()),
            int((place[:, a] > place[:, b]).sum()),
        )
        for a, b in combinations(range(place.shape[1]), 2)
    )
