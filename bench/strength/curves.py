"""What a curve says: the time to a mark, and how many times as soon one learner is as another.

Pure functions. A time is unknown (None) where a curve never reaches the mark; it is then more than
the budget.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.strength.rows import Mark

Look = dict[str, Any]
"""A line of an arm: `cpu_seconds`, `decisions`, `metrics`."""


def time_to_mark(looks: Iterable[Look], mark: Mark, unit: str = "cpu_seconds") -> float | None:
    """Return the `unit` of the first look at which the mark is reached, or None.

    The first, whatever comes after it: a learner that circles is given the best of its luck. A
    look's own value counts and not its interval.
    """
    ordered = sorted(looks, key=lambda look: look[unit])
    for look in ordered:
        measured = look["metrics"].get(mark.metric)
        if measured is not None and mark.reached_by(measured["value"]):
            return float(look[unit])
    return None


@dataclass(frozen=True)
class Times:
    """The times of one learner to one mark, a seed each."""

    reached: tuple[float, ...]
    """Of the seeds that reached it."""
    missed: tuple[float, ...]
    """How long each of the others tried."""

    @classmethod
    def of(cls, curves: Iterable[Sequence[Look]], mark: Mark, unit: str) -> Times:
        """Return them for curves of several seeds."""
        reached, missed = [], []
        for looks in curves:
            moment = time_to_mark(looks, mark, unit)
            if moment is None:
                missed.append(float(max(look[unit] for look in looks)))
            else:
                reached.append(moment)
        return cls(tuple(sorted(reached)), tuple(sorted(missed)))

    @property
    def median(self) -> float | None:
        """The median over seeds, those that missed above all others; None: it is one of them."""
        ordered = [*self.reached, *[float("inf")] * len(self.missed)]
        middle = statistics.median_high(ordered) if ordered else float("inf")
        return None if middle == float("inf") else middle

    @property
    def at_least(self) -> float:
        """A time that the median is not below: itself, or how long those tried who missed."""
        return self.median if self.median is not None else min(self.missed)


@dataclass(frozen=True)
class Ratio:
    """How many times as soon ours is as a peer."""

    value: float | None
    """None: neither arrived."""
    bound: bool
    """Whether the peer did not arrive, so that the value is a lower bound."""
    low: float | None = None
    """The slowest of our seeds beside the fastest of the peer's."""
    high: float | None = None
    """The fastest of ours beside the slowest of the peer's; None where one did not arrive."""
    below: bool = False
    """Whether ours did not arrive, so that the value is an upper bound."""


def ratio(ours: Times, peer: Times) -> Ratio:
    """Compare the medians; the range is that of any seed of ours beside any of the peer's."""
    mine = ours.median
    if mine is None:
        theirs = peer.median
        return Ratio(None if theirs is None else theirs / ours.at_least, False, below=True)
    slowest = max(ours.reached) if not ours.missed else None
    fastest_peer = min([*peer.reached, *peer.missed])
    low = None if slowest is None else fastest_peer / slowest
    high = None if peer.missed else max(peer.reached) / min(ours.reached)
    return Ratio(peer.at_least / mine, peer.median is None, low, high)
