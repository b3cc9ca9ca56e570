"""Readings of the meter: what they hold, what they may be called, how sure a pool's lowest is."""

import json

import numpy as np
import pytest

from lanista.errors import LanistaError
from lanista.evaluation.meter import (
    Point,
    Reading,
    exact_reading,
    learned_reading,
    pool_reading,
    still_rising,
)
from lanista.evaluation.score import Estimate, mean_score

RISING = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
LEVEL = [0.1, 0.4, 0.6, 0.605, 0.6, 0.605]


def curve_of(values, half=0.001):
    return [Point(100 * (i + 1), v, v - half, v + half) for i, v in enumerate(values)]


def learned(values, unit="score", responses=3):
    found = Estimate(values[-1], values[-1] - 0.02, values[-1] + 0.02, 500)
    return learned_reading(
        "victim", "abc", unit, found, response="def", budget_decisions=600,
        curve=curve_of(values), responses=responses,
    )  # fmt: skip


@pytest.mark.parametrize("values", [RISING, LEVEL, [0.5]])
def test_a_reading_comes_back_from_its_json(values):
    reading = learned(values)
    assert Reading.from_json(json.loads(json.dumps(reading.to_json()))) == reading


def test_a_learned_reading_holds_the_responses_score_with_its_interval_and_games():
    reading = learned([0.6])
    assert (reading.value, reading.low, reading.high, reading.n) == (
        0.6,
        pytest.approx(0.58),
        pytest.approx(0.62),
        500,
    )
    assert (reading.against, reading.budget_decisions) == ("def", 600)


def test_what_is_no_reading_is_refused():
    with pytest.raises(LanistaError, match="no reading"):
        Reading.from_json({"curve": [], "colour": "red"})


def test_a_curve_that_still_rises_gives_a_lower_bound_and_a_level_one_a_ceiling():
    assert (learned(RISING).called, learned(RISING).lower_bound) == ("lower bound", True)
    assert (learned(LEVEL).called, learned(LEVEL).lower_bound) == ("ceiling", False)


def test_the_best_of_fewer_than_three_is_no_ceiling_however_level_its_curve():
    readings = [learned(LEVEL, responses=number) for number in (1, 2, 3)]
    assert [reading.called for reading in readings] == ["lower bound", "lower bound", "ceiling"]
    assert not any(reading.rising for reading in readings)


def test_few_points_cannot_show_that_a_curve_is_level():
    assert still_rising(curve_of([0.6] * 5), "score")
    assert not still_rising(curve_of([0.6] * 6), "score")


def test_points_that_are_not_sure_enough_cannot_show_that_a_curve_is_level():
    """Two points a third: the bound is the half width, since √(4 h²) / 2 = h."""
    assert not still_rising(curve_of([0.6] * 6, half=0.009), "score")
    assert still_rising(curve_of([0.6] * 6, half=0.011), "score")
    assert still_rising([Point(i, 0.6) for i in range(6)], "score")


def test_whether_a_gain_still_rises_does_not_depend_on_the_size_of_the_stakes():
    values = [0.1, 0.5, 0.9, 1.0, 0.97, 1.01]
    for stake in (0.01, 1, 100):
        assert still_rising(curve_of([stake * v for v in values], 0.05 * stake), "gain")
        assert not still_rising(curve_of([stake * v for v in values], 0.001 * stake), "gain")


def test_a_gain_below_zero_has_a_size_too():
    """A response may lose less and less and still lose: what counts is how much is at stake."""
    level = [-3.0, -2.0, -1.0, -1.0, -1.01, -1.0]
    assert not still_rising(curve_of(level), "gain")
    assert still_rising(curve_of([-3.0, -2.0, -1.5, -1.4, -1.2, -1.0]), "gain")


def test_a_reading_that_says_nothing_else_rests_on_one_response_and_no_matches():
    reading = Reading("learned", "victim", "abc", "gain", 0.5)
    assert reading.to_json() == {
        "instrument": "learned", "subject": "victim", "digest": "abc", "unit": "gain",
        "value": 0.5, "low": None, "high": None, "n": 0, "against": "", "budget_decisions": 0,
        "curve": [], "rising": False, "responses": 1, "lower_bound": True, "called": "lower bound",
    }  # fmt: skip
    one = learned_reading(
        "victim", "abc", "score", Estimate(0.5, 0.4, 0.6, 9), response="def",
        budget_decisions=1, curve=curve_of(LEVEL),
    )  # fmt: skip
    assert (one.responses, one.n) == (1, 9)


