import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.evaluation import ratings
from lanista.evaluation.ratings import (
    ELO_POINTS,
    PairCount,
    Unexplained,
    bradley_terry,
    circles,
    elo,
    in_any_order,
    mean_elo,
    openskill,
    pairwise,
    unexplained,
)


def expected(a, b):
    """The Elo scale's own formula."""
    return 1 / (1 + 10 ** ((b - a) / 400))


def exact_pairs(ratings, games):
    """Results that are exactly what the ratings say."""
    pairs = []
    for a, b in combinations(ratings, 2):
        wins = games * expected(ratings[a], ratings[b])
        pairs.append(PairCount(a, b, wins, 0, games - wins))
    return pairs


def drawn_pairs(ratings, games, rng, draw_share=0.0):
    """Results drawn from the ratings: a draw half of the time comes from either side's wins."""
    pairs = []
    for a, b in combinations(ratings, 2):
        p = expected(ratings[a], ratings[b])
        d = draw_share * 2 * min(p, 1 - p)
        wins, draws, losses = rng.multinomial(games, [p - d / 2, d, 1 - p - d / 2])
        pairs.append(PairCount(a, b, int(wins), int(draws), int(losses)))
    return pairs


def rock_paper_scissors(games):
    return [
        PairCount("rock", "scissors", games, 0, 0),
        PairCount("scissors", "paper", games, 0, 0),
        PairCount("paper", "rock", games, 0, 0),
    ]


def by_name(fit):
    return {rating.name: rating for rating in fit.ratings}


strengths = st.lists(st.floats(-300, 300), min_size=2, max_size=7)


def test_places_of_three_seats_are_three_pairwise_results():
    assert list(pairwise(("a", "b", "c"), (2, 1, 2))) == [
        ("a", "b", 0.0),
        ("a", "c", 0.5),
        ("b", "c", 1.0),
    ]


def test_a_player_has_no_result_against_itself():
    assert list(pairwise(("a", "b", "b"), (1, 2, 3))) == [("a", "b", 1.0), ("a", "b", 1.0)]


@pytest.mark.parametrize(("names", "places"), [(("a",), (1,)), (("a", "b"), (1,)), ((), ())])
def test_matches_without_pairwise_results_are_refused(names, places):
    with pytest.raises(LanistaError, match="no pairwise results"):
        elo([(names, places)])


def test_elo_moves_by_k_times_the_surprise():
    after = elo([(("a", "b"), (1, 2))], k=32, start=1000)
    assert after == {"a": 1016.0, "b": 984.0}
    again = elo([(("a", "b"), (1, 2)), (("b", "a"), (1, 1))], k=32, start=1000)
    move = 32 * (0.5 - expected(1016, 984))
    assert again["a"] == pytest.approx(1016 + move)
    assert again["b"] == pytest.approx(984 - move)


def test_elo_of_three_seats_shares_k_and_uses_ratings_from_before_the_match():
    after = elo([(("a", "b", "c"), (1, 2, 3))], k=32, start=0)
    assert after == {"a": 16.0, "b": 0.0, "c": -16.0}


@given(st.lists(st.tuples(st.permutations("abc"), st.permutations([1, 2, 3])), max_size=30))
@settings(max_examples=50, deadline=None)
def test_elo_keeps_the_sum_of_all_ratings(finishes):
    after = elo(finishes)
    assert sum(after.values()) == pytest.approx(1500 * len(after))


def test_openskill_puts_the_winner_of_four_seats_first_and_grows_surer():
    finishes = [(("a", "b", "c", "d"), (1, 2, 3, 4))] * 10
    skills = openskill(finishes)
    assert [skill.name for skill in skills] == ["a", "b", "c", "d"]
    assert all(skill.games == 10 for skill in skills)
    assert all(skill.sigma < 25 / 3 for skill in skills)
    assert skills[0].ordinal == skills[0].mu - 3 * skills[0].sigma


def test_openskill_takes_a_player_in_two_seats_once_and_skips_play_with_itself():
    skills = {s.name: s for s in openskill([(("a", "b", "b"), (1, 2, 2)), (("a", "a"), (1, 2))])}
    assert skills["a"].games == skills["b"].games == 1
    assert skills["a"].mu > 25 > skills["b"].mu


def test_openskill_of_a_player_in_two_seats_is_the_mean_of_what_both_would_be():
    apart = {s.name: s for s in openskill([(("a", "b", "c"), (1, 2, 3))])}
    twice = {s.name: s for s in openskill([(("a", "b", "b"), (1, 2, 3))])}
    for part in ("mu", "sigma"):
        mean = (getattr(apart["b"], part) + getattr(apart["c"], part)) / 2
        assert getattr(twice["b"], part) == pytest.approx(mean)
    assert twice["a"] == apart["a"]


