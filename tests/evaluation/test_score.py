"""Scores and intervals, against their formulas and against simulated truth."""

import math
from statistics import NormalDist, mean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.evaluation.score import (
    Z_POWER,
    Z,
    against_all,
    margins,
    mean_score,
    mean_value,
    pair_scores,
    score,
    smallest_difference,
    t_quantile,
    unit_means,
    wilson,
)

unit_scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=60)


def test_score_counts_a_draw_as_half_a_win():
    assert score(6, 2, 10) == 0.7
    assert score(0, 10, 10) == 0.5


def test_without_games_everything_is_unknown_and_not_zero():
    assert score(0, 0, 0) is None
    assert wilson(0, 0) is None
    assert mean_score(np.array([])) is None
    assert mean_value(np.array([])) is None
    assert smallest_difference(np.array([])) is None
    assert len(unit_means(np.array([]), np.array([]))) == 0


@pytest.mark.parametrize(("wins", "draws", "n"), [(-1, 0, 3), (2, 2, 3), (0, -1, 3)])
def test_impossible_counts_are_refused(wins, draws, n):
    with pytest.raises(LanistaError, match="do not fit"):
        score(wins, draws, n)


def test_quantiles_are_those_of_the_normal_distribution():
    assert pytest.approx(NormalDist().inv_cdf(0.975)) == Z
    assert pytest.approx(NormalDist().inv_cdf(0.8)) == Z_POWER
    # By the formulas that use them: half of all trials won, and units of a known deviation.
    half = wilson(50, 100).half
    z = NormalDist().inv_cdf(0.975)
    assert half == pytest.approx(z / (1 + z * z / 100) * math.sqrt(0.25 / 100 + z * z / 40000))
    units = np.array([0.0, 1.0] * 50)
    z += NormalDist().inv_cdf(0.8)
    assert smallest_difference(units) == pytest.approx(z * stdev(units.tolist()) / 10)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (5, 2.571), (9, 2.262), (10, 2.228), (20, 2.086), (30, 2.042),
     (60, 2.000), (100, 1.984), (1000, 1.962)],
)  # fmt: skip
def test_student_quantiles_are_those_of_the_printed_table(freedom, quantile):
    assert t_quantile(freedom) == pytest.approx(quantile, abs=6e-4)


