"""Confirmation: the exact rank test from its definition, and what is said of it."""

from __future__ import annotations

from math import comb

import pytest

from lanista.runs.marks import Outcome
from lanista.runs.settings import RunSettings
from lanista.tuning.confirm import Arm, beats, rank_test, verdict
from lanista.tuning.plan import Plan

PLAN = Plan("kuhn-ppo", RunSettings(game="kuhn"), "nash_conv<=0.05", {"learning.lr": "log:1..2"})


def arm(*costs: float, budget: float = 60.0) -> Arm:
    outcomes = [Outcome(cost if cost <= budget else None, None, cost) for cost in costs]
    return Arm("arm", tuple(range(len(costs))), tuple(outcomes))


@pytest.mark.parametrize("n", [3, 4, 5])
def test_all_of_one_before_all_of_the_other_is_one_way_among_all(n: int) -> None:
    first, second = [1.0 + i for i in range(n)], [10.0 + i for i in range(n)]
    assert rank_test(first, second) == pytest.approx(1 / comb(2 * n, n))
    assert rank_test(second, first) == 1.0


def test_one_swap_doubles_the_chance() -> None:
    # Rank sums of three among six: 6 in one way, 7 in one; 1, 2 and 4 have 7.
    assert rank_test([1, 2, 4], [3, 5, 6]) == pytest.approx(2 / 20)


def test_equal_costs_say_nothing() -> None:
    assert rank_test([2, 2, 2], [2, 2, 2]) == 1.0


def test_the_winner_beats_the_defaults_only_if_it_arrives_and_luck_is_unlikely() -> None:
    assert beats(arm(1, 2, 3), arm(4, 5, 6))
    assert not beats(arm(1, 2, 5), arm(4, 6, 7))
    # Nearer to a mark that neither reaches is no win.
    assert not beats(arm(61, 62, 63), arm(70, 71, 72))
    assert beats(arm(1, 2, 3), arm(70, 71, 72))


def test_the_sentence_says_what_came_of_it() -> None:
    yes = verdict(PLAN, arm(2, 3, 4), arm(6, 9, 12))
    assert yes.startswith("Yes: the winner beats the defaults: to nash_conv<=0.05 it takes 3 CPU s")
    assert "the defaults 9 " in yes
    assert "3 times as fast (p = 0.05)" in yes
    assert "at least 20 times as fast" in verdict(PLAN, arm(2, 3, 4), arm(70, 71, 72))
    no = verdict(PLAN, arm(2, 9, 4), arm(6, 9, 12))
    assert no.startswith("No: the winner does not significantly beat the defaults")
    assert "keep the defaults" in no
    assert "neither" in verdict(PLAN, arm(61, 62, 63), arm(70, 71, 72))
    assert "recipe's own were the fastest" in verdict(PLAN, None, arm(1, 2, 3))
    nobody = verdict(PLAN, None, arm(61, 62, 63))
    assert "came nearest" in nobody
    assert "--budget" in nobody


def test_an_interval_is_that_of_the_median_over_seeds() -> None:
    low, high, coverage = arm(3, 1, 2).interval
    assert (low, high) == (1, 3)
    assert coverage == pytest.approx(1 - 2 / 2**3)
