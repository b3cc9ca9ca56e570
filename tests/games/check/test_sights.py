"""What a seat saw before a decision and what came after it, worked out by hand on small tables."""

from __future__ import annotations

import numpy as np
import pytest

from lanista.games import Facts, Field, Head, Observation, Spec
from lanista.games.check import sights as module
from lanista.games.check.sights import Eyes, Sight, said, sights_of

LAYOUT = Observation((Field("card"), Field("line", 2), Field("coins")))


def random():
    return np.random.default_rng(1)


MOVE, CARD = (Head("move", 2),), (Field("card"),)


def spec(heads=MOVE, fields=CARD, seats=2, privileged=()):
    return Spec(
        "cards",
        Facts(seats=seats, longest=9),
        Observation(fields),
        heads,
        privileged=Observation(privileged) if privileged else None,
    )


def test_the_limits_are_those_the_reference_names():
    assert (module.MOST_VALUES, module.RANGES) == (12, 6)
    assert (module.MOST_SIGHTS, module.MOST_PAIRS) == (160, 500)


def test_a_number_of_few_values_gives_a_sight_for_each_and_a_constant_none():
    rows = np.array([[7, 2, 0], [7, 0, 1], [7, 2, 1], [7, 1, 1]])
    assert sights_of(rows, random(), 99) == [
        Sight(1, 0, 0),
        Sight(1, 1, 1),
        Sight(1, 2, 2),
        Sight(2, 0, 0),
        Sight(2, 1, 1),
    ]


def test_twelve_values_are_told_apart_and_thirteen_are_cut_into_six_ranges():
    twelve = np.arange(12.0)[:, None]
    assert sights_of(twelve, random(), 99) == [Sight(0, v, v) for v in range(12)]
    # Each value counts once, however often it came up.
    thirteen = np.concatenate([np.arange(13.0), np.full(50, 12.0)])[:, None]
    ranges = [Sight(0, v, v + 2) for v in range(0, 12, 2)]
    assert sights_of(thirteen, random(), 99) == ranges
    mixed = np.concatenate([thirteen % 2, thirteen], 1)
    assert sights_of(mixed, random(), 99) == [
        Sight(0, 0, 0),
        Sight(0, 1, 1),
        *(Sight(1, sight.low, sight.high) for sight in ranges),
    ]


def test_of_too_many_sights_as_many_as_are_wanted_are_drawn_in_order():
    rows = np.tile(np.arange(12)[:, None], (1, 3))
    every = sights_of(rows, random(), 36)
    assert len(every) == 36
    some = sights_of(rows, random(), 20)
    assert len(set(some)) == 20
    assert some == [sight for sight in every if sight in some]
    assert some != every[:20]
    assert some == sights_of(rows, random(), 20)
    assert some != sights_of(rows, np.random.default_rng(2), 20)


def test_a_sight_holds_from_its_low_to_its_high():
    rows = np.array([[9, 1.0], [9, 2.0], [9, 3.0], [9, 4.0], [2, 5.0]])
    assert Sight(1, 2, 4).holds(rows).tolist() == [False, True, True, True, False]
    assert Sight(1, 3, 3).holds(rows).tolist() == [False, False, True, False, False]
    assert Sight(0, 2, 2).holds(rows).tolist() == [False, False, False, False, True]


@pytest.mark.parametrize(
    ("sight", "words"),
    [
        (Sight(0, 2, 2), "card = 2"),
        (Sight(1, 0.5, 0.5), "line[0] = 0.5"),
        (Sight(2, 1, 4), "line[1] from 1 to 4"),
        (Sight(3, 0, 0), "coins = 0"),
        (Sight(4, 0, 0), "number 4"),
    ],
)
def test_a_sight_is_told_by_its_field_and_its_place_in_it(sight, words):
    assert said(LAYOUT, sight) == words


def shown(values):
    return {"observation": np.array(values, np.float32)[:, None]}


def test_every_choice_of_every_head_is_looked_at_but_not_of_a_head_with_too_many():
    heads = (Head("small", 2), Head("huge", 161), Head("other", 3))
    eyes = Eyes(spec(heads), shown([5, 5]), 0)
    assert eyes.choices == [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2)]
    assert eyes.beyond == []
    assert len(Eyes(spec((Head("large", 160),)), shown([5, 5]), 0).choices) == 160
    two = Eyes(spec((Head("large", 100), Head("more", 100))), shown([5, 5]), 0)
    assert two.choices == [(0, i) for i in range(100)] + [(1, i) for i in range(60)]


