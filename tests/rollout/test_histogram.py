"""Histograms: counts and shares follow from their definition."""

import numpy as np
import pytest

from lanista.rollout.inference.histogram import Histogram


@pytest.fixture
def numbers():
    return [*np.random.default_rng(3).lognormal(1, 2, 500).tolist(), 0.0, 0.25, 1.0, 8.0, 99.0]


def counted(numbers, lowest=-2, highest=5):
    histogram = Histogram(lowest, highest)
    for number in numbers:
        histogram.add(number)
    return histogram


def test_a_number_counts_at_the_first_border_it_does_not_exceed(numbers):
    found = counted(numbers).flat("x")
    borders = [0.25, 0.5, 1, 2, 4, 8, 16, 32]
    for below, border in zip([-np.inf, *borders], borders, strict=False):
        assert found[f"x/to_{border:g}"] == sum(below < number <= border for number in numbers)
    assert found["x/over_32"] == sum(number > 32 for number in numbers)


def test_a_share_lies_at_or_below_the_border_and_not_below_the_one_before(numbers):
    histogram = counted(numbers)
    for share in (0.1, 0.25, 0.5, 0.75):
        border = histogram.below(share)
        assert border in histogram.borders
        assert sum(number <= border for number in numbers) >= share * len(numbers)
        assert sum(number <= border / 2 for number in numbers) < share * len(numbers)


def test_no_share_lies_above_the_largest_number():
    assert counted([5.0]).below(0.5) == 5.0
    assert counted([3.0, 1000.0]).below(0.95) == 1000.0


def test_mean_and_largest_are_exact(numbers):
    found = counted(numbers).flat("x")
    assert found["x/mean"] == pytest.approx(np.mean(numbers))
    assert found["x/largest"] == max(numbers)
    assert found["x/p50"] == counted(numbers).below(0.5)
    assert found["x/p95"] == counted(numbers).below(0.95)


def test_what_was_not_counted_has_no_metrics():
    assert Histogram(0, 3).flat("x") == {}
    assert set(counted([2.0]).flat("x")) == {
        "x/mean", "x/p50", "x/p95", "x/largest", "x/to_2",
    }  # fmt: skip


def test_a_small_number_is_the_largest_where_there_is_no_other():
    found = counted([0.125, 0.0625]).flat("x")
    assert found == {
        "x/mean": 0.09375, "x/p50": 0.125, "x/p95": 0.125, "x/largest": 0.125, "x/to_0.25": 2.0,
    }  # fmt: skip
    assert Histogram(0, 1).below(0.5) == 0
