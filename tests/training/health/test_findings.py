"""Where findings begin and end: bounds, intervals, and what only looks like a fault."""

import pytest

from lanista.runs.schema import TrainingGamesRow
from lanista.training.health.numbers import LearnerNumbers
from lanista.training.health.opponents import one_sided, results_all_alike
from lanista.training.health.optimisation import critic_explains_nothing, kl_too_large
from lanista.training.health.strength import (
    below_random,
    fell_from_peak,
    nash_conv_rose,
    not_above_random,
    score_fell,
)
from lanista.training.health.watch import Watch


def numbers(games=(), **series):
    """Return numbers from lists of values, an update each; `__` stands for a slash."""
    return LearnerNumbers(
        "main",
        {name.replace("__", "/"): tuple(enumerate(some, 1)) for name, some in series.items()},
        games,
    )


def scores(half, **by_bot):
    """Return evaluations with intervals of ±`half`."""
    series = {}
    for bot, values in by_bot.items():
        series[f"score__{bot}"] = values
        series[f"score_low__{bot}"] = [value - half for value in values]
        series[f"score_high__{bot}"] = [value + half for value in values]
    return series


def test_a_score_falls_when_the_interval_of_the_difference_excludes_the_start():
    assert score_fell(numbers(**scores(0.03, rusher=[0.5, 0.4]))) is not None
    assert score_fell(numbers(**scores(0.08, rusher=[0.5, 0.4]))) is None
    assert score_fell(numbers(**scores(0.001, rusher=[0.5, 0.46]))) is None  # It does not matter.
    assert score_fell(numbers(**scores(0.03, rusher=[0.5]))) is None
    # Twenty looks at the same two bots would find a difference by chance.
    many = [0.5] * 20
    assert score_fell(numbers(**scores(0.04, rusher=[0.5, 0.41]))) is not None
    assert score_fell(numbers(**scores(0.04, rusher=[*many, 0.41]))) is None


def test_a_fall_against_one_bot_alone_is_only_a_doubt():
    finding = score_fell(numbers(**scores(0.03, rusher=[0.5, 0.3], kiter=[0.3, 0.6])))
    assert (finding.gravity, finding.evidence["opponent"]) == ("doubt", "rusher")
    both = score_fell(numbers(**scores(0.03, rusher=[0.5, 0.3], kiter=[0.3, 0.1])))
    assert (both.gravity, both.evidence["opponent"]) == ("spoils", "")


def test_the_width_of_the_mean_is_the_mean_of_the_widths():
    """Opponents share their deals, so that their luck does not cancel out."""
    series = scores(0.02, rusher=[0.51, 0.4]) | scores(0.12, kiter=[0.51, 0.4])
    # ±0.07 each: 1.22 (three looks) · √2 · 0.07 = 0.12 is more than the fall of 0.11.
    finding = score_fell(numbers(**series))
    assert (finding.gravity, finding.evidence["opponent"]) == ("doubt", "rusher")
    narrow = scores(0.02, rusher=[0.5, 0.4]) | scores(0.08, kiter=[0.5, 0.4])
    whole = score_fell(numbers(**narrow))
    assert (whole.gravity, whole.evidence["opponent"]) == ("spoils", "")
    assert "0.500 [0.450, 0.550]" in whole.sentence
    assert "0.400 [0.350, 0.450]" in whole.sentence


@pytest.mark.parametrize(
    ("values", "falls"),
    [
        ([0.3, 0.5, 0.9, 0.6, 0.55], True),
        ([0.3, 0.9, 0.85, 0.82, 0.84], False),  # By less than a tenth.
        ([0.3, 0.5, 0.9, 0.5, 0.85], False),  # It came back.
        ([0.3, 0.5, 0.6, 0.9, 0.5], False),  # Once is not yet for good.
        ([0.9, 0.5, 0.5, 0.5, 0.5], False),  # It never rose: score_fell says that.
        ([0.9, 0.5, 0.5], False),
    ],
)
def test_a_score_fell_from_its_peak_when_it_rose_and_stays_far_below(values, falls):
    finding = fell_from_peak(numbers(**scores(0.03, rusher=values)))
    assert (finding is not None) == falls
    if falls:
        assert "rose to 0.900 [0.870, 0.930] at update 3, and fell to 0.550" in finding.sentence


