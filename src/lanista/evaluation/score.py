"""What results say and how surely: scores, intervals, the smallest difference they could show.

Pure functions on arrays. All intervals are two-sided 95 %. A unit is a set of matches on one deal
with the seats rotated; units are independent of each other, the matches in one are not, so every
interval but Wilson's is made from unit means. Unknown is None, never zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError

Z = 1.959963984540054
"""The normal quantile that leaves 2.5 % above it."""
Z_POWER = 0.8416212335729143
"""The normal quantile that leaves 20 % above it: 80 % power."""

# Student's t, 97.5 %, for 1 to 9 degrees of freedom; from 10 on the expansion below is exact to
# four digits.
_T = (12.70620, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216)

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval; `low` and `high` are None where the data cannot say."""

    value: float
    low: float | None
    high: float | None
    n: int
    """How many units, or trials, it rests on."""

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3f}, n = {self.n:,}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}], n = {self.n:,}"

    @property
    def half(self) -> float | None:
        """Half the interval's width."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2


def score(wins: int, draws: int, n: int) -> float | None:
    """Return (wins + ½ draws) / n, or None without games."""
    if min(wins, draws) < 0 or wins + draws > n:
        raise LanistaError(f"{wins} wins and {draws} draws do not fit into {n} games.")
    return (wins + draws / 2) / n if n else None


def wilson(successes: float, n: int) -> Estimate | None:
    """Return successes / n with Wilson's interval, or None without trials.

    The interval holds every p with |successes/n − p| ≤ z √(p(1 − p)/n); E. B. Wilson, 1927.
    """
    if not 0 <= successes <= n:
        raise LanistaError(f"{successes} successes do not fit into {n} trials.")
    if n == 0:
        return None
    rate, weight = successes / n, Z * Z / n
    centre = (rate + weight / 2) / (1 + weight)
    half = Z / (1 + weight) * math.sqrt(rate * (1 - rate) / n + weight / (4 * n))
    # At 0 and 1 the bound is exact; rounding must not push the rate out of its own interval.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Estimate(rate, min(low, rate), max(high, rate), n)


def t_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t (Cornish-Fisher from 10 degrees on)."""
    if freedom < 1:
        raise LanistaError(f"Student's t has no quantile with {freedom} degrees of freedom.")
    if freedom <= len(_T):
        return _T[freedom - 1]
    z, v = Z, float(freedom)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / v ** (i + 1) for i, term in enumerate(terms))


def unit_means(values: NDArray[Any], unit: NDArray[Any]) -> Values:
    """Return the mean of `values` over each unit, in the order of the units' numbers."""
    if len(values) != len(unit):
        raise LanistaError(f"{len(values)} values were given with {len(unit)} units.")
    _, member = np.unique(unit, return_inverse=True)
    sums: Values = np.bincount(member, np.asarray(values, np.float64)).astype(np.float64)
    return sums / np.maximum(np.bincount(member), 1)


def mean_score(units: NDArray[Any]) -> Estimate | None:
    """Return the mean of unit scores, each in [0, 1], with Student's interval, cut to [0, 1].

    When all units are equal their spread says nothing about what the next one could be, and
    Student's interval would have no width. Then Wilson's interval stands in, as if each unit were
    one trial with that mean: wide at a mean of ½, and about 4/n wide at 0 and 1.
    """
    units = np.asarray(units, np.float64)
    if not len(units):
        return None
    if units.min() < 0 or units.max() > 1:
        raise LanistaError(f"Unit scores lie in 0 to 1; {units.min()} to {units.max()} were given.")
    if _all_equal(units):
        return wilson(min(float(units[0]) * len(units), len(units)), len(units))
    mean, half = float(units.mean()), _student_half(units)
    return Estimate(mean, max(0.0, mean - half), min(1.0, mean + half), len(units))


def mean_value(units: NDArray[Any]) -> Estimate | None:
    """Return the mean of unbounded unit values with Student's interval.

    One unit, or units that are all equal, give a mean without an interval.
    """
    units = np.asarray(units, np.float64)
    if not len(units):
        return None
    if _all_equal(units):
        return Estimate(float(units[0]), None, None, len(units))
    mean, half = float(units.mean()), _student_half(units)
    return Estimate(mean, mean - half, mean + half, len(units))


def smallest_difference(units: NDArray[Any]) -> float | None:
    """Return the smallest true difference that as many units would show.

    The distance of the true score from a fixed value (½, or another bot's known score) which a
    two-sided test at 95 % notices with 80 % power: (z₀.₉₇₅ + z₀.₈₀) · sd / √units, where sd is the
    standard deviation of the unit scores seen. When all units are equal, the standard error is
    what Wilson's interval implies: its half width / z₀.₉₇₅.
    """
    units = np.asarray(units, np.float64)
    whole = mean_score(units)
    if whole is None or whole.half is None:
        return None
    if _all_equal(units):
        error = whole.half / Z
    else:
        error = float(units.std(ddof=1)) / math.sqrt(len(units))
    return (Z + Z_POWER) * error


def pair_scores(place_a: NDArray[Any], place_b: NDArray[Any]) -> Values:
    """Return a's result against b in each match: 1 ahead, ½ level, 0 behind."""
    ahead = np.asarray(place_a) < np.asarray(place_b)
    level = np.asarray(place_a) == np.asarray(place_b)
    results: Values = ahead + level / 2
    return results


def against_all(place: NDArray[Any]) -> Values:
    """Return each seat's mean result against the others, `[matches, seats]`, from places.

    With two seats this is 1 for a win, ½ for a draw, 0 for a loss.
    """
    place = np.asarray(place)
    seats = place.shape[1]
    if seats < 2:
        raise LanistaError("A match of one seat has nobody to be compared with.")
    ahead = (place[:, :, None] < place[:, None, :]).sum(axis=2)
    level = (place[:, :, None] == place[:, None, :]).sum(axis=2) - 1
    results: Values = (ahead + level / 2) / (seats - 1)
    return results


def first_places(place: NDArray[Any]) -> Values:
    """Return each seat's part of first place, `[matches, seats]`: 1/k for each of k who share it.

    Players of equal strength have 1/seats on average; with two seats it is the score.
    """
    first = np.asarray(place) == 1
    parts: Values = first / np.maximum(first.sum(axis=1, keepdims=True), 1)
    return parts


def margins(points: NDArray[Any]) -> Values:
    """Return each seat's points less the mean of the others', `[matches, seats]`."""
    points = np.asarray(points, np.float64)
    seats = points.shape[1]
    if seats < 2:
        raise LanistaError("A match of one seat has nobody to be compared with.")
    others = (points.sum(axis=1, keepdims=True) - points) / (seats - 1)
    differences: Values = points - others
    return differences


def _all_equal(units: Values) -> bool:
    # Means of the same results added in another order differ in the last bit.
    return float(np.ptp(units)) < 1e-9


def _student_half(units: Values) -> float:
    error = float(units.std(ddof=1)) / math.sqrt(len(units))
    return t_quantile(len(units) - 1) * error
