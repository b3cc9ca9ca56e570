"""What the base of Python games adds to three hooks: rewards, places and ends, worked by hand."""

from __future__ import annotations

import pytest
from lifted_games import LastStanding, Scripted, answer, started

from lanista.games import Facts, GameError, PythonGame, Step, View

# Rewards.


class TwoSteps(Scripted):
    """One seat, two moves: the first pays 1 for move 1, the second pays 10 for move 2."""

    facts = Facts(seats=1, longest=2)
    script = (0, 0)
    pays = {(0, 1): (1.0,), (1, 2): (10.0,), (0, 0): (0.0,), (1, 0): (0.0,)}  # noqa: RUF012

    def apply(self, state, moves, rng):
        step = super().apply(state, moves, rng)
        return Step(rewards=step.rewards, returns=None if step.returns is None else [11.0])


def test_a_reward_lies_on_the_action_that_caused_it():
    game = started(TwoSteps)
    assert game.reward[0, 0] == 0
    answer(game, 1)
    # The next decision already knows what the first action brought.
    assert game.reward[0, 0] == 1
    answer(game, 2)
    assert game.reward[0, 0] == 10
    assert game.returns[0, 0] == 11


class Twice(Scripted):
    """Seat 0, then seat 1 twice in a row, then seat 0."""

    script = (0, 1, 1, 0)
    pays = {  # noqa: RUF012
        (0, 1): (1.0, -1.0),
        (1, 1): (-2.0, 2.0),
        (2, 1): (-4.0, 4.0),
        (3, 1): (8.0, -8.0),
    }

    def apply(self, state, moves, rng):
        step = super().apply(state, moves, rng)
        return Step(rewards=step.rewards, returns=None if step.returns is None else [3.0, -3.0])


def test_rewards_of_an_opponent_who_moves_twice_are_gathered():
    game = started(Twice)
    seen = []
    for _ in range(4):
        seat = int(game.decisions().seat[0])
        seen.append((seat, float(game.reward[0, seat])))
        answer(game, 1)
    # Seat 0's second decision carries all that came since its first: 1 - 2 - 4.
    assert seen == [(0, 0.0), (1, -1.0), (1, 2.0), (0, -5.0)]
    # Since its last decision seat 1 was paid 4 and lost 8; seat 0 won 8.
    assert game.reward[0].tolist() == [8.0, -4.0]
    assert game.returns[0].tolist() == [3.0, -3.0]


def test_what_a_return_holds_beyond_rewards_is_paid_at_the_end():
    game = started(Scripted)
    for move in (1, 2, 0, 1):
        answer(game, move)
    assert game.reward[0].tolist() == [4.0, -4.0]
    assert game.returns[0].tolist() == [4.0, -4.0]
    assert game.score[0].tolist() == [4.0, -4.0]
    assert game.place[0].tolist() == [1, 2]


def test_a_score_may_differ_from_the_returns_and_places_follow_returns():
    class Scored(Scripted):
        script = (0,)

        def apply(self, state, moves, rng):
            return Step(returns=[1.0, -1.0], score=[3.0, 7.0])

    game = started(Scored)
    answer(game, 0)
    assert game.score[0].tolist() == [3.0, 7.0]
    assert game.place[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("returns", "places"),
    [
        ([1, 1, 1], [1, 1, 1]),
        ([3, 5, 3], [2, 1, 2]),
        ([9, 9, 1], [1, 1, 3]),
        ([1, 2, 3], [3, 2, 1]),
    ],
)
def test_equals_share_a_place(returns, places):
    class Three(Scripted):
        facts = Facts(seats=3, longest=1)

        def apply(self, state, moves, rng):
            return returns

    game = started(Three)
    answer(game, 0)
    assert game.place[0].tolist() == places


# Ends.


def test_a_seat_can_be_out_before_its_match_ends():
    game = started(LastStanding)
    assert answer(game, 1) == []
    assert game.done[0].tolist() == [True, False, False]
    assert game.reward[0, 0] == -1
    assert game.decisions().seat.tolist() == [1]
    assert answer(game, 1) == [0]
    assert game.done[0].all()
    assert game.returns[0].tolist() == [-1, -1, 2]
    # What came to the first seat when it left is still there, once.
    assert game.reward[0].tolist() == [-1, -1, 2]
    assert game.place[0].tolist() == [2, 2, 1]


def test_a_seat_that_is_out_is_asked_no_more_though_it_could_still_see():
    class Talkative(PythonGame):
        """All seats choose at once, and `view` knows nothing of who is out."""

        facts = Facts(seats=3, longest=5, simultaneous=True)
        observation = 1
        moves = 2

        def deal(self, rng):
            return []

        def view(self, state, seat):
            return View([len(state)], [0, 1])

        def apply(self, state, moves, rng):
            state.append(sorted(moves))
            return Step(out=[len(state) - 1])

    game = Talkative()
    game.start([0], [0])
    for asked in ([0, 1, 2], [1, 2], [2]):
        decisions = game.decisions()
        assert decisions.seat.tolist() == asked
        if len(asked) > 1:
            game.act(range(len(asked)), [0] * len(asked))
    assert game.done.tolist() == [[True, True, False]]


def test_a_match_is_cut_off_at_its_longest():
    game = started(LastStanding)
    for _ in range(5):
        assert answer(game, 0) == []
    assert not game.cut_off.any()
    assert answer(game, 0) == [0]
    assert game.cut_off[0].all()
    assert game.done[0].all()
    assert game.returns[0].tolist() == [0, 0, 0]
    assert len(game.decisions()) == 0


def test_a_match_that_is_cut_off_keeps_what_was_paid():
    game = started(LastStanding)
    answer(game, 1)
    for _ in range(5):
        answer(game, 0)
    assert game.cut_off[0].all()
    assert game.returns[0].tolist() == [-1, 0, 0]


def test_a_match_that_ends_at_its_longest_turn_is_not_cut_off():
    game = started(LastStanding)
    for move in (0, 0, 0, 0, 1, 1):
        ended = answer(game, move)
    assert ended == [0]
    assert not game.cut_off.any()


def test_starting_again_forgets_the_last_match():
    game = started(LastStanding)
    answer(game, 1)
    answer(game, 1)
    game.start([0], [1])
    for array in (game.reward, game.returns, game.score, game.done, game.cut_off, game.place):
        assert not array.any()
    assert game.decisions().turn.tolist() == [0]


def test_a_game_that_waits_for_nobody_is_refused():
    class Stuck(Scripted):
        def view(self, state, seat):
            return None

    with pytest.raises(GameError, match="waits for nobody at turn 0"):
        started(Stuck)


# Recording.


def test_decisions_that_were_kept_do_not_change_with_the_match():
    class Growing(Scripted):
        """Shows a list that is its own state."""

        observation = 4

        def deal(self, rng):
            return [0, 0, 0, 0]

        def view(self, state, seat):
            return View(state, [0, 1, 2]) if seat == 0 else None

        def apply(self, state, moves, rng):
            state[state.index(0)] = 1 + moves[0]
            return None if 0 in state else [0, 0]

    game = started(Growing)
    kept = []
    for _ in range(3):
        kept.append(game.decisions().observation[0])
        answer(game, 1)
    assert [row.tolist() for row in kept] == [[0, 0, 0, 0], [2, 0, 0, 0], [2, 2, 0, 0]]
