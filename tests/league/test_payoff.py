"""The payoff against a slow twin: a list of all games, weighed one by one from the formula."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.evaluation.score import Z
from lanista.league.payoff import Outcome, Payoff, fold, outcome_of
from lanista.rollout.outcome_counts import pair_results

unhurried = settings(deadline=None)
NAMES = ["main", "main/000010", "random", "exploiter"]
counts = st.tuples(st.integers(0, 20), st.integers(0, 5), st.integers(0, 20))


@st.composite
def outcomes(draw, seats=(2, 3, 4)):
    size = draw(st.sampled_from(seats))
    names = tuple(draw(st.sampled_from(NAMES)) for _ in range(size))
    return Outcome(names, tuple(draw(counts) for _ in range(size * (size - 1) // 2)))


histories = st.lists(outcomes(), max_size=12)
half_lives = st.sampled_from([1.0, 7.5, 100.0, math.inf])


def twin_counts(history, a, b, half_life):
    """Return a's decayed results before b: each batch weighs 0.5^(later games of the two / h)."""
    batches = [
        (x, y, new)
        for outcome in history
        for (x, y), new in zip(combinations(outcome.names, 2), outcome.pairs, strict=True)
        if {x, y} == {a, b}
    ]
    total = np.zeros(3)
    for number, (x, _, new) in enumerate(batches):
        later = sum(sum(each) for _, _, each in batches[number + 1 :])
        if x == a:
            total += np.array(new) * 0.5 ** (later / half_life)
    return total


@unhurried
@given(histories, half_lives)
def test_counts_are_those_of_the_formula(history, half_life):
    payoff = fold(history, half_life)
    for a in NAMES:
        for b in NAMES:
            expected = twin_counts(history, a, b, half_life)
            assert payoff.counts(a, b) == pytest.approx(expected, rel=1e-9, abs=1e-12)
            if a != b:
                other = twin_counts(history, b, a, half_life)[::-1]
                assert payoff.both_seats(a, b) == pytest.approx(expected + other, abs=1e-9)
                assert payoff.games(a, b) == pytest.approx(sum(expected + other), abs=1e-9)


@unhurried
@given(histories, half_lives)
def test_a_rebuild_gives_the_same_payoff_bit_for_bit(history, half_life):
    grown = Payoff(half_life)
    for number, outcome in enumerate(history):
        grown.add(outcome)
        rebuilt = fold(history[: number + 1], half_life)
        assert rebuilt.table == grown.table
        assert rebuilt.names == grown.names


@unhurried
@given(histories, half_lives, st.sampled_from([0.0, 1.0, 2.0, 30.0]))
def test_rates_are_smoothed_scores_and_two_sides_sum_to_one(history, half_life, smoothing):
    payoff = fold(history, half_life)
    for a, b in combinations(NAMES, 2):
        wins, draws, losses = payoff.both_seats(a, b)
        games = wins + draws + losses
        rate = payoff.rate(a, b, smoothing)
        assert 0 <= rate <= 1
        assert rate + payoff.rate(b, a, smoothing) == pytest.approx(1)
        if games + smoothing:
            expected = (wins + draws / 2 + smoothing / 2) / (games + smoothing)
            assert rate == pytest.approx(expected)
        else:
            assert rate == 0.5


def test_ten_games_at_a_half_life_of_ten_halve_what_was_there():
    first, second = Outcome(("a", "b"), ((8, 0, 4),)), Outcome(("b", "a"), ((10, 0, 0),))
    payoff = fold([first, second], 10)
    assert payoff.counts("a", "b") == (4.0, 0.0, 2.0)
    assert payoff.counts("b", "a") == (10.0, 0.0, 0.0)
    assert payoff.both_seats("a", "b") == (4.0, 0.0, 12.0)
    assert payoff.rate("a", "b", 0) == 0.25


def test_games_of_others_make_nobody_forget():
    payoff = fold([Outcome(("a", "b"), ((5, 0, 5),)), Outcome(("a", "c"), ((500, 0, 0),))], 10)
    assert payoff.counts("a", "b") == (5.0, 0.0, 5.0)


@pytest.mark.parametrize("half_life", [0, math.inf])
def test_without_a_half_life_nothing_is_forgotten(half_life):
    payoff = fold([Outcome(("a", "b"), ((1, 2, 3),))] * 1000, half_life)
    assert payoff.counts("a", "b") == (1000.0, 2000.0, 3000.0)


def test_what_is_unknown_is_one_half_and_has_no_interval():
    payoff = Payoff()
    assert payoff.rate("a", "b") == 0.5
    assert payoff.rate("a", "b", smoothing=0) == 0.5
    assert payoff.games("a", "b") == 0
    assert payoff.interval("a", "b") is None
    assert payoff.first_seat() is None
    assert payoff.names == ()


def test_games_against_oneself_say_nothing_but_what_a_seat_is_worth():
    payoff = fold([Outcome(("a", "a"), ((30, 0, 10),)), Outcome(("a", "b"), ((1, 0, 3),))])
    assert payoff.rate("a", "a") == 0.5
    assert payoff.interval("a", "a") is None
    assert payoff.games("a", "a") == 40
    assert payoff.rate("a", "b", 0) == 0.25
    assert payoff.pooled_rate("a", ["a", "b"], 0) == 0.25
    assert payoff.first_seat("a").value == 0.75
    assert payoff.first_seat().value == pytest.approx(31 / 44)
    assert payoff.first_seat("a", "b").n == 44