def test_two_players_are_as_far_apart_as_their_odds():
    fit = bradley_terry([PairCount("a", "b", 750, 0, 250)], prior=1e-9)
    distance = by_name(fit)["a"].value - by_name(fit)["b"].value
    assert distance == pytest.approx(400 * math.log10(3), rel=1e-6)


def test_the_interval_of_two_players_is_that_of_the_log_odds():
    """The log odds of 75 % in 1,000 games have the variance 1 / (n p (1 − p))."""
    fit = bradley_terry([PairCount("a", "b", 750, 0, 250)], anchor="b", prior=1e-4)
    error = ELO_POINTS / math.sqrt(1000 * 0.75 * 0.25)
    rating = by_name(fit)["a"]
    assert rating.high - rating.value == pytest.approx(1.959964 * error, rel=1e-5)
    assert by_name(fit)["b"].value == by_name(fit)["b"].low == by_name(fit)["b"].high == 0


def test_a_draw_counts_as_half_a_win():
    drawn = bradley_terry([PairCount("a", "b", 50, 20, 10), PairCount("b", "c", 0, 30, 10)])
    split = bradley_terry([PairCount("a", "b", 60, 0, 20), PairCount("b", "c", 15, 0, 25)])
    assert [r.value for r in drawn.ratings] == pytest.approx([r.value for r in split.ratings])


@given(strengths)
@settings(max_examples=60, deadline=None)
def test_ratings_come_back_from_results_made_of_them(values):
    ratings = {f"p{i}": value for i, value in enumerate(values)}
    fit = bradley_terry(exact_pairs(ratings, 10_000), anchor="p0", prior=1e-6)
    for name, rating in by_name(fit).items():
        assert rating.value == pytest.approx(ratings[name] - ratings["p0"], abs=0.01)


@given(strengths, st.integers(0, 6))
@settings(max_examples=40, deadline=None)
def test_the_fixed_point_moves_ratings_together(values, which):
    ratings = {f"p{i}": value for i, value in enumerate(values)}
    pairs = exact_pairs(ratings, 50)
    anchor = f"p{which % len(values)}"
    free, tied = by_name(bradley_terry(pairs)), by_name(bradley_terry(pairs, anchor=anchor))
    assert sum(rating.value for rating in free.values()) == pytest.approx(0, abs=1e-6)
    assert tied[anchor].value == pytest.approx(0)
    moved = {name: tied[name].value - free[name].value for name in free}
    assert max(moved.values()) - min(moved.values()) < 1e-6


def test_unbeaten_players_have_finite_ratings_with_wide_intervals():
    fit = bradley_terry([PairCount("a", "b", 100, 0, 0)])
    best, worst = fit.ratings
    assert (best.name, worst.name) == ("a", "b")
    assert 600 < best.value - worst.value < 1200
    assert best.high - best.low > 200


def test_groups_that_never_met_are_rated_with_intervals_that_overlap():
    fit = by_name(bradley_terry([PairCount("a", "b", 80, 0, 20), PairCount("c", "d", 80, 0, 20)]))
    assert fit["a"].value == pytest.approx(fit["c"].value, abs=1e-6)
    assert fit["a"].low < fit["d"].high


def test_intervals_hold_the_truth_as_often_as_they_say():
    """300 × 4 distances to the fixed point; 95 % intervals miss about 5 %."""
    ratings = {"a": 150.0, "b": 60.0, "c": 0.0, "d": -40.0, "e": -200.0}
    rng, held = np.random.default_rng(7), 0
    for _ in range(300):
        fit = bradley_terry(drawn_pairs(ratings, 60, rng), anchor="c")
        held += sum(r.low <= ratings[r.name] <= r.high for r in fit.ratings if r.name != "c")
    assert 0.92 < held / 1200 < 0.98


def test_the_fit_is_where_the_likelihood_is_flat():
    """The derivative by a player's strength is its results less what was expected of it."""
    rng = np.random.default_rng(3)
    pairs = drawn_pairs({"a": 100.0, "b": 0.0, "c": -50.0}, 40, rng, draw_share=0.3)
    fit = bradley_terry(pairs, prior=1.0)
    for name, i in fit.number.items():
        slope = 0.5 - 1 / (1 + math.exp(-fit.theta[i]))
        for pair in pairs:
            if name in (pair.first, pair.second):
                won = pair.wins if name == pair.first else pair.losses
                other = pair.second if name == pair.first else pair.first
                slope += won + pair.draws / 2 - pair.games * fit.expected(name, other)
        assert slope == pytest.approx(0, abs=1e-6)


