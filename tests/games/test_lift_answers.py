"""What the base of Python games does with answers: whole turns, several heads, and refusals."""

from __future__ import annotations

import pytest
from lifted_games import Fingers, Scripted, answer, started

from lanista.games import Facts, Field, GameError, Head, PythonGame, Step, View

# Simultaneous moves and several heads.


def test_a_simultaneous_turn_waits_for_every_answer():
    game = started(Fingers)
    assert game.decisions().seat.tolist() == [0, 1]
    game.act([1], [2])
    waiting = game.decisions()
    assert (waiting.seat.tolist(), waiting.turn.tolist()) == ([0], [0])
    game.act([0], [1])
    assert game.decisions().turn.tolist() == [1, 1]
    assert game.reward[0].tolist() == [1, -1]


def test_one_call_may_answer_parts_of_several_matches():
    game = started(Fingers, slots=3)
    assert game.decisions().slot.tolist() == [0, 0, 1, 1, 2, 2]
    game.act([5, 0, 4, 3], [1, 1, 1, 1])
    left = game.decisions()
    assert list(zip(left.slot.tolist(), left.seat.tolist(), left.turn.tolist(), strict=True)) == [
        (0, 1, 0),
        (1, 0, 0),
        (2, 0, 1),
        (2, 1, 1),
    ]


class Gunner(PythonGame):
    """Two heads: where to move, and whether to fire, which needs a shot. One shot in all."""

    facts = Facts(seats=1, longest=2)
    observation = (Field("shots", classes=2),)
    moves = (Head("move", 3), Head("fire", 2))

    def deal(self, rng):
        return {"shots": 1, "log": []}

    def view(self, state, seat):
        return View([state["shots"]], [[0, 2], [0, 1] if state["shots"] else [0]])

    def apply(self, state, moves, rng):
        state["log"].append(moves[0])
        state["shots"] -= moves[0][1]
        return [float(sum(map(sum, state["log"])))] if len(state["log"]) == 2 else None


def test_several_heads_lie_one_after_another_in_the_mask():
    game = started(Gunner)
    assert game.decisions().mask.tolist() == [[True, False, True, True, True]]
    game.act([0], [[2, 1]])
    # Without a shot the second head does not apply: one choice is left.
    assert game.decisions().mask.tolist() == [[True, False, True, True, False]]
    assert game.act([0], [[0, 0]]).tolist() == [0]
    assert game.returns.tolist() == [[3.0]]


@pytest.mark.parametrize("bad", [[1, 0], [0, 2], [0, -1], [3, 0]])
def test_each_head_is_held_to_its_own_choices(bad):
    game = started(Gunner)
    game.decisions()
    with pytest.raises(GameError, match=f"Action \\[{bad[0]}, {bad[1]}\\] is not legal"):
        game.act([0], [bad])


# Refusals: nothing changes.


@pytest.mark.parametrize(
    ("rows", "actions", "message"),
    [
        ([0], [3], "not legal"),
        ([0], [-1], "not legal"),
        ([0, 1], [1, 7], "not legal"),
        ([0, 0], [1, 1], "twice in one call"),
        ([2], [1], "2 are ready"),
        ([-1], [1], "2 are ready"),
        ([0], [[1, 1]], "one per decision and head"),
        ([0], [1.0], "whole numbers"),
        ([0.5], [1], "rows are float64"),
        ([True, False], [1, 1], "rows are bool"),
    ],
)
def test_a_wrong_answer_is_refused_and_changes_nothing(rows, actions, message):
    game = started(Scripted, slots=2)
    before = game.decisions()
    with pytest.raises(GameError, match=message):
        game.act(rows, actions)
    after = game.decisions()
    assert after.turn.tolist() == before.turn.tolist() == [0, 0]
    assert [game.draw(slot) for slot in range(2)] == ["[]", "[]"]