def test_a_peak_of_many_evaluations_must_stand_out_of_their_luck():
    """95 % intervals of ±0.1: √2 · 0.1 · the stretch of ten pairs, 1.43, is 0.20."""
    assert fell_from_peak(numbers(**scores(0.1, rusher=[0.3, 0.5, 0.7, 0.48, 0.48]))) is not None
    assert fell_from_peak(numbers(**scores(0.1, rusher=[0.3, 0.5, 0.7, 0.52, 0.52]))) is None


def test_a_peak_counts_where_returns_fell_too_and_nashconv_is_unknown():
    values = scores(0.03, rusher=[0.3, 0.5, 0.9, 0.6, 0.55])
    less, more = [0.0, 0.1, 0.5, 0.3, 0.2], [0.0, 0.1, 0.5, 0.7, 0.8]
    assert fell_from_peak(numbers(**values, evaluation_return__rusher=less)) is not None
    assert fell_from_peak(numbers(**values, evaluation_return__rusher=more)) is None
    assert fell_from_peak(numbers(**values, exact__nash_conv=[0.5] * 5)) is None


def test_a_run_that_goes_on_knows_how_long_its_matches_are():
    """A critic that explains nothing is a fault in matches of many decisions alone."""
    for decisions, name in ((1000.0, ["critic_explains_nothing"]), (80.0, [])):
        watch = Watch(["main"])
        watch.played([game_row(1, "wall", won=True)])
        for update in range(1, 61):
            explained = {
                "value/explained_variance": -0.01,
                "policy/weight": 1.0,
                "value/weight": 0.5,
            }
            watch.add(
                update, {**explained, "decisions": decisions * update, "matches": 10.0 * update}
            )
        assert [finding.name for _, finding in watch.news()] == name


def test_who_wins_fewer_matches_and_more_in_each_did_not_fall():
    fewer = scores(0.03, random=[0.5, 0.3])
    assert score_fell(numbers(**fewer)) is not None
    assert score_fell(numbers(**fewer, evaluation_return__random=[0.1, 0.4])) is None
    assert below_random(numbers(**fewer)) is not None
    assert below_random(numbers(**fewer, evaluation_return__random=[0.1, 0.4])) is None
    assert below_random(numbers(**fewer, exact__nash_conv=[0.5, 0.1])) is None


FLAT = [0.49, 0.51, 0.5, 0.52, 0.49, 0.51, 0.51, 0.5]
"""Battleship of OpenSpiel on 4x4 squares, whose doctor had nothing to say."""


def test_a_run_that_learned_nothing_is_found():
    finding = not_above_random(numbers(**scores(0.03, random=FLAT)))
    assert finding.name == "not_above_random"
    assert "0.5" in finding.sentence
    assert not_above_random(numbers(**scores(0.03, random=FLAT[:5]))) is None  # Too early to say.
    assert not_above_random(numbers(**scores(0.03, heuristic=FLAT))) is None
    rising = [0.49, 0.5, 0.52, 0.55, 0.55, 0.56]
    assert not_above_random(numbers(**scores(0.03, random=rising))) is None
    assert not_above_random(numbers(**scores(0.03, random=[0.4] * 8))) is None  # Below it.
    assert not_above_random(numbers(**scores(0.03, random=FLAT), exact__nash_conv=[1] * 8)) is None


def test_who_is_paid_more_and_more_is_learning_whoever_wins():
    paid = [-0.1, 0.1, 0.0, 0.1, 0.9, 1.0, 1.1, 1.0]
    flat = scores(0.03, random=FLAT)
    assert not_above_random(numbers(**flat, evaluation_return__random=paid)) is None
    noise = [0.1, -0.1, 0.05, -0.05, 0.1, -0.1, 0.05, 0.0]
    assert not_above_random(numbers(**flat, evaluation_return__random=noise)) is not None


