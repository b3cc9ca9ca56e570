"""Marks: what a run costs by the definition in docs/guides/tune.md, and what is refused."""

from __future__ import annotations

import re

import pytest

from lanista.errors import LanistaError
from lanista.pipeline.timed_run import refuse_too_few_matches
from lanista.runs.marks import Look, Mark, outcome_of, parse_mark

NASH = Mark("nash_conv", "", 0.1)
SCORE = Mark("score", "kiter", 0.6)


def looks(*pairs: tuple[float, float]) -> list[Look]:
    return [Look(seconds, value) for seconds, value in pairs]


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("nash_conv<=0.05", Mark("nash_conv", "", 0.05)),
        (" nash_conv <= 5e-2 ", Mark("nash_conv", "", 0.05)),
        ("score:kiter>=0.6", Mark("score", "kiter", 0.6)),
        ("score >= .9", Mark("score", "", 0.9)),
        ("score:bots/my bot.py:Bot>=0.5", Mark("score", "bots/my bot.py:Bot", 0.5)),
    ],
)
def test_a_mark_is_read_and_written_alike(text: str, mark: Mark) -> None:
    assert parse_mark(text) == mark
    assert parse_mark(str(mark)) == mark


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0.05", "write it as nash_conv<=0.05"),
        ("winrate>=0.5", "write it as nash_conv<=0.05"),
        ("score>=half", "'half' is no number"),
        ("nash_conv>=0.05", "NashConv falls"),
        ("nash_conv:random<=0.05", "NashConv falls"),
        ("nash_conv<=0", "only at an equilibrium"),
        ("nash_conv<=nan", "only at an equilibrium"),
        ("score:random<=0.5", "scores rise"),
        ("score:random>=1", "between 0 and 1"),
        ("score:random>=0", "between 0 and 1"),
    ],
)
def test_a_mark_that_nobody_can_reach_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(LanistaError, match=sentence) as caught:
        parse_mark(text)
    assert str(caught.value).startswith(f"--mark is {text!r}")


def test_a_run_that_arrives_costs_its_cpu_seconds_to_the_first_look_at_the_mark() -> None:
    outcome = outcome_of(looks((1, 0.5), (2, 0.1), (3, 0.4), (4, 0.05)), NASH, 10, 0.9)
    assert (outcome.seconds, outcome.cost, outcome.best) == (2, 2, 0.1)


def test_a_run_that_does_not_arrive_costs_its_budget_and_the_share_of_the_way_left() -> None:
    # From 0.9, uniform play, to the mark 0.1 the way is 0.8; at 0.3 a quarter of it is left.
    outcome = outcome_of(looks((1, 0.5), (2, 0.3), (3, 0.7)), NASH, 10, 0.9)
    assert outcome.seconds is None
    assert outcome.cost == pytest.approx(10 * 1.25)
    # Of a score the way is from 0: at a lower bound of 0.45 a quarter of 0.6 is left.
    assert outcome_of(looks((1, 0.45)), SCORE, 10, 0.0).cost == pytest.approx(10 * 1.25)


def test_what_is_worse_than_untrained_or_not_measured_costs_twice_the_budget() -> None:
    assert outcome_of(looks((1, 2.0)), NASH, 10, 0.9).cost == 20
    assert outcome_of([], NASH, 10, 0.9).cost == 20


def test_looks_beyond_the_budget_do_not_count() -> None:
    outcome = outcome_of(looks((9, 0.5), (10.5, 0.05)), NASH, 10, 0.9)
    assert outcome.seconds is None
    assert outcome.best == 0.5
    assert outcome_of(looks((10, 0.1)), NASH, 10, 0.9).cost == 10


def test_whoever_arrives_costs_less_than_whoever_does_not() -> None:
    late = outcome_of(looks((10, 0.1)), NASH, 10, 0.9)
    near = outcome_of(looks((1, 0.1001)), NASH, 10, 0.9)
    assert late.cost < near.cost


def test_a_score_is_the_lower_bound_and_over_bots_their_mean() -> None:
    numbers = {"score/a": 0.9, "score_low/a": 0.8, "score/b": 0.7, "score_low/b": 0.5}
    assert Mark("score", "a", 0.5).value(numbers, ["a", "b"]) == 0.8
    assert Mark("score", "", 0.5).value(numbers, ["a", "b"]) == pytest.approx(0.65)
    assert Mark("score", "c", 0.5).value(numbers, ["a", "b"]) is None
    assert NASH.value({"exact/nash_conv": 0.2}, []) == 0.2


def test_a_score_that_not_even_a_perfect_policy_would_show_is_refused() -> None:
    # Wilson's lower bound of n wins in n deals is n / (n + z²).
    z = 1.959963984540054
    highest = 10 / (10 + z * z)
    refuse_too_few_matches(Mark("score", "a", highest - 1e-6), matches=20, seats=2)
    shown = re.escape(f"{highest:.3f}")
    with pytest.raises(LanistaError, match=rf"evaluation.matches 20 .* is {shown}"):
        refuse_too_few_matches(Mark("score", "a", highest + 1e-6), matches=20, seats=2)
