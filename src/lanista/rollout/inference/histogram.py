"""Counts numbers by powers of two, for metrics that are a spread and not one number.

The borders never move, so that counts of several times and runs can be added up. Knows nothing of
what is counted.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate


class Histogram:
    """How many numbers lie at or below each border and above the one before."""

    def __init__(self, lowest: int, highest: int) -> None:
        """Have the borders 2^lowest, ..., 2^highest, and a place for what lies above them all."""
        self.borders = [2.0**power for power in range(lowest, highest + 1)]
        self.counts = [0] * (len(self.borders) + 1)
        self.total = 0.0
        self.largest = 0.0

    def add(self, number: float) -> None:
        """Count a number."""
        self.counts[bisect_left(self.borders, number)] += 1
        self.total += number
        self.largest = max(self.largest, number)

    def below(self, share: float) -> float:
        """Return the lowest border that at least `share` of all numbers do not exceed.

        The largest number where that is less, or where there is no such border.
        """
        enough = share * sum(self.counts)
        for border, count in zip(self.borders, accumulate(self.counts), strict=False):
            if count >= enough:
                return min(border, self.largest)
        return self.largest

    def flat(self, name: str) -> dict[str, float]:
        """Return it as metrics; nothing where nothing was counted, and no count that is 0."""
        count = sum(self.counts)
        if not count:
            return {}
        places = [f"{name}/to_{border:g}" for border in self.borders]
        places.append(f"{name}/over_{self.borders[-1]:g}")
        return {
            f"{name}/mean": self.total / count,
            f"{name}/p50": self.below(0.5),
            f"{name}/p95": self.below(0.95),
            f"{name}/largest": self.largest,
            **{place: float(n) for place, n in zip(places, self.counts, strict=True) if n},
        }