def above(t, freedom, steps=4000):
    """Return how likely Student's t is above `t`: Simpson's rule over its density."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    scale /= math.sqrt(freedom * math.pi)
    x = np.linspace(0.0, t, steps + 1)
    density = scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)
    weights = np.ones(steps + 1)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    return 0.5 - float((weights * density).sum()) * t / steps / 3


@pytest.mark.parametrize("freedom", [*range(1, 16), 25, 50, 200])
def test_a_student_quantile_leaves_2_5_per_cent_above_it(freedom):
    assert above(t_quantile(freedom), freedom) == pytest.approx(0.025, rel=3e-5)


def test_student_quantiles_fall_towards_the_normal_one():
    values = [t_quantile(freedom) for freedom in range(1, 500)]
    assert values == sorted(values, reverse=True)
    assert values[-1] > Z
    assert t_quantile(10**6) == pytest.approx(Z, abs=1e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_bounds_solve_the_equation_they_come_from(case):
    wins, n = case
    found = wilson(wins, n)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.high - found.low > 0
    for bound in (found.low, found.high):
        if 0 < bound < 1:
            error = Z * math.sqrt(bound * (1 - bound) / n)
            assert abs(found.value - bound) == pytest.approx(error, rel=1e-9, abs=1e-12)


def test_wilson_of_no_wins_in_ten_is_the_closed_form():
    found = wilson(0, 10)
    assert found.low == 0
    assert found.high == pytest.approx(Z**2 / (10 + Z**2))


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_symmetric_in_wins_and_losses(case):
    wins, n = case
    one, other = wilson(wins, n), wilson(n - wins, n)
    assert one.low == pytest.approx(1 - other.high, abs=1e-12)


def test_unit_means_group_by_unit_in_any_order():
    values = np.array([1.0, 0.0, 0.5, 1.0])
    assert unit_means(values, np.array([7, 3, 7, 3])).tolist() == [0.5, 0.75]


def test_the_interval_of_a_score_is_students_over_units():
    units = [1.0, 0.5, 0.5, 1.0, 0.0]
    found = mean_score(np.array(units))
    half = 2.776 * stdev(units) / math.sqrt(5)
    assert found.value == pytest.approx(mean(units))
    assert found.low == pytest.approx(mean(units) - half, abs=1e-3)
    assert found.high == pytest.approx(min(1, mean(units) + half), abs=1e-3)
    assert found.n == 5


def test_two_matches_that_always_agree_are_worth_one():
    # 100 deals, each won twice or lost twice: 200 matches, but only 100 things were learnt.
    deals = np.repeat(np.arange(100), 2)
    results = np.repeat(np.arange(100) % 2, 2).astype(float)
    paired = mean_score(unit_means(results, deals))
    as_if_independent = mean_score(results)
    assert paired.half == pytest.approx(as_if_independent.half * math.sqrt(2), rel=0.02)


@given(unit_scores)
def test_the_interval_of_a_score_has_width_holds_the_mean_and_stays_in_range(units):
    found = mean_score(np.array(units))
    assert found.value == pytest.approx(mean(units))
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.high - found.low > 0


@given(unit_scores)
def test_the_interval_of_a_score_mirrors_when_the_players_change_places(units):
    one, other = mean_score(np.array(units)), mean_score(1 - np.array(units))
    assert one.low == pytest.approx(1 - other.high, abs=1e-9)
    assert one.high == pytest.approx(1 - other.low, abs=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_units_that_are_all_equal_get_wilsons_interval(value):
    found, expected = mean_score(np.full(40, value)), wilson(value * 40, 40)
    assert (found.low, found.high) == (expected.low, expected.high)
    assert found.half > 0.02


def test_rounding_does_not_pass_for_spread():
    found = mean_score(np.array([0.1 + 0.2, 0.3] * 20))
    assert found.half == pytest.approx(wilson(0.3 * 40, 40).half)
    assert smallest_difference(np.array([0.1 + 0.2, 0.3] * 20)) > 0.1


def test_scores_out_of_range_are_refused():
    with pytest.raises(LanistaError, match="0 to 1"):
        mean_score(np.array([0.5, 1.5]))


@pytest.mark.parametrize("true_score", [0.5, 0.7])
def test_the_interval_holds_the_true_score_nineteen_times_in_twenty(true_score):
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(1000):
        # Matches of a pair share their deal's luck.
        luck = rng.uniform(-0.25, 0.25, 40)
        wins = rng.random((40, 2)) < (true_score + luck)[:, None]
        found = mean_score(wins.mean(axis=1))
        held += found.low <= true_score <= found.high
    assert 930 <= held <= 970


def test_a_margin_has_students_interval_and_none_from_one_unit():
    found = mean_value(np.array([-3.0, 1.0, 2.0]))
    half = 4.303 * stdev([-3.0, 1.0, 2.0]) / math.sqrt(3)
    assert found.value == 0
    assert found.high == pytest.approx(half, abs=1e-3)
    alone = mean_value(np.array([4.0]))
    assert (alone.value, alone.low, alone.high, alone.half) == (4.0, None, None, None)


def test_the_smallest_difference_is_the_formula_of_its_definition():
    units = np.array([1.0, 0.5, 0.5, 1.0, 0.0])
    expected = (1.95996 + 0.84162) * stdev(units.tolist()) / math.sqrt(5)
    assert smallest_difference(units) == pytest.approx(expected, rel=1e-4)


def test_the_smallest_difference_is_noticed_four_times_in_five():
    rng = np.random.default_rng(6)
    units = rng.choice([0.0, 0.5, 1.0], size=(2000, 400), p=[0.3, 0.4, 0.3])
    difference = smallest_difference(units[0])
    noticed = 0
    for sample in units:
        # The truth is ½ here, so a value `difference` below it should be ruled out.
        found = mean_score(sample)
        noticed += not found.low <= 0.5 - difference <= found.high
    assert noticed / 2000 == pytest.approx(0.8, abs=0.05)


@given(unit_scores)
def test_the_smallest_difference_is_never_zero(units):
    assert smallest_difference(np.array(units)) > 0


def test_pairwise_results_follow_from_places():
    assert pair_scores(np.array([1, 2, 3]), np.array([2, 2, 1])).tolist() == [1.0, 0.5, 0.0]


def test_results_against_all_others_follow_from_places():
    found = against_all(np.array([[1, 2], [2, 1], [1, 1]]))
    assert found.tolist() == [[1, 0], [0, 1], [0.5, 0.5]]
    three = against_all(np.array([[1, 2, 3], [1, 1, 3], [1, 1, 1]]))
    assert three.tolist() == [[1, 0.5, 0], [0.75, 0.75, 0], [0.5, 0.5, 0.5]]


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=20))
def test_results_of_a_match_average_one_half_and_margins_zero(points):
    points = np.array(points)
    place = 1 + (points[:, None, :] > points[:, :, None]).sum(axis=2)
    assert np.allclose(against_all(place).mean(axis=1), 0.5)
    assert np.allclose(margins(points).sum(axis=1), 0)


def test_a_margin_is_own_points_less_the_mean_of_the_others():
    assert margins(np.array([[7, 3]])).tolist() == [[4, -4]]
    assert margins(np.array([[6, 3, 0]])).tolist() == [[4.5, 0, -4.5]]
