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

Pairs = tuple[tuple[int, int, int], ...]


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
        self._seated: list[NDArray[np.int32]] = []
        self._place: list[NDArray[np.int32]] = []
        self._returns: list[NDArray[np.float32]] = []
        self._numbers: list[NDArray[np.int64]] = []
        self.matches = 0

    def add(
        self,
        seated: NDArray[np.int32],
        place: NDArray[np.int32],
        returns: NDArray[np.float32],
        match: NDArray[np.int64],
        update: NDArray[np.int64],
    ) -> None:
        """Take in matches that ended, a row each; `update` is when each began."""
        self._seated.append(seated)
        self._place.append(place)
        self._returns.append(returns)
        self._numbers.append(np.stack([match, update], axis=1))
        self.matches += len(seated)

    def rows(self) -> dict[str, NDArray[Any]]:
        """Return the matches so far as columns, for `extend` elsewhere; none: empty."""
        if not self.matches:
            return {}
        match, update = np.concatenate(self._numbers).T
        return {
            "seated": np.concatenate(self._seated),
            "place": np.concatenate(self._place),
            "returns": np.concatenate(self._returns),
            "match": match,
            "update": update,
        }

    def extend(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Take in what `rows` of another tally gave."""
        if rows:
            self.add(**rows)

    def counts(self) -> list[Count]:
        """Return the matches so far by seating, in the order of the players' numbers."""
        if not self.matches:
            return []
        seated, group = np.unique(np.concatenate(self._seated), axis=0, return_inverse=True)
        place, returns = np.concatenate(self._place), np.concatenate(self._returns)
        numbers = np.concatenate(self._numbers)
        found = []
        for kind, seating in enumerate(seated):
            rows = np.flatnonzero(group.ravel() == kind)
            match, update = numbers[rows].T
            found.append(
                Count(
                    seating=tuple(int(number) for number in seating),
                    matches=len(rows),
                    pairs=pair_results(place[rows]),
                    # In float64 and in the order played: the same sum wherever it is made.
                    returns=tuple(float(r) for r in returns[rows].sum(0, dtype=np.float64)),
                    first_match=int(match.min()),
                    last_match=int(match.max()),
                    first_update=int(update.min()),
                )
            )
        return found


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
