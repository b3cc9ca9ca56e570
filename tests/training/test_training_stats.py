"""A learner's training matches by name, worked out by hand."""

import pytest

from lanista.rollout.outcome_counts import Count
from lanista.runs.schema import TrainingGamesRow
from lanista.training.training_stats import fared, game_rows

CHAIRS = [("bot", "fixed"), ("old", "hard"), ("bot", "lost")]
CATEGORIES = {"main": "self", "bot": "bot"}


def two(seating, wins, draws, losses, returns=(0.0, 0.0), first=0, last=9, update=0):
    matches = wins + draws + losses
    return Count(seating, matches, ((wins, draws, losses),), returns, first, last, update)


def test_returns_are_means_by_opponent_and_scores_by_category_whatever_the_seat():
    counts = [
        two((0, 0), 6, 2, 2),
        two((0, 1), 3, 1, 0, returns=(3.0, -3.0)),
        two((0, 2), 1, 0, 3, returns=(-2.0, 2.0)),
        two((1, 0), 1, 1, 2, returns=(-1.0, 1.0)),
        two((3, 0), 0, 0, 2, returns=(-2.0, 2.0)),
    ]
    assert fared(counts, "main", CHAIRS, CATEGORIES) == {
        "return/bot": (3.0 + 1.0 + 2.0) / 10,
        "return/old": -2.0 / 4,
        "win_rate/self": (6 + 1) / 10,
        "win_rate/bot": (3.5 + 2.5 + 2) / 10,
        "win_rate/past": 1 / 4,  # Whoever is in no category any more.
    }


def test_at_a_table_of_three_every_opponent_counts_and_itself_from_the_first_seat():
    # Seats 0 and 2 are the learner's; pairs (0, 1), (0, 2), (1, 2).
    count = Count((0, 1, 0), 4, ((3, 0, 1), (1, 1, 2), (0, 1, 3)), (1.0, -5.0, 4.0), 0, 3, 0)
    assert fared([count], "main", CHAIRS, CATEGORIES) == {
        "return/bot": (1.0 + 4.0) / 8,
        "win_rate/bot": (3 + 3 + 1 / 2) / 8,
        "win_rate/self": (1 + 1 / 2) / 4,
    }


def test_nothing_played_is_no_number():
    assert fared([], "main", CHAIRS, CATEGORIES) == {}
    assert game_rows([], "main", CHAIRS, {}, "self", 0, 5) == []


def test_rows_name_who_sat_where_and_why_in_the_order_of_the_table():
    counts = [
        two((0, 0), 1, 0, 0, returns=(1.0, -1.0), first=3, last=3, update=2),
        two((0, 2), 0, 2, 1, returns=(-1.0, 1.0), first=1, last=7, update=1),
        two((3, 0), 1, 0, 1, returns=(0.5, -0.5), first=0, last=8, update=0),
        two((1, 0), 0, 0, 1, returns=(-1.0, 1.0), first=5, last=5, update=2),
    ]
    digests = {"bot": "b1", "old": "f2"}
    found = game_rows(counts, "main", CHAIRS, digests, "own", 10, 15)
    assert [(row.seating, row.reason, row.digests) for row in found] == [
        (("bot", "main"), "fixed", ("b1", "learner:main")),
        (("bot", "main"), "lost", ("b1", "learner:main")),
        (("main", "main"), "own", ("learner:main", "learner:main")),
        (("main", "old"), "hard", ("learner:main", "f2")),
    ]
    assert found[-1] == TrainingGamesRow(
        15, "main", ("main", "old"), "hard", ("learner:main", "f2"), 3, ((0, 2, 1),), (-1.0, 1.0),
        1, 7, 11,
    )  # fmt: skip


def test_rows_are_sorted_by_the_text_that_the_table_has():
    """A space comes before the quotation mark that ends a name in JSON, so it decides there."""
    counts = [two((1, 0), 1, 0, 0), two((2, 0), 1, 0, 0)]
    found = game_rows(counts, "main", [("a", "x"), ("a b", "x")], {"a": "", "a b": ""}, "own", 0, 1)
    assert [row.seating[0] for row in found] == ["a b", "a"]


def test_every_opponent_s_reason_is_named_in_the_order_of_the_seats():
    count = Count((2, 0, 1), 1, ((1, 0, 0),) * 3, (0.0,) * 3, 0, 0, 0)
    (row,) = game_rows([count], "main", CHAIRS, {"bot": "b1", "old": "f2"}, "own", 0, 5)
    assert (row.seating, row.reason) == (("old", "main", "bot"), "hard+fixed")


@pytest.mark.parametrize(
    "seating", [(2, 0, 1), (0, 2, 1), (1, 2, 0), (2, 3, 0), (0, 0, 2), (2, 0, 0), (1, 3, 2, 0)]
)
def test_every_seat_has_the_digest_of_whoever_sat_there(seating):
    pairs = ((1, 0, 0),) * (len(seating) * (len(seating) - 1) // 2)
    count = Count(seating, 1, pairs, (0.0,) * len(seating), 0, 0, 0)
    (row,) = game_rows([count], "main", CHAIRS, {"bot": "b1", "old": "f2"}, "own", 0, 5)
    people = {0: ("main", "learner:main"), 1: ("bot", "b1"), 2: ("old", "f2"), 3: ("bot", "b1")}
    assert row.seating == tuple(people[number][0] for number in seating)
    assert row.digests == tuple(people[number][1] for number in seating)
    assert row.reason == "+".join(CHAIRS[number - 1][1] for number in seating if number)


@pytest.mark.parametrize("seating", [(0, 1, 2, 0), (1, 0, 0, 2)])
def test_of_any_two_seats_one_s_wins_are_the_other_s_losses(seating):
    pairs = tuple((at, 10, 20 - at) for at in range(6))
    one = Count(seating, 30, pairs, (0.0,) * 4, 0, 0, 0)
    turned = tuple((lost, drawn, won) for won, drawn, lost in pairs)
    other = Count(seating, 30, turned, (0.0,) * 4, 0, 0, 0)
    mine, theirs = (fared([each], "main", CHAIRS, CATEGORIES) for each in (one, other))
    scores = [name for name in mine if name.startswith("win_rate/")]
    assert {"win_rate/bot", "win_rate/past"} <= {*scores}
    assert all(mine[name] + theirs[name] == pytest.approx(1) for name in scores)
