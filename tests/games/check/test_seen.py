"""Where two plays differ is told by the first decision that differs, to the byte."""

from __future__ import annotations

import numpy as np
import pytest

from lanista.games.check.seen import Seen, first_difference, joined

NO_ENDS = {"match": np.zeros(0, np.int64)}


def decisions(**columns):
    """Two matches of two turns each, seats in turn."""
    table = {
        "match": np.array([3, 3, 8, 8], np.int64),
        "turn": np.array([0, 1, 0, 1], np.int32),
        "seat": np.array([0, 1, 1, 0], np.int32),
        "observation": np.arange(8, dtype=np.float32).reshape(4, 2),
        "mask": np.ones((4, 3), np.bool_),
    }
    return table | columns


def changed(name, row, value, **columns):
    table = decisions(**columns)
    table[name] = table[name].copy()
    table[name][row] = value
    return table


def difference(one, other):
    return first_difference(Seen(one, NO_ENDS), Seen(other, NO_ENDS))


def shortened(table, rows):
    return {name: column[:rows] for name, column in table.items()}


def test_plays_that_show_the_same_do_not_differ():
    assert difference(decisions(), decisions()) == ""


def test_a_difference_names_its_decision_and_its_column():
    assert difference(decisions(), changed("mask", (2, 1), False)) == (
        "match 8, turn 0, seat 1: another mask"
    )


def test_the_earliest_decision_is_named_whichever_column_differs_there():
    other = changed("mask", (1, 2), False)
    other["observation"] = other["observation"].copy()
    other["observation"][2, 0] = 99
    assert difference(decisions(), other) == "match 3, turn 1, seat 1: another mask"
    other["observation"][1, 0] = 99
    assert difference(decisions(), other) == "match 3, turn 1, seat 1: another observation"
    other["observation"][0, 1] = 99
    assert difference(decisions(), other) == "match 3, turn 0, seat 0: another observation"


@pytest.mark.parametrize("name", ["match", "turn", "seat"])
def test_another_order_of_decisions_is_another_course(name):
    told = difference(decisions(), changed(name, 1, 7))
    assert told.endswith(": another course")


def test_a_difference_of_course_is_told_before_one_of_what_was_seen_there():
    other = changed("seat", 2, 0)
    other["observation"] = other["observation"] + np.float32([[0], [0], [1], [1]])
    assert difference(decisions(), other) == "match 8, turn 0, seat 0: another course"


def test_a_play_that_goes_on_for_longer_takes_another_course_where_the_shorter_ends():
    expected = "match 8, turn 0, seat 1: another course"
    assert difference(decisions(), shortened(decisions(), 2)) == expected
    assert difference(shortened(decisions(), 2), decisions()) == expected
    assert difference(shortened(decisions(), 0), decisions()) == (
        "match 3, turn 0, seat 0: another course"
    )


def test_what_differs_before_a_shorter_play_ends_is_told_first():
    short = shortened(changed("observation", (1, 0), -1), 3)
    assert difference(decisions(), short) == "match 3, turn 1, seat 1: another observation"


@pytest.mark.parametrize(
    "other", [np.zeros((4, 3), np.float32), np.arange(8, dtype=np.float64).reshape(4, 2)]
)
def test_another_shape_or_dtype_is_a_difference(other):
    told = difference(decisions(), decisions(observation=other))
    assert told == "another shape or dtype of observation"


def test_numbers_are_compared_by_their_bytes():
    unknown = decisions(observation=np.full((4, 2), np.nan, np.float32))
    assert difference(unknown, decisions(observation=np.full((4, 2), np.nan, np.float32))) == ""
    zero, minus_zero = (decisions(reward=np.full(4, z, np.float32)) for z in (0.0, -0.0))
    assert difference(zero, minus_zero) == "match 3, turn 0, seat 0: another reward"


def test_a_column_that_one_play_alone_kept_is_not_compared():
    assert difference(decisions(steps=np.arange(4)), decisions()) == ""
    assert difference(decisions(), decisions(steps=np.arange(4))) == ""


def test_columns_without_numbers_and_plays_without_decisions_are_the_same():
    empty = decisions(extras=np.zeros((4, 0), np.float32))
    assert difference(empty, decisions(extras=np.zeros((4, 0), np.float32))) == ""
    assert first_difference(Seen(joined([]), joined([])), Seen(joined([]), joined([]))) == ""


def test_ends_are_compared_where_all_decisions_agree():
    def ends(returns):
        return {"match": np.array([3, 8], np.int64), "returns": np.array(returns, np.float32)}

    one = Seen(decisions(), ends([[1, -1], [0, 0]]))
    other = Seen(decisions(), ends([[1, -1], [2, -2]]))
    assert first_difference(one, one) == ""
    assert first_difference(one, other) == "match 8: another returns"
    earlier = Seen(changed("mask", (3, 0), False), other.ends)
    assert first_difference(one, earlier) == "match 8, turn 1, seat 0: another mask"


def test_of_some_matches_only_their_rows_and_ends_are_kept():
    seen = Seen(decisions(), {"match": np.array([3, 8]), "place": np.array([1, 2])}, [3], "broke")
    kept = seen.only(iter([8, 40]))
    assert kept.rows["turn"].tolist() == [0, 1]
    assert kept.rows["seat"].tolist() == [1, 0]
    assert kept.rows["observation"].tolist() == [[4, 5], [6, 7]]
    assert kept.ends["place"].tolist() == [2]
    assert (kept.too_long, kept.trouble) == ([], "")


def test_tables_are_joined_by_match_then_turn_then_seat():
    columns = {"match": [2, 1, 1, 1, 2], "turn": [0, 5, 0, 0, 0], "seat": [1, 0, 1, 0, 0]}
    table = {name: np.array(column) for name, column in columns.items()}
    table["observation"] = np.arange(5) * 10
    whole = joined([shortened(table, 2), {n: c[2:] for n, c in table.items()}])
    assert {name: column.tolist() for name, column in whole.items()} == {
        "match": [1, 1, 1, 2, 2],
        "turn": [0, 0, 5, 0, 0],
        "seat": [0, 1, 0, 0, 1],
        "observation": [30, 20, 10, 40, 0],
    }


def test_ends_are_joined_by_match_alone():
    whole = joined([{"match": np.array([9]), "place": np.array([1])}, NO_ENDS | {
        "match": np.array([4]), "place": np.array([2])}])  # fmt: skip
    assert whole["match"].tolist() == [4, 9]
    assert whole["place"].tolist() == [2, 1]


def test_no_tables_make_a_table_of_no_rows():
    assert {name: len(column) for name, column in joined([]).items()} == {
        "match": 0,
        "turn": 0,
        "seat": 0,
    }
