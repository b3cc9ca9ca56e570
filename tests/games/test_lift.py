"""What the base of Python games adds to three hooks, on matches small enough to work by hand."""

from __future__ import annotations

import numpy as np
import pytest

from lanista.games import Facts, Field, GameError, Head, PythonGame, Step, Stream, View


class Scripted(PythonGame):
    """Seats move in the order of a script; each move pays what a table says.

    State: the moves so far. `pays` maps (turn, move) to the rewards of all seats.
    """

    script: tuple[int, ...] = (0, 1, 1, 0)
    pays: dict[tuple[int, int], tuple[float, ...]] = {}  # noqa: RUF012
    facts = Facts(seats=2, longest=10)
    observation = 2
    moves = 3

    def deal(self, rng):
        return []

    def view(self, state, seat):
        if len(state) == len(self.script) or self.script[len(state)] != seat:
            return None
        return View([len(state), seat], [0, 1, 2])

    def apply(self, state, moves, rng):
        (move,) = moves.values()
        rewards = self.pays.get((len(state), move), (0.0, 0.0))
        state.append(move)
        if len(state) < len(self.script):
            return Step(rewards=rewards)
        return Step(rewards=rewards, returns=[sum(state), -sum(state)])


def started(game_class, slots=1, **options):
    game = game_class(slots=slots)
    game.start(range(slots), range(slots), options or None)
    return game


def answer(game, *moves):
    """Answer all that is ready, one move for each row; return the slots that ended."""
    rows = np.arange(len(game.decisions()))
    return game.act(rows, np.array(moves)).tolist()


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


class LastStanding(PythonGame):
    """Three seats in turn; move 1 leaves the match at once for -1. The last one has 2."""

    facts = Facts(seats=3, longest=6, zero_sum=True)
    observation = 1
    moves = 2

    def deal(self, rng):
        return {"turn": 0, "left": [0, 1, 2]}

    def view(self, state, seat):
        mover = state["left"][state["turn"] % len(state["left"])]
        return View([state["turn"]], [0, 1]) if seat == mover else None

    def apply(self, state, moves, rng):
        ((seat, move),) = moves.items()
        if not move:
            state["turn"] += 1
            return None
        state["left"].remove(seat)
        paid = [-1.0 if other == seat else 0.0 for other in range(3)]
        if len(state["left"]) > 1:
            return Step(rewards=paid, out=[seat])
        (winner,) = state["left"]
        return Step(rewards=paid, returns=[2.0 if s == winner else -1.0 for s in range(3)])


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


# Simultaneous moves and several heads.


class Fingers(PythonGame):
    """Both seats show zero to two fingers, three times; odd sums go to seat 0."""

    facts = Facts(seats=2, longest=3, zero_sum=True, simultaneous=True)
    observation = 2
    moves = 3

    def deal(self, rng):
        return []

    def view(self, state, seat):
        return View([len(state), seat], [0, 1, 2])

    def apply(self, state, moves, rng):
        state.append((moves[0], moves[1]))
        sign = 1 if sum(state[-1]) % 2 else -1
        rewards = [sign, -sign]
        if len(state) < 3:
            return Step(rewards=rewards)
        total = sum(1 if sum(pair) % 2 else -1 for pair in state)
        return Step(rewards=rewards, returns=[total, -total])


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


# Chance.


class Dice(PythonGame):
    """Rolls before every turn; three turns."""

    facts = Facts(seats=1, longest=3, chance=True)
    observation = 2
    moves = 2

    def deal(self, rng):
        return [rng.below(6)]

    def view(self, state, seat):
        return View([state[-1], len(state)], [0, 1])

    def apply(self, state, moves, rng):
        if moves[0]:
            rng.below(2)  # A move may use up chance.
        state.append(rng.below(6))
        return [float(sum(state))] if len(state) == 4 else None


def test_chance_comes_from_the_stream_of_seed_and_deal():
    game = Dice(seed=5)
    game.start([0], [77], {"deal": 3})
    for _ in range(3):
        answer(game, 0)
    rng = Stream.keyed(5, 3, 0, "chance")
    assert game.returns[0, 0] == sum(rng.below(6) for _ in range(4))


def test_the_deal_is_the_match_id_unless_given():
    one, other = Dice(), Dice()
    one.start([0], [8])
    other.start([0], [1], {"deal": 8})
    assert one.draw(0) == other.draw(0)
    assert other.decisions().match.tolist() == [1]


# Saving.


