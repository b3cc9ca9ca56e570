"""Whether a change made something faster, outside the noise of repeats: pure functions of rates.

Old and new are measured in turns, so what slows the machine down for a while slows both. A ratio is
the mean of the pairs' log ratios with Student's interval. Knows nothing of what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from lanista.evaluation.score import t_quantile

FEWEST_PAIRS = 5
"""A change is never kept by fewer."""
_LOOK_AFTER = 2
_HOPELESS = 0.95
"""A change that has not come nearer than this in any pair so far is given up."""


@dataclass(frozen=True)
class Spread:
    """A mean of logarithms, taken back: a rate, or how many times as fast."""

    value: float
    low: float
    high: float
    """The 95 % interval of the mean."""
    next_low: float
    next_high: float
    """Where the mean of as many more will lie, with 95 %, if nothing else changes."""
    n: int


def spread(values: Sequence[float]) -> Spread:
    """Return the geometric mean of positive numbers; one alone has no bounds but 0 and infinity."""
    logs = [math.log(value) for value in values]
    mean, n = fmean(logs), len(logs)
    if n < 2:
        return Spread(math.exp(mean), 0.0, math.inf, 0.0, math.inf, n)
    half = t_quantile(n - 1) * stdev(logs) / math.sqrt(n)
    # A mean to come has the same noise once more.
    wider = half * math.sqrt(2)
    bounds = (mean - half, mean + half, mean - wider, mean + wider)
    low, high, next_low, next_high = map(math.exp, bounds)
    return Spread(math.exp(mean), low, high, next_low, next_high, n)


def ratio(old: Sequence[float], new: Sequence[float]) -> Spread:
    """Return how many times as fast the new is, from pairs measured one after the other."""
    return spread([after / before for before, after in zip(old, new, strict=True)])


def better(ratio: Spread) -> bool:
    """Return whether the new is faster outside the noise."""
    return ratio.n >= FEWEST_PAIRS and ratio.low > 1.0


def hopeless(old: Sequence[float], new: Sequence[float]) -> bool:
    """Return whether to stop measuring what is plainly slower; that can only lose a change."""
    pairs = [after / before for before, after in zip(old, new, strict=True)]
    return len(pairs) >= _LOOK_AFTER and max(pairs) < _HOPELESS


@dataclass(frozen=True)
class Promise:
    """What settings are expected to come to when they are measured again."""

    rate: Spread
    """Decisions a second; of settings that were timed to a mark, one by the seconds to it."""
    faster: Spread | None
    """How many times as fast as before; None: nothing was changed."""
    timed: str = ""
    """In what they were timed to a mark, as `CPU seconds to nash_conv<=0.05`; else empty."""

    @property
    def low(self) -> float:
        return (self.faster or self.rate).next_low

    @property
    def high(self) -> float:
        return (self.faster or self.rate).next_high


@dataclass(frozen=True)
class Outcome:
    """A promise, and what was measured afterwards."""

    promise: Promise
    measured: float
    """How many times as fast, or decisions a second where nothing was changed."""

    @property
    def holds(self) -> bool:
        """More than promised is no broken promise."""
        return self.measured >= self.promise.low


def promise(old: Sequence[float], new: Sequence[float] | None, timed: str = "") -> Promise:
    """Return what pairs of old and new say about the new; without new ones, about the old."""
    if new is None:
        return Promise(spread(old), None)
    return Promise(spread(new), ratio(old, new), timed)


def inverse(rate: Spread) -> Spread:
    """Return the seconds that one takes at a rate."""
    bounds = (rate.high, rate.low, rate.next_high, rate.next_low)
    low, high, next_low, next_high = (1 / bound if bound else math.inf for bound in bounds)
    return Spread(1 / rate.value, low, high, next_low, next_high, rate.n)


def outcome(promised: Promise, old: Sequence[float], new: Sequence[float] | None) -> Outcome:
    """Return whether a promise held in pairs measured after it was given."""
    again = promise(old, new)
    return Outcome(promised, (again.faster or again.rate).value)