def test_a_row_is_answered_once_even_when_the_same_seat_moves_again():
    class Solo(Scripted):
        script = (0, 0, 0)

    game = started(Solo)
    game.decisions()
    game.act([0], [1])
    with pytest.raises(GameError, match="answered already"):
        game.act([0], [1])
    assert game.draw(0) == "[1]"


def test_a_row_of_a_match_that_was_left_is_refused():
    game = started(Scripted)
    game.decisions()
    game.start([0], [9])
    with pytest.raises(GameError, match="its match is another now; ask for decisions"):
        game.act([0], [1])


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (View([1, 2, 3], [0]), "shows 3 numbers instead of 2"),
        (View([1], [0]), "shows 1 numbers instead of 2"),
        (View([1, 2], []), "at least one choice"),
        (View([1, 2], [0, 3]), "each from 0 to 2"),
        (View([1, 300], [0]), "which uint8 changes"),
        (View([1, 0.5], [0]), "which uint8 changes"),
    ],
)
def test_a_view_that_does_not_fit_its_description_is_refused(view, message):
    class Odd(Scripted):
        dtype = "uint8"

        def view(self, state, seat):
            return view if seat == 0 else None

    with pytest.raises(GameError, match=message):
        started(Odd).decisions()


@pytest.mark.parametrize(
    "result",
    [1.0, False, [1.0], [1.0, 2.0, 3.0], Step(rewards=[1.0]), Step(returns=[0, 0], score=[1])],
)
def test_numbers_that_are_not_one_for_each_seat_are_refused(result):
    class Uneven(Scripted):
        def apply(self, state, moves, rng):
            return result

    game = started(Uneven)
    with pytest.raises(GameError, match="give a number to each of 2 seats"):
        answer(game, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([2], [0]), "Slot 2 is not in 0 to 1"),
        (([0, 1], [0]), "2 slots were started with 1 match ids"),
        (([0], [-1]), "one id of at least 0"),
        (([0], [0.5]), "match ids are float64"),
        (([0], [2**63]), "one id of at least 0"),
        (([0.5], [0]), "slots are float64"),
        (([0], [0], {"deal": [1, 2]}), "2 values for 1 matches"),
        (([0], [0], {"deal": 2**63}), "deal must lie in"),
        (([0], [0], {"size": 3}), "no match option 'size'"),
        (([0], [0], {"deal": -1}), "deal must lie in 0 to"),
    ],
)
def test_a_wrong_start_is_refused(arguments, message):
    with pytest.raises(GameError, match=message):
        Scripted(slots=2).start(*arguments)


@pytest.mark.parametrize("wrong", [{"slots": 0}, {"seed": -1}, {"seed": 2**63}])
def test_a_game_that_cannot_be_made_is_refused(wrong):
    with pytest.raises(GameError, match="give a number"):
        Scripted(**wrong)


# What is asked for beside answers.


def test_finished_slots_come_in_order_whatever_the_order_of_answers():
    game = started(Fingers, slots=4)
    for _ in range(2):
        answer(game, *[1] * 8)
    rows = [6, 1, 4, 0, 7, 3, 2, 5]
    game.decisions()
    ended = game.act(rows, [1] * 8)
    assert ended.tolist() == [0, 1, 2, 3]
    assert ended.dtype == "int32"


class Open(Scripted):
    """The same with a privileged view."""

    privileged_fields = (Field("all", 2),)

    def view_all(self, state, seat):
        return [len(state), 10 + seat]


def test_the_privileged_view_is_that_of_the_rows_and_refused_once_a_match_went_on():
    game = started(Open, slots=3)
    game.decisions()
    game.act([1], [0])
    with pytest.raises(GameError, match="row 1 has gone on"):
        game.privileged()
    game.decisions()
    assert game.privileged().tolist() == [[0, 10], [1, 11], [0, 10]]
    game.start([2], [9])
    with pytest.raises(GameError, match="row 2 has gone on"):
        game.privileged()