def test_seats_that_win_together_always_draw_and_are_not_all_alike():
    def games(paid):
        row = {"learner": "main", "seating": ("main", "main"), "reason": "self",
               "digests": ("a", "a"), "matches": 100, "pairs": ((0, 100, 0),)}  # fmt: skip
        return [
            TrainingGamesRow(
                at, **row, returns=(one, one), first_match=0, last_match=99, first_update=at
            )
            for at, one in enumerate(paid)
        ]

    assert results_all_alike(numbers(games([0.0] * 8))) is not None
    assert results_all_alike(numbers(games([10.0, 12.0, 15.0, 19.0, 30.0, 41.0]))) is None


@pytest.mark.parametrize(
    ("values", "rises"),
    [
        ([0.5, 0.2, 0.5, 0.6], True),
        ([0.5, 0.2, 0.6, 0.3], False),  # The phase of a cycle.
        ([0.5, 0.2, 0.35, 0.39], False),  # Not twice as much.
        ([0.03, 0.01, 0.05, 0.06], False),  # Of next to nothing.
        ([0.9, 1.3], True),  # More than uniform play's.
        ([0.9, 1.0], False),
    ],
)
def test_nash_conv_rises_when_it_leaves_its_minimum_twice_or_passes_uniform_play(values, rises):
    finding = nash_conv_rose(
        numbers(exact__nash_conv=values, uniform__nash_conv=[1.0] * len(values))
    )
    assert (finding is not None) == rises


def test_the_bound_of_the_kl_is_wider_for_stale_experience_and_more_heads():
    kl = [0.01] * 50 + [0.5] * 10
    assert kl_too_large(numbers(policy__behaviour_kl=kl)) is not None
    assert kl_too_large(numbers(policy__behaviour_kl=kl, lag__mean=[3.0] * 60)) is None
    heads = {f"policy__entropy__{head}": [1.0] * 60 for head in range(3)}
    assert kl_too_large(numbers(policy__behaviour_kl=kl, **heads)) is None
    once = [0.01] * 59 + [9.0]
    assert kl_too_large(numbers(policy__behaviour_kl=once)) is None


def game_row(update, opponent, won, paid=1.0):
    """Return ten matches, all won or all lost."""
    total = 10.0 * (paid if won else -paid)
    return TrainingGamesRow(
        update, "main", ("main", opponent), "bot", ("a", "b"), 10,
        ((10, 0, 0) if won else (0, 0, 10),), (total, -total), 0, 1, update,
    )  # fmt: skip


def test_a_critic_that_explains_nothing_is_a_fault_only_where_it_could():
    blind = [-0.01] * 60
    short = {"decisions": [120 * n for n in range(60)], "matches": [60 * n for n in range(60)]}
    long = {**short, "decisions": [1200 * n for n in range(60)]}
    games = [game_row(1, "rusher", True)]
    explained = {"value__explained_variance": blind}
    assert critic_explains_nothing(numbers(games, **explained, **short)) is None
    assert critic_explains_nothing(numbers(games, **explained, **long)).gravity == "doubt"
    worse = {"value__explained_variance": [-0.5] * 60}
    assert critic_explains_nothing(numbers(games, **worse, **short)).gravity == "spoils"
    unvaried = {"value__explained_variance": [0.0] * 60}
    assert critic_explains_nothing(numbers(games, **unvaried, **long)) is None
    early = {"value__explained_variance": [-0.5] * 40}
    assert critic_explains_nothing(numbers(games, **early)) is None


def test_opponents_that_pay_by_the_margin_still_teach_something():
    alike = [game_row(update, "wall", won=False) for update in range(30)]
    assert [finding.name for finding in one_sided(numbers(alike))] == ["never_beaten"]
    margins = [game_row(update, "wall", won=False, paid=1 + update % 3) for update in range(30)]
    assert one_sided(numbers(margins)) == []
    few = [game_row(update, "wall", won=True) for update in range(15)]
    assert one_sided(numbers(few)) == []
