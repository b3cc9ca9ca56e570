"""What is said of players, from results written by hand."""

import numpy as np
import pytest

from lanista.evaluation import summarise
from lanista.rollout import Results, Schedule


def results_of(seating, deal, place, score, cut_off=None):
    n = len(seating)
    return Results(
        schedule=Schedule(
            np.arange(n, dtype=np.int64), np.array(deal, np.int64), np.array(seating, np.int32)
        ),
        returns=np.zeros(np.shape(place), np.float32),
        place=np.array(place, np.int32),
        score=np.array(score, np.float32),
        decisions=np.full(n, 5, np.int32),
        cut_off=np.array(cut_off or [False] * n),
        digests=("d0", "d1", "d2", "d3")[: 1 + int(np.max(seating))],
        wall_seconds=2.0,
        cpu_seconds=1.0,
    )


def two_seats(cut_off=None):
    # Deal 0: a wins in both seats. Deal 1: b wins in seat 0, then a draw. Deal 2: seat 0 wins.
    return results_of(
        seating=[[0, 1], [1, 0]] * 3,
        deal=[0, 0, 1, 1, 2, 2],
        place=[[1, 2], [2, 1], [2, 1], [1, 1], [1, 2], [1, 2]],
        score=[[5, 1], [2, 4], [0, 3], [2, 2], [9, 0], [6, 1]],
        cut_off=cut_off,
    )


def test_wins_draws_and_losses_are_counted_in_both_seats():
    a, b = summarise(two_seats(), ["a", "b"]).standings
    assert (a.matches, a.wins, a.draws, a.losses) == (6, 3, 1, 2)
    assert (b.matches, b.wins, b.draws, b.losses) == (6, 2, 1, 3)
    assert a.score.value == pytest.approx(3.5 / 6)
    assert b.score.value == pytest.approx(2.5 / 6)
    assert a.win_rate.value == pytest.approx(3 / 6)
    assert (a.score.n, a.win_rate.n) == (3, 6)  # Over pairs; over matches.
    assert (a.digest, b.digest) == ("d0", "d1")


def test_the_margin_is_in_points_from_the_players_own_side():
    a, b = summarise(two_seats(), ["a", "b"]).standings
    # a's points less b's, match by match: 4, 2, -3, 0, 9, -5.
    assert a.margin.value == pytest.approx(7 / 6)
    assert b.margin.value == pytest.approx(-7 / 6)


def test_the_first_seat_is_whoever_sits_in_it():
    summary = summarise(two_seats(), ["a", "b"])
    # Seat 0: won, lost, lost, drew, won, won.
    assert summary.first_seat.value == pytest.approx(3.5 / 6)
    assert summary.first_seat.n == 3


def test_a_deal_with_a_match_broken_off_is_left_out_whole():
    cut = [False, False, True, False, False, False]
    summary = summarise(two_seats(cut), ["a", "b"])
    assert (summary.matches, summary.units, summary.left_out) == (4, 2, 2)
    assert summary.standings[0].score.value == pytest.approx(3 / 4)


def test_when_everything_was_broken_off_nothing_is_known():
    summary = summarise(two_seats([True] * 6), ["a", "b"])
    assert (summary.matches, summary.left_out) == (0, 6)
    assert summary.first_seat is None
    for standing in summary.standings:
        assert standing.score is None
        assert standing.win_rate is None
        assert standing.margin is None
        assert standing.smallest_difference is None


def test_with_three_seats_results_are_taken_pair_by_pair_from_places():
    # a is first always; b and c share the rest: b ahead, level, behind.
    summary = summarise(
        results_of(
            seating=[[0, 1, 2], [2, 0, 1], [1, 2, 0]],
            deal=[0, 0, 0],
            place=[[1, 2, 3], [2, 1, 2], [3, 2, 1]],
            score=[[6, 3, 0], [0, 6, 0], [0, 3, 6]],
        ),
        ["a", "b", "c"],
    )
    a, b, c = summary.standings
    assert (a.wins, a.draws, a.losses) == (3, 0, 0)
    assert (b.wins, b.draws, b.losses) == (0, 0, 3)
    assert [s.score.value for s in (a, b, c)] == pytest.approx([1, 0.25, 0.25])
    assert [s.place.value for s in (a, b, c)] == pytest.approx([1, 7 / 3, 7 / 3])
    versus = {(v.name, v.other): v.score.value for v in summary.versus}
    assert versus == {("a", "b"): 1.0, ("a", "c"): 1.0, ("b", "c"): 0.5}


def test_of_more_players_than_seats_two_are_compared_where_both_sat():
    # a is always first and d always last; c is ahead of b wherever they meet.
    seating = [[0, 1, 2], [3, 0, 1], [2, 3, 0], [1, 2, 3]]
    place = [[1, 3, 2], [3, 1, 2], [2, 3, 1], [2, 1, 3]]
    summary = summarise(results_of(seating, [0, 1, 2, 3], place, place), ["a", "b", "c", "d"])
    versus = {(v.name, v.other): (v.score.value, v.score.n) for v in summary.versus}
    assert versus == {
        ("a", "b"): (1.0, 2), ("a", "c"): (1.0, 2), ("a", "d"): (1.0, 2),
        ("b", "c"): (0.0, 2), ("b", "d"): (1.0, 2), ("c", "d"): (1.0, 2),
    }  # fmt: skip
    assert [s.digest for s in summary.standings] == ["d0", "d1", "d2", "d3"]
    assert [s.matches for s in summary.standings] == [3, 3, 3, 3]


def test_a_first_place_that_is_shared_is_a_draw():
    summary = summarise(
        results_of([[0, 1, 2]], [0], [[1, 1, 3]], [[4, 4, 1]]),
        ["a", "b", "c"],
    )
    assert [(s.wins, s.draws, s.losses) for s in summary.standings] == [
        (0, 1, 0),
        (0, 1, 0),
        (0, 0, 1),
    ]


def test_a_first_place_that_is_shared_counts_in_equal_parts():
    # a has 1 alone, ½ of two, nothing, a quarter of four: 1.75 of 4 matches on two deals.
    place = [[1, 2, 3, 4], [1, 1, 3, 4], [2, 1, 3, 4], [1, 1, 1, 1]]
    summary = summarise(
        results_of([[0, 1, 1, 1]] * 4, [0, 0, 1, 1], place, place),
        ["a", "b"],
    )
    a, b = summary.standings
    assert a.first_place.value == pytest.approx(1.75 / 4)
    assert a.first_place.n == 2  # Over deals.
    assert a.first_place.low < a.first_place.value < a.first_place.high
    assert a.first_place.value + 3 * b.first_place.value == pytest.approx(1)


def test_with_two_seats_the_score_says_who_was_first():
    assert summarise(two_seats(), ["a", "b"]).standings[0].first_place is None
