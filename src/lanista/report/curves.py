"""What several seeds of one arm say together: median, range, and where the curve is heading.

Plain arithmetic on numbers that were measured elsewhere. A seed's curve is compared with
another's look by look, never between looks, so nothing here is interpolated.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Literal

Better = Literal["lower", "higher"]
LEAST_COVERAGE = 0.9


@dataclass(frozen=True)
class Look:
    """One measurement of one seed."""

    update: int
    value: float
    x: Mapping[str, float]
    """What had been spent by then: decisions, cpu_seconds. What is unknown is left out."""


@dataclass(frozen=True)
class Curve:
    """One seed's looks, in order."""

    seed: int
    looks: tuple[Look, ...]


@dataclass(frozen=True)
class Point:
    """All seeds at one look."""

    update: int
    median: float
    low: float
    high: float
    x: Mapping[str, float]


@dataclass(frozen=True)
class Summary:
    """How an arm ended, over its seeds."""

    arm: str
    seeds: int
    median: float
    worst: float
    low: float
    high: float
    """An interval for the median over seeds that assumes nothing about their distribution."""
    coverage: float
    """The chance that such an interval holds the median of all seeds there could be."""
    change: float
    """By how much the curve moved over its last third: the median of the seeds' fitted lines."""
    spent: Mapping[str, float]
    """The median over seeds of what was spent by the end."""

    @property
    def rising(self) -> bool:
        return self.change > 0


def band(curves: Sequence[Curve]) -> tuple[Point, ...]:
    """Return median, lowest and highest of the seeds at every look that all of them had."""
    if not curves:
        return ()
    by_update = [{look.update: look for look in curve.looks} for curve in curves]
    common = sorted(set(by_update[0]).intersection(*by_update[1:]))
    return tuple(_point(update, [looks[update] for looks in by_update]) for update in common)


def _point(update: int, looks: Sequence[Look]) -> Point:
    values = [look.value for look in looks]
    names = set(looks[0].x).intersection(*(look.x for look in looks))
    x = {name: statistics.median([look.x[name] for look in looks]) for name in sorted(names)}
    return Point(update, statistics.median(values), min(values), max(values), x)


def summary(arm: str, curves: Sequence[Curve], better: Better = "lower") -> Summary:
    """Return how the arm ended; every curve must have a look."""
    final = [curve.looks[-1].value for curve in curves]
    low, high, coverage = median_interval(final)
    return Summary(
        arm=arm,
        seeds=len(curves),
        median=statistics.median(final),
        worst=max(final) if better == "lower" else min(final),
        low=low,
        high=high,
        coverage=coverage,
        change=statistics.median([last_third_change(curve) for curve in curves]),
        spent=_point(0, [curve.looks[-1] for curve in curves]).x,
    )


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the narrowest interval between two order statistics that covers 90 %, and its chance.

    With fewer than five values no two of them cover that much; then it is the whole range.
    From the binomial: the k-th smallest of n lies above the median with chance P(Bin(n, ½) < k).
    """
    ordered, n = sorted(values), len(values)
    chosen, coverage = 1, _coverage(n, 1)
    for k in range(2, n // 2 + 1):
        if _coverage(n, k) < LEAST_COVERAGE:
            break
        chosen, coverage = k, _coverage(n, k)
    return ordered[chosen - 1], ordered[n - chosen], coverage


def _coverage(n: int, k: int) -> float:
    return max(0.0, 1 - 2 * sum(comb(n, i) for i in range(k)) / 2.0**n)


def last_third_change(curve: Curve) -> float:
    """Return how far a straight line fitted to the last third of the updates goes from end to end.

    A line is fitted so that one lucky last look does not decide; with one look there it is 0.
    """
    last = curve.looks[-1].update
    begin = last - (last - curve.looks[0].update) / 3
    looks = [look for look in curve.looks if look.update >= begin]
    if len(looks) < 2:
        return 0.0
    xs, ys = [float(look.update) for look in looks], [look.value for look in looks]
    slope = statistics.linear_regression(xs, ys).slope
    return float(slope) * (xs[-1] - xs[0])