def follow(game, slot, moves):
    """Answer one slot's decisions with `moves`; return what was seen."""
    seen = []
    for move in moves:
        decisions = game.decisions()
        row = int(np.flatnonzero(decisions.slot == slot)[0])
        seen.append((decisions.observation[row].tolist(), game.reward[slot].tolist()))
        game.act([row], [move])
    return [*seen, game.returns[slot].tolist(), game.reward[slot].tolist()]


def test_a_saved_match_goes_on_the_same_in_another_slot_and_object():
    game = Dice(slots=2, seed=5)
    game.start([0, 1], [3, 4])
    follow(game, 1, [1])
    saved = game.save([1, 0])
    rest = follow(game, 1, [0, 1])
    other = Dice(slots=5, seed=5)
    other.load([4, 2], saved)
    assert follow(other, 4, [0, 1]) == rest
    assert other.decisions().slot.tolist() == [2]
    assert other.decisions().match.tolist() == [3]


def test_an_answer_given_before_saving_is_kept():
    game = started(Fingers)
    game.decisions()
    game.act([0], [2])
    other = Fingers()
    other.load([0], game.save([0]))
    assert other.decisions().seat.tolist() == [1]
    other.act([0], [1])
    assert other.draw(0) == "[(2, 1)]"


def test_a_finished_match_can_be_saved():
    game = started(LastStanding)
    answer(game, 1)
    answer(game, 1)
    other = LastStanding()
    other.load([0], game.save([0]))
    assert len(other.decisions()) == 0
    assert other.returns.tolist() == game.returns.tolist()
    assert other.done.all()


def test_an_array_of_a_save_holds_no_object():
    assert all(not array.dtype.hasobject for array in started(Dice).save([0]).values())


def spoiled(**changes):
    game = started(Scripted)
    answer(game, 1)
    answer(game, 2)
    saved = game.save([0])
    kinds = {name: array.dtype for name, array in saved.items()}
    return saved | {name: np.array(v, kinds.get(name)) for name, v in changes.items()}


@pytest.mark.parametrize(
    "saved",
    [
        {},
        spoiled(history=[1, 7]),
        spoiled(history=[1, 2, 0]),
        spoiled(history=[1] * 9, lengths=[9]),
        spoiled(answers=[[[1], [-1]]]),
        spoiled(answers=[[[-1], [1]]]),
        spoiled(extra=[1]),
    ],
    ids=["nothing", "illegal", "too long", "past the end", "wrong seat", "no longer open", "extra"],
)
def test_what_is_not_a_saved_match_is_refused(saved):
    with pytest.raises(GameError, match="not saved matches of scripted"):
        Scripted().load([0], saved)


def test_a_save_that_is_refused_changes_nothing():
    game = started(Scripted, slots=2)
    answer(game, 1, 1)
    before = [game.draw(0), game.draw(1), game.decisions().turn.tolist(), game.reward.tolist()]
    with pytest.raises(GameError, match="not saved matches"):
        game.load([1], spoiled(history=[1, 7]))
    assert before == [
        game.draw(0),
        game.draw(1),
        game.decisions().turn.tolist(),
        game.reward.tolist(),
    ]


def test_a_save_of_another_seed_is_refused():
    saved = started(Dice).save([0])
    with pytest.raises(GameError, match="seed 1"):
        Dice(seed=1).load([0], saved)


def test_a_row_of_a_redrawn_match_is_refused():
    class Redrawn(Dice):
        def resample(self, state, seat, rng):
            pass

    game = started(Redrawn)
    game.decisions()
    game.resample_hidden(0, 0, Stream(1))
    with pytest.raises(GameError, match="another now"):
        game.act([0], [0])
    game.decisions()
    game.act([0], [0])


@pytest.mark.parametrize(("slot", "seat", "words"), [(-1, 0, "slot is -1"), (0, 2, "seat is 2")])
def test_only_seats_and_slots_that_are_there_are_redrawn(slot, seat, words):
    with pytest.raises(GameError, match=words):
        started(Dice).resample_hidden(slot, seat, Stream(1))


def test_a_match_with_redrawn_parts_cannot_be_saved():
    class Redrawn(Dice):
        def resample(self, state, seat, rng):
            pass

    game = started(Redrawn)
    game.resample_hidden(0, 0, Stream(1))
    with pytest.raises(GameError, match="redrawn"):
        game.save([0])


def test_redrawing_changes_the_chance_to_come():
    class Redrawn(Dice):
        def resample(self, state, seat, rng):
            pass

    futures = set()
    for key in range(20):
        game = started(Redrawn)
        game.resample_hidden(0, 0, Stream(key))
        futures.add(follow(game, 0, [0, 0, 0])[1][0][0])
    assert len(futures) > 1


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
