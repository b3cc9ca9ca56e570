"""Medians, intervals and the last third, by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanista.report.curves import (
    Curve,
    Look,
    band,
    last_third_change,
    median_interval,
    summary,
)


def curve(seed: int, values: list[float], step: int = 10) -> Curve:
    looks = [
        Look(step * n, value, {"decisions": 100.0 * n + seed})
        for n, value in enumerate(values, start=1)
    ]
    return Curve(seed, tuple(looks))


def test_a_band_is_median_and_range_of_the_looks_all_seeds_had() -> None:
    points = band([curve(1, [5.0, 3.0, 9.0]), curve(2, [1.0, 4.0]), curve(3, [2.0, 8.0])])
    assert [(p.update, p.low, p.median, p.high) for p in points] == [(10, 1, 2, 5), (20, 3, 4, 8)]
    assert [p.x["decisions"] for p in points] == [102.0, 202.0]
    assert band([]) == ()


def test_what_a_seed_did_not_count_is_left_out() -> None:
    without = Curve(2, (Look(10, 1.0, {}),))
    (point,) = band([curve(1, [5.0]), without])
    assert point.x == {}


def test_a_summary_of_five_seeds_by_hand() -> None:
    curves = [curve(seed, [9.0, 1.0, float(seed)]) for seed in (3, 1, 5, 2, 4)]
    found = summary("arm", curves)
    assert (found.seeds, found.median, found.worst, found.low, found.high) == (5, 3, 5, 1, 5)
    assert found.coverage == pytest.approx(1 - 2 / 32)
    assert found.spent == {"decisions": 303.0}
    assert summary("arm", curves, "higher").worst == 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2.0], (2.0, 2.0, 0.0)),
        ([1.0, 2.0, 3.0], (1.0, 3.0, 0.75)),
        # Of ten the second and ninth: 1 − 2 (1 + 10) / 1024; the third would cover 89 %.
        ([float(n) for n in range(10)], (1.0, 8.0, 1 - 22 / 1024)),
    ],
)
def test_the_interval_of_a_median_comes_from_the_binomial(
    values: list[float], expected: tuple[float, float, float]
) -> None:
    assert median_interval(values) == pytest.approx(expected)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_an_interval_holds_the_median_and_covers_what_it_says(values: list[float]) -> None:
    low, high, coverage = median_interval(values)
    ordered = sorted(values)
    assert low <= ordered[len(values) // 2] <= high
    k = ordered.index(low)
    assert coverage <= 1 - 2 * sum(math.comb(len(values), i) for i in range(k)) / 2 ** len(values)
    assert coverage >= 0.9 or (low, high) == (ordered[0], ordered[-1])


def test_the_last_third_is_a_line_through_its_looks() -> None:
    # Looks at 10 … 100; the last third begins at 70. 4, 6, 5, 7 have the slope 0.8 a look.
    values = [9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 4.0, 6.0, 5.0, 7.0]
    assert last_third_change(curve(1, values)) == pytest.approx(0.8 * 3)
    assert last_third_change(curve(1, values[::-1])) == pytest.approx(0.0)
    assert last_third_change(curve(1, [3.0])) == 0.0


def test_rising_is_said_of_the_median_seed() -> None:
    down, up = [3.0, 3.0, 3.0, 2.0, 1.0, 0.5], [3.0, 3.0, 3.0, 1.0, 2.0, 3.0]
    assert not summary("arm", [curve(1, down), curve(2, down), curve(3, up)]).rising
    assert summary("arm", [curve(1, down), curve(2, up), curve(3, up)]).rising