def test_two_sights_are_paired_unless_they_are_of_one_number_or_one_head():
    heads = (Head("move", 2), Head("target", 2))
    # Sights 0 and 1 are of one number; 2 and 3, 4 and 5 are the choices of one head each.
    eyes = Eyes(spec(heads), shown([0, 1]), 0)
    expected = {(i, j) for i in range(6) for j in range(i + 1, 6)} - {(0, 1), (2, 3), (4, 5)}
    assert eyes.pairs == sorted(expected)


def test_of_too_many_pairs_five_hundred_are_drawn_in_order():
    heads = (Head("move", 30), Head("target", 30))
    eyes = Eyes(spec(heads), shown([5, 5]), 0)
    assert len(set(eyes.pairs)) == 500
    assert eyes.pairs == sorted(eyes.pairs)
    assert all(first < 30 <= second for first, second in eyes.pairs)
    assert {first for first, _ in eyes.pairs} == set(range(30))
    assert eyes.pairs == Eyes(spec(heads), shown([5, 5]), 0).pairs
    assert eyes.pairs != Eyes(spec(heads), shown([5, 5]), 1).pairs
    few = Eyes(spec((Head("move", 20), Head("target", 25))), shown([5, 5]), 0)
    assert len(few.pairs) == 500
    assert few.pairs == [(i, 20 + j) for i in range(20) for j in range(25)]


def test_sights_are_drawn_from_at_most_one_hundred_and_sixty_of_a_view():
    wide = np.tile(np.arange(12, dtype=np.float32)[:, None], (1, 20))
    fields = (Field("line", 20),)
    eyes = Eyes(spec(fields=fields), {"observation": wide, "privileged": wide}, 0)
    assert len(eyes.sights) == len(eyes.beyond) == 160


# One match of three seats in turn, seat 1 deciding twice, and one match that is never asked about.
# "move" is what was chosen at the decision; the view is one number.
ROWS = {
    "match": np.array([4, 4, 4, 4, 4, 6]),
    "turn": np.array([0, 1, 2, 3, 4, 0]),
    "seat": np.array([1, 2, 0, 1, 2, 1]),
    "observation": np.array([[0], [1], [1], [1], [0], [1]], np.float32),
    "privileged": np.array([[5], [6], [6], [5], [6], [5]], np.float32),
    "action": np.array([[1], [0], [1], [0], [1], [0]]),
}
SPEC = spec(seats=3, privileged=(Field("deck"),))


def test_columns_before_a_decision_are_named_for_that_one_the_last_and_earlier_ones():
    names = Eyes(SPEC, ROWS, 0).names_before()
    single = ["card = 0", "card = 1", "move 0 before", "move 1 before"]
    both = [f"card = {c} and move {m} before" for c in (0, 1) for m in (0, 1)]
    assert names == [
        *(f"{name} at that decision" for name in single + both),
        *(f"{name} at the decision before" for name in single),
        *(f"{name} at an earlier decision" for name in single + both),
    ]


def test_columns_after_a_decision_are_named_by_whose_view_it_is():
    expected = [f"deck = {v} in the privileged view" for v in (5, 6)]
    for whose in ("the seat", "the seat 1 after it", "the seat 2 after it"):
        for when in ("next", "later"):
            expected += [f"card = {v} in what {whose} sees {when}" for v in (0, 1)]
    assert Eyes(SPEC, ROWS, 0).names_after() == expected
    without = {name: column for name, column in ROWS.items() if name != "privileged"}
    assert Eyes(spec(seats=3), without, 0).names_after() == expected[2:]


def told(eyes, rows, targets):
    before, after, matches = eyes.look(rows, targets)
    names = (np.array(eyes.names_before()), np.array(eyes.names_after()))
    return [
        (match, set(names[0][b]), set(names[1][a]))
        for match, b, a in zip(matches, before, after, strict=True)
    ]


def test_a_look_tells_what_was_so_before_a_decision_and_after_it():
    ((match, before, after),) = told(Eyes(SPEC, ROWS, 0), ROWS, {4: (3, 1)})
    assert match == 4
    assert before == {
        # Seat 1 sees 1 now, having chosen 1 at its decision before, at which it saw 0.
        "card = 1 at that decision",
        "move 1 before at that decision",
        "card = 1 and move 1 before at that decision",
        "card = 0 at the decision before",
        "card = 0 at an earlier decision",
    }
    assert after == {
        "deck = 5 in the privileged view",
        # Seat 2 sees 0 afterwards; seats 0 and 1 are not asked again.
        "card = 0 in what the seat 1 after it sees next",
        "card = 0 in what the seat 1 after it sees later",
    }