def test_how_level_a_curve_must_be_is_what_the_docs_say():
    """A score may still rise by 0.01, a gain by a twentieth of its largest value."""
    for unit, most, size in (("score", 0.01, 1.0), ("gain", 0.05, 2.0)):
        before = size * 0.5
        last = 0.98 * most * (1.0 if unit == "score" else before / (1 - 0.98 * most))
        assert not still_rising(curve_of([before] * 4 + [before + last] * 2, 1e-6), unit)
        assert still_rising(curve_of([before] * 4 + [before + 1.1 * last] * 2, 1e-6), unit)


def test_a_falling_curve_is_not_rising():
    assert not still_rising(curve_of(RISING[::-1]), "score")


def test_more_weakness_is_worse_whatever_the_instrument():
    strong = pool_reading("s", "1", {"a": Estimate(0.7, 0.6, 0.8, 9)})
    weak = pool_reading("w", "2", {"a": Estimate(0.3, 0.2, 0.4, 9)})
    assert weak.weaker_than(strong)
    assert not strong.weaker_than(weak)
    assert learned([0.9] * 6).weaker_than(learned([0.6] * 6))


def test_readings_of_different_instruments_are_not_compared():
    pool = pool_reading("s", "1", {"a": Estimate(0.7, 0.6, 0.8, 9)})
    with pytest.raises(LanistaError, match="cannot be compared"):
        pool.weaker_than(learned(LEVEL))
    with pytest.raises(LanistaError, match="cannot be compared"):
        learned(LEVEL).weaker_than(learned(LEVEL, "gain"))


def test_the_pools_lowest_is_the_member_with_the_lowest_score():
    scores = {"a": Estimate(0.7, 0.6, 0.8, 50), "b": Estimate(0.4, 0.3, 0.5, 60), "c": None}
    reading = pool_reading("main", "1", scores)
    assert (reading.value, reading.against, reading.n) == (0.4, "b", 60)
    assert reading.low < 0.3  # Two members were looked at, so each interval must be wider.
    assert reading.high > 0.5


def test_a_pool_of_one_has_that_members_interval():
    reading = pool_reading("main", "1", {"a": Estimate(0.4, 0.3, 0.5, 60)})
    assert (reading.low, reading.high) == pytest.approx((0.3, 0.5))


def test_a_pool_that_nobody_met_has_no_reading():
    with pytest.raises(LanistaError, match="met nobody"):
        pool_reading("main", "1", {"a": None})


def test_the_pools_interval_holds_the_true_lowest_though_the_unluckiest_was_picked():
    """Twenty members, all worth exactly ½: the lowest estimate alone is almost always too low."""
    random = np.random.default_rng(7)
    covered = naive = 0
    for _ in range(400):
        units = random.random((20, 60))
        scores = {str(i): mean_score(row) for i, row in enumerate(units)}
        reading = pool_reading("main", "1", scores)
        covered += reading.low <= 0.5 <= reading.high
        lowest = scores[reading.against]
        naive += lowest.low <= 0.5 <= lowest.high
    assert covered >= 0.93 * 400
    assert naive < 0.7 * 400


def test_uniform_play_in_kuhn_poker_has_its_known_exact_reading():
    pytest.importorskip("pyspiel")
    reading = exact_reading("kuhn", lambda _, mask: mask / mask.sum(1, keepdims=True), "u", "1")
    assert reading.value == pytest.approx(11 / 12)
    assert (reading.unit, reading.called, reading.low) == ("nash_conv", "exact", reading.value)


@pytest.mark.parametrize(
    ("reading", "other", "sure"),
    [
        (Reading("pool", "a", "", "score", 0.4, 0.3, 0.5), 0.51, True),
        (Reading("pool", "a", "", "score", 0.4, 0.3, 0.5), 0.49, False),
        (Reading("pool", "a", "", "score", 0.4), 0.9, False),
        (Reading("exact", "a", "", "nash_conv", 0.4, 0.4, 0.4), 0.39, True),
        (Reading("exact", "a", "", "nash_conv", 0.4, 0.4, 0.4), 0.41, False),
        (Reading("learned", "a", "", "score", 0.7, 0.65, 0.75), 0.64, True),
        (Reading("learned", "a", "", "score", 0.7, 0.65, 0.75), 0.66, False),
    ],
)
def test_one_is_surely_weaker_only_with_its_whole_interval(reading, other, sure):
    against = Reading(reading.instrument, "b", "", reading.unit, other)
    assert reading.surely_weaker_than(against) is sure