def test_first_seat_scores_do_not_depend_on_who_sat_there():
    payoff = fold([Outcome(("a", "b"), ((3, 0, 1),)), Outcome(("b", "a"), ((1, 0, 3),))])
    assert payoff.first_seat().value == 0.5
    assert payoff.rate("a", "b", 0) == 0.75


def test_three_seats_enter_as_pairwise_results_of_their_places():
    payoff = fold([outcome_of(("a", "b", "c"), (2, 1, 2))])
    assert payoff.counts("a", "b") == (0, 0, 1)
    assert payoff.counts("a", "c") == (0, 1, 0)
    assert payoff.counts("b", "c") == (1, 0, 0)
    assert payoff.rate("b", "a", 0) == 1.0
    assert payoff.names == ("a", "b", "c")


def test_a_name_in_two_of_three_seats_meets_the_third_twice():
    payoff = fold([outcome_of(("a", "b", "a"), (1, 2, 3))])
    assert payoff.counts("a", "b") == (1, 0, 0)
    assert payoff.counts("b", "a") == (1, 0, 0)
    assert payoff.both_seats("a", "b") == (1, 0, 1)
    assert payoff.rate("a", "b", 0) == 0.5


@unhurried
@given(st.lists(st.integers(1, 4), min_size=2, max_size=5))
def test_pairs_of_seats_come_in_the_order_in_which_training_games_have_them(places):
    names = [f"seat {i}" for i in range(len(places))]
    assert outcome_of(names, places).pairs == pair_results(np.array([places], np.int32))


@unhurried
@given(outcomes((2,)).filter(lambda one: one.names[0] != one.names[1] and sum(one.pairs[0])))
def test_intervals_are_wilsons_and_hold_the_score(outcome):
    a, b = outcome.names
    ((wins, draws, losses),) = outcome.pairs
    found, n = fold([outcome]).interval(a, b), wins + draws + losses
    assert found.n == n
    assert found.value == pytest.approx((wins + draws / 2) / n)
    for bound in (found.low, found.high):
        if 0 < bound < 1:
            error = Z * math.sqrt(bound * (1 - bound) / n)
            assert abs(found.value - bound) == pytest.approx(error, rel=1e-6, abs=1e-9)


def test_decay_widens_intervals_to_the_games_that_still_count():
    history = [Outcome(("a", "b"), ((60, 0, 40),))] * 50
    lasting, fading = (fold(history, h).interval("a", "b") for h in (math.inf, 100))
    assert lasting.n == 5000
    # 100 (1 + 1/2 + 1/4 + ...), all but the last bits of it.
    assert fading.n == 199
    assert fading.half > 4 * lasting.half
    assert fading.value == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        (("a",), ()),
        (("a", "b"), ()),
        (("a", "b", "c"), ((1, 0, 0),)),
        (("a", "b"), ((1, 0),)),
        (("a", "b"), ((1, -1, 0),)),
    ],
)
def test_outcomes_that_do_not_fit_their_seats_are_refused(names, pairs):
    with pytest.raises(LanistaError, match="An outcome"):
        Outcome(names, pairs)


def test_places_of_another_number_of_players_are_refused():
    with pytest.raises(LanistaError, match="2 players has 3 places"):
        outcome_of(("a", "b"), (1, 2, 3))


@pytest.mark.parametrize("half_life", [-1.0, math.nan])
def test_a_half_life_below_zero_is_refused(half_life):
    with pytest.raises(LanistaError, match="half-life"):
        Payoff(half_life)


def test_who_is_no_longer_who_it_was_has_no_games_and_others_keep_theirs():
    payoff = Payoff()
    for names in (("a", "b"), ("b", "a"), ("b", "c")):
        payoff.add(Outcome(names, ((5, 1, 2),)))
    payoff.forget("a")
    assert payoff.games("a", "b") == 0
    assert payoff.interval("a", "b") is None
    assert payoff.counts("b", "c") == (5, 1, 2)
    payoff.add(Outcome(("a", "b"), ((1, 0, 0),)))
    assert payoff.counts("a", "b") == (1, 0, 0)


def test_whoever_changes_a_table_that_was_given_out_does_not_change_the_payoff():
    payoff = Payoff()
    payoff.add(Outcome(("a", "b"), ((3, 0, 1),)))
    payoff.table[("a", "b")] = (0.0, 0.0, 9.0)
    assert payoff.table[("a", "b")] == (3, 0, 1)


def test_a_rate_is_smoothed_by_two_games_where_nobody_says_otherwise():
    payoff = Payoff()
    payoff.add(Outcome(("a", "b"), ((3, 0, 0),)))
    assert payoff.rate("a", "b") == payoff.pooled_rate("a", ["b"]) == 4 / 5


def test_counts_of_the_preferred_payoff_take_the_place_of_both_seat_orders():
    games = fold([Outcome(("a", "b"), ((9, 0, 1),)), Outcome(("b", "a"), ((1, 0, 9),)),
                  Outcome(("a", "c"), ((2, 0, 2),))])  # fmt: skip
    both = games.preferring(fold([Outcome(("b", "a"), ((6, 0, 4),))]))
    assert both.both_seats("a", "b") == (4, 0, 6)
    assert both.both_seats("a", "c") == (2, 0, 2)
    assert games.both_seats("a", "b") == (18, 0, 2)