def test_at_a_first_decision_nothing_was_before_and_much_comes_after():
    ((_, before, after),) = told(Eyes(SPEC, ROWS, 0), ROWS, {4: (0, 1)})
    assert before == {"card = 0 at that decision"}
    assert after == {
        "deck = 5 in the privileged view",
        "card = 1 in what the seat sees next",
        "card = 1 in what the seat sees later",
        "card = 1 in what the seat 1 after it sees next",
        "card = 1 in what the seat 1 after it sees later",
        "card = 0 in what the seat 1 after it sees later",
        "card = 1 in what the seat 2 after it sees next",
        "card = 1 in what the seat 2 after it sees later",
    }


def test_what_others_see_at_the_same_turn_comes_after_and_what_the_seat_itself_sees_does_not():
    rows = {
        "match": np.array([1, 1, 1]),
        "turn": np.array([0, 1, 1]),
        "seat": np.array([0, 0, 1]),
        "observation": np.array([[0], [1], [0]], np.float32),
        "action": np.array([[0], [0], [1]]),
    }
    ((_, before, after),) = told(Eyes(spec(), rows, 0), rows, {1: (1, 0)})
    assert "card = 1 at that decision" in before
    assert after == {
        "card = 0 in what the seat 1 after it sees next",
        "card = 0 in what the seat 1 after it sees later",
    }


def test_several_earlier_decisions_are_told_together_and_the_last_alone():
    rows = {
        "match": np.array([1, 1, 1]),
        "turn": np.array([0, 1, 2]),
        "seat": np.array([0, 0, 0]),
        "observation": np.array([[0], [1], [0]], np.float32),
        "action": np.array([[0], [1], [1]]),
    }
    ((_, before, _),) = told(Eyes(spec(seats=1), rows, 0), rows, {1: (2, 0)})
    assert before == {
        "card = 0 at that decision",
        "move 1 before at that decision",
        "card = 0 and move 1 before at that decision",
        "card = 1 at the decision before",
        "move 0 before at the decision before",
        "card = 0 at an earlier decision",
        "card = 1 at an earlier decision",
        "move 0 before at an earlier decision",
        "card = 1 and move 0 before at an earlier decision",
    }
    ((_, _, after),) = told(Eyes(spec(seats=1), rows, 0), rows, {1: (0, 0)})
    assert after == {
        "card = 1 in what the seat sees next",
        "card = 0 in what the seat sees later",
        "card = 1 in what the seat sees later",
    }


def test_a_decision_that_did_not_come_is_left_out():
    eyes = Eyes(SPEC, ROWS, 0)
    assert eyes.look(ROWS, {4: (2, 1), 5: (0, 1), 6: (0, 1)})[2] == [6]
    assert eyes.look(ROWS, {4: (9, 1), 6: (0, 2)})[2] == []
    assert [match for match, _, _ in told(eyes, ROWS, {4: (0, 1), 6: (0, 1)})] == [4, 6]


def test_a_view_that_never_changes_shows_only_choices():
    rows = ROWS | {"observation": np.ones((6, 1), np.float32)}
    eyes = Eyes(SPEC, rows, 0)
    assert eyes.sights == []
    assert eyes.names_before()[:2] == ["move 0 before at that decision", "move 1 before at that "
                                       "decision"]  # fmt: skip
    before, after, _ = eyes.look(rows, {4: (3, 1)})
    assert before.tolist() == [[False, True, False, False, False, False]]
    assert after.tolist() == [[True, False]]


def test_without_sights_and_choices_a_look_has_no_columns():
    rows = ROWS | {"observation": np.ones((6, 1), np.float32)}
    del rows["privileged"]
    before, after, matches = Eyes(spec((Head("huge", 161),), seats=3), rows, 0).look(
        rows, {4: (3, 1), 6: (0, 1)}
    )
    assert (before.shape, after.shape, matches) == ((2, 0), (2, 0), [4, 6])


def test_the_choice_before_is_that_of_the_same_seat_in_the_same_match():
    rows = {
        "match": np.array([1, 1, 1, 1, 2, 2, 2]),
        "turn": np.array([0, 0, 1, 1, 0, 1, 2]),
        "seat": np.array([0, 1, 0, 1, 1, 0, 0]),
        "action": np.array([[5, 1], [6, 2], [7, 3], [8, 4], [9, 5], [10, 6], [11, 7]]),
    }
    assert module._chosen_before(rows).tolist() == [
        [-1, -1],
        [-1, -1],
        [5, 1],
        [6, 2],
        [-1, -1],
        [-1, -1],
        [10, 6],
    ]