def test_the_fit_goes_on_while_every_rating_still_falls():
    """Newton's last steps lower all three here, so that their largest is below 0."""
    pairs = [
        PairCount("b", "a", 1000, 0, 0),
        PairCount("c", "a", 2, 0, 0),
        PairCount("c", "b", 99, 0, 1),
    ]
    theta = bradley_terry(pairs, prior=0.1).theta
    score = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    slope = 0.1 * (0.5 - 1 / (1 + np.exp(-theta)))
    for pair in pairs:
        one, other = "abc".index(pair.first), "abc".index(pair.second)
        pull = pair.wins - pair.games * score[one, other]
        slope[one] += pull
        slope[other] -= pull
    assert np.abs(slope).max() < 1e-7


def test_nothing_to_rate_and_unknown_fixed_points_are_refused():
    with pytest.raises(LanistaError, match="No two players met"):
        bradley_terry([])
    with pytest.raises(LanistaError, match="'z' played no match"):
        bradley_terry([PairCount("a", "b", 1, 0, 0)], anchor="z")
    with pytest.raises(LanistaError, match="against itself"):
        bradley_terry([PairCount("a", "a", 1, 0, 0), PairCount("a", "b", 1, 0, 0)])
    with pytest.raises(LanistaError, match="prior is 0"):
        bradley_terry([PairCount("a", "b", 1, 0, 0)], prior=0)


@given(strengths)
@settings(max_examples=60, deadline=None)
def test_ratings_explain_all_of_results_made_of_ratings(values):
    pairs = exact_pairs({f"p{i}": value for i, value in enumerate(values)}, 10_000)
    fit = bradley_terry(pairs)
    assert unexplained(pairs, fit).share < 0.001


@given(
    strengths.filter(lambda values: len(values) > 2),
    st.integers(0, 2**32),
    st.sampled_from([20, 200]),
)
@settings(max_examples=40, deadline=None)
def test_what_chance_leaves_unexplained_is_said_to_be_chance(values, seed, games):
    rng = np.random.default_rng(seed)
    ratings = {f"p{i}": value for i, value in enumerate(values)}
    pairs = drawn_pairs(ratings, games, rng, draw_share=0.2)
    found = unexplained(pairs, bradley_terry(pairs))
    assert found.beyond_chance < 3.5 * math.sqrt(0.25 / games / len(pairs))


def test_the_share_expected_by_chance_is_the_mean_over_many_tables():
    ratings = {"a": 120.0, "b": 40.0, "c": 0.0, "d": -30.0, "e": -130.0}
    rng = np.random.default_rng(11)
    shares, chances = [], []
    for _ in range(300):
        pairs = drawn_pairs(ratings, 50, rng, draw_share=0.3)
        found = unexplained(pairs, bradley_terry(pairs))
        shares.append(found.share)
        chances.append(found.by_chance)
    assert np.mean(chances) == pytest.approx(np.mean(shares), rel=0.05)


def test_a_rating_rests_on_the_games_of_both_sides():
    pairs = [
        PairCount("a", "b", 3, 1, 2),
        PairCount("c", "a", 4, 0, 1),
        PairCount("b", "c", 0, 0, 0),
    ]
    games = {rating.name: rating.games for rating in bradley_terry(pairs).ratings}
    assert games == {"a": 11, "b": 6, "c": 5}


def test_less_than_chance_leaves_is_nothing_beyond_it():
    assert Unexplained(0.1, 0.3, 50).beyond_chance == 0.0
    assert Unexplained(0.5, 0.3, 50).beyond_chance == pytest.approx(0.2)


def test_half_of_the_games_of_rock_paper_scissors_is_unexplained():
    pairs = rock_paper_scissors(100)
    fit = bradley_terry(pairs)
    assert [rating.value for rating in fit.ratings] == pytest.approx([0, 0, 0], abs=1e-6)
    found = unexplained(pairs, fit)
    assert found.share == pytest.approx(0.5)
    assert found.beyond_chance > 0.45
    assert found.games == 300


def test_results_without_a_circle_are_always_explained():
    pairs = [PairCount("a", "b", 70, 0, 30), PairCount("b", "c", 10, 0, 90)]
    found = unexplained(pairs, bradley_terry(pairs))
    assert found.share < 0.01
    assert found.by_chance < 0.01


def test_chance_leaves_a_number_where_rounding_says_that_a_fit_follows_more_than_all():
    """Of many games in a chain, the fit follows each pair's own result entirely: h = 1."""
    rng = np.random.default_rng(0)
    for first, second in rng.integers(1, 1_000_000, (20, 2)):
        pairs = [
            PairCount("a", "b", first, 0, 1_000_000 - first),
            PairCount("b", "c", second, 0, 1_000_000 - second),
        ]
        found = unexplained(pairs, bradley_terry(pairs, prior=0.001))
        assert 0 <= found.by_chance < 1e-6


