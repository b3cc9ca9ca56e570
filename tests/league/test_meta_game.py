"""The pool as a matrix game: its entries, what is unknown, and the opponents that follow."""

import math

import numpy as np
import pytest

from lanista.league.matchmaking import Candidate, meetings
from lanista.league.meta_game import META_STRATEGY, meta_game
from lanista.league.payoff import Outcome, Payoff, fold
from lanista.league.roster import outcomes
from lanista.runs.league_settings import Matchmaking
from lanista.runs.schema import LineupRow, MatchRow

NAMES = ["a", "b", "c"]
CIRCLE = {("a", "b"): 1.5, ("b", "c"): 0.5, ("c", "a"): 0.5}
"""What the first gains per match from the second."""
GAIN = Matchmaking("psro", matrix_unit="gain", self_share=0.5, floor=0.0)
POOL = [Candidate("main", "self"), *(Candidate(name, "past") for name in NAMES)]


def gained(first, second, gain, matches=400):
    """Return an outcome in which the first gains so much per match, give or take 1."""
    won, lost = gain + 1, gain - 1
    half = matches // 2
    squares = half * won**2 + half * lost**2
    wins = half if lost <= 0 else matches
    return Outcome(
        (first, second), ((wins, 0, matches - wins),), (matches, matches * gain, squares)
    )


def circle(**how):
    return fold([gained(a, b, gain, **how) for (a, b), gain in CIRCLE.items()])


def test_the_matrix_holds_what_each_gains_and_the_other_loses():
    game = meta_game(GAIN, NAMES, circle())
    assert game.gain == pytest.approx(np.array([[0, 1.5, -0.5], [-1.5, 0, 0.5], [0.5, -0.5, 0]]))
    assert game.unknown == 0


def test_the_mixture_is_the_equilibrium_of_the_matrix():
    assert meta_game(GAIN, NAMES, circle()).mixture() == pytest.approx([0.2, 0.2, 0.6])


def test_opponents_are_drawn_by_self_play_and_the_equilibrium():
    chosen = meetings(GAIN, "main", POOL, circle(), {})
    assert {(one.opponent, one.reason): one.weight for one in chosen} == pytest.approx(
        {
            ("main", "self_play"): 0.5,
            ("a", META_STRATEGY): 0.1,
            ("b", META_STRATEGY): 0.1,
            ("c", META_STRATEGY): 0.3,
        }
    )


def test_nobody_falls_below_the_floor():
    payoff = fold([gained("a", "b", 2.0), gained("a", "c", 2.0), gained("b", "c", 0.0)])
    settings = Matchmaking("psro", matrix_unit="gain", self_share=0.0, floor=0.1)
    weights = {one.opponent: one.weight for one in meetings(settings, "main", POOL, payoff, {})}
    assert weights == pytest.approx({"a": 0.8, "b": 0.1, "c": 0.1})


def test_without_anybody_frozen_all_is_self_play():
    chosen = meetings(GAIN, "main", POOL[:1], Payoff(), {})
    assert [(one.opponent, one.weight) for one in chosen] == [("main", 1.0)]


def test_pairs_that_hardly_met_count_as_equals_and_are_told():
    payoff = fold([gained("a", "b", 1.5), gained("b", "c", 0.5), gained("c", "a", 0.5, matches=8)])
    game = meta_game(GAIN, NAMES, payoff)
    assert game.unknown == pytest.approx(1 / 3)
    assert (game.gain[0, 2], game.gain[2, 0]) == (0, 0)
    # Nothing is known of it, so it may be as large as the largest gain there is.
    assert game.margin[0, 2] == 1.5
    assert game.margin[0, 1] < 0.2


def test_with_scores_an_entry_is_twice_the_score_less_one():
    payoff = fold([Outcome(("a", "b"), ((30, 20, 10),)), Outcome(("b", "a"), ((10, 0, 30),))])
    settings = Matchmaking("psro", smoothing=0.0)
    assert meta_game(settings, ["a", "b"], payoff).gain[0, 1] == pytest.approx(2 * 0.70 - 1)


def test_what_one_may_gain_from_a_mixture_goes_by_upper_ends():
    game = meta_game(GAIN, NAMES, circle())
    shares = np.array([1.0, 0.0, 0.0])
    # c gains 0.5 from a; 400 matches of ±1 about the mean have a margin of 1.96/√399.
    assert game.most_gained(shares) == pytest.approx(0.5 + 1.96 / math.sqrt(399), abs=1e-3)


def test_gains_of_both_seat_orders_count_and_fade_with_games():
    payoff = fold([gained("a", "b", 2.0, matches=100), gained("b", "a", 1.0, matches=100)], 100.0)
    # The older hundred counts half: (50 · 2 - 100 · 1) / 150.
    gain = payoff.gain("a", "b")
    assert gain is not None
    assert gain.value == pytest.approx(0)
    assert gain.n == 150
    assert payoff.gain("b", "a").value == pytest.approx(0)


def test_training_games_do_not_tell_what_was_gained():
    payoff = fold([Outcome(("a", "b"), ((30, 0, 10),))])
    assert payoff.gain("a", "b") is None
    assert payoff.gain("a", "a") is None


def test_who_is_forgotten_has_no_gains():
    payoff = circle()
    payoff.forget("a")
    assert payoff.gain("a", "b") is None
    assert payoff.gain("b", "c").value == pytest.approx(0.5)


def test_matches_of_fixed_players_say_what_was_gained():
    lineup = LineupRow(1, 10, "meta_game", ("a", "b"), ("x", "y"), 0, 1, 1)
    matches = [
        MatchRow(1, 10, 10, 0, (3.0, -3.0), (1, 2), False),
        MatchRow(1, 11, 10, 1, (-1.0, 1.0), (2, 1), False),
        MatchRow(1, 12, 10, 2, (9.0, -9.0), (1, 2), True),
    ]
    (outcome,) = outcomes([], [lineup], matches)
    assert outcome.gains == (2.0, 2.0, 10.0)