def test_the_order_in_which_a_pair_is_named_changes_nothing():
    rng = np.random.default_rng(5)
    pairs = drawn_pairs({"a": 100.0, "b": 0.0, "c": -50.0, "d": 20.0}, 40, rng, draw_share=0.3)
    turned = [PairCount(p.second, p.first, p.losses, p.draws, p.wins) for p in pairs]
    one, other = bradley_terry(pairs), bradley_terry(turned)
    assert [r.value for r in one.ratings] == pytest.approx([r.value for r in other.ratings])
    assert unexplained(pairs, one).share == pytest.approx(unexplained(turned, other).share)


def test_circles_of_three_are_found_once_each():
    edges = [("r", "s"), ("s", "p"), ("p", "r"), ("r", "x"), ("s", "x"), ("x", "p")]
    assert circles(edges) == [("p", "r", "s"), ("p", "r", "x")]
    assert circles(edges, most=1) == [("p", "r", "s")]
    assert circles([("a", "b"), ("b", "c"), ("a", "c")]) == []


def test_which_circles_are_named_does_not_depend_on_the_order_of_the_results():
    """A round of nine, each of whom beats the next four, named from the last to the first."""
    players = [f"player {i}" for i in range(9)]
    edges = [(players[i], players[(i + step) % 9]) for i in range(9) for step in (1, 2, 3, 4)]
    every = circles(edges, most=100)
    assert len(every) == 30
    assert every == sorted(every)
    assert circles(edges[::-1], most=100) == every
    assert circles(edges[::-1], most=7) == every[:7]


def test_players_are_numbered_by_name_in_every_process():
    pairs = [PairCount(f"player {n}", "a player", 3, 0, 1) for n in range(9, 0, -1)]
    assert list(bradley_terry(pairs).number) == ["a player", *(f"player {n}" for n in range(1, 10))]


def test_ratings_that_are_told_nothing_are_on_the_scale_of_chess():
    """400 points are odds of 10 to 1, beginners have 1500, and a match moves at most 16."""
    assert elo([(("a", "b"), (1, 2))]) == {"a": 1508.0, "b": 1492.0}
    fit = bradley_terry([PairCount("a", "b", 10_000_000, 0, 1_000_000)])
    best, worst = fit.ratings
    assert best.value - worst.value == pytest.approx(400, abs=1e-3)
    assert fit.prior == 1.0
    assert "theta" not in repr(fit)
    assert "covariance" not in repr(fit)
    assert "number" not in repr(fit)


def test_twenty_circles_are_named_where_nobody_says_how_many():
    names = [f"p{i:02d}" for i in range(9)]
    edges = [(names[i], names[(i + d) % 9]) for i in range(9) for d in (1, 2, 3, 4)]
    assert len(circles(edges, most=1000)) == 30
    assert len(circles(edges)) == 20


def test_elo_of_a_match_of_one_seat_is_refused_in_a_sentence():
    with pytest.raises(LanistaError, match="two seats or more"):
        elo([(("a",), (1,))])


def test_the_likelihood_is_that_of_the_results_and_of_the_draws_everybody_was_given():
    pairs = [PairCount("a", "b", 3, 2, 1), PairCount("b", "c", 0, 0, 4)]
    theta, prior = np.array([0.3, -0.2, 0.7]), 1.5
    table = ratings._Table.of(pairs, {"a": 0, "b": 1, "c": 2})

    def log_chance(apart):
        return -math.log1p(math.exp(-apart))

    expected = 4 * log_chance(0.5) + 2 * log_chance(-0.5) + 4 * log_chance(0.9)
    expected += prior / 2 * sum(log_chance(t) + log_chance(-t) for t in theta)
    assert ratings._likelihood(table, theta, prior) == pytest.approx(expected)


def test_elo_and_openskill_of_a_report_do_not_depend_on_the_order_of_games():
    better = [(("strong", "weak"), (1, 2))] * 90 + [(("strong", "weak"), (2, 1))] * 10
    others = [(("strong", "other"), (1, 2))] * 40 + [(("other", "strong"), (1, 2))] * 60
    games = better + others
    assert elo(games)["weak"] != elo(games[::-1])["weak"]
    assert mean_elo(games) == mean_elo(games[::-1]) == mean_elo(others + better)
    assert openskill(in_any_order(games)) == openskill(in_any_order(games[::-1]))
    ratings = mean_elo(games)
    assert ratings["weak"] < ratings["strong"] < ratings["other"]
    assert sum(ratings.values()) == pytest.approx(3 * 1500)
