"""Chance, saved matches and redrawn ones, as the base of Python games has them."""

from __future__ import annotations

import numpy as np
import pytest
from lifted_games import Fingers, LastStanding, Scripted, answer, started
from sound_games import Duel

from lanista.games import Facts, GameError, PythonGame, Step, Stream, View

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


# Copies.


def test_a_copy_of_a_match_goes_on_as_the_match_does_and_apart_from_it():
    game = Dice(slots=3, seed=5)
    game.start([0], [77])
    answer(game, 1)
    game.copy_matches([0, 0], [2, 1])
    assert game.decisions().match.tolist() == [77] * 3
    assert game.draw(0) == game.draw(1) == game.draw(2)
    while len(decisions := game.decisions()):
        # The one in slot 1 uses up chance, the others do not.
        game.act(np.arange(len(decisions)), (decisions.slot == 1).astype(np.int32)[:, None])
    loaded = Dice(slots=3, seed=5)
    loaded.start([0], [77])
    answer(loaded, 1)
    loaded.load([2, 1], loaded.save([0, 0]))
    while len(decisions := loaded.decisions()):
        loaded.act(np.arange(len(decisions)), (decisions.slot == 1).astype(np.int32)[:, None])
    assert game.returns.tolist() == loaded.returns.tolist()
    assert game.returns[0] == game.returns[2] != game.returns[1]


def test_a_copy_has_the_answers_and_the_pay_of_its_match():
    game = Fingers(slots=2)
    game.start([0], [3])
    decisions = game.decisions()
    game.act([0], [[int(np.flatnonzero(decisions.mask[0])[0])]])
    game.copy_matches([0], [1])
    assert game.decisions().slot.tolist() == [0, 1]
    assert game.decisions().seat.tolist() == [1, 1]
    saved = game.save([0, 1])
    assert all((array[:1] == array[1:2]).all() for array in (saved["match_ids"], saved["answers"]))


class KeepsItsStream(Dice):
    """Draws from the stream that it was dealt from and from the one of a turn: they are one."""

    def deal(self, rng):
        return [rng, rng.below(6)]

    def view(self, state, seat):
        return View([state[-1], len(state)], [0, 1])

    def apply(self, state, moves, rng):
        state.append(10 * state[0].below(6) + rng.below(6))
        return [float(sum(state[1:]))] if len(state) == 5 else None


class Suspended(Dice):
    """Holds a generator, of which Python makes no copy."""

    def deal(self, rng):
        return _Rolls(rng.below(6))


class _Rolls(list):
    def __init__(self, first):
        super().__init__([first])
        self.pending = (number for number in range(3))


class Paid(Dice):
    """Pays a part at every turn, and what is missing to the sum at the end."""

    def apply(self, state, moves, rng):
        state.append(rng.below(6))
        returns = [float(sum(state))] if len(state) == 4 else None
        return Step(rewards=[1.0 + state[-1]], returns=returns)


@pytest.mark.parametrize("kind", [KeepsItsStream, Paid, Suspended])
def test_a_copy_is_what_is_saved_and_loaded_whatever_the_state_holds(kind):
    ends = []
    for copied in (True, False):
        game = kind(slots=2, seed=5)
        game.start([0], [77])
        answer(game, 1)
        if copied:
            game.copy_matches([0], [1])
        else:
            game.load([1], game.save([0]))
        while len(decisions := game.decisions()):
            game.act(np.arange(len(decisions)), np.ones((len(decisions), 1), np.int32))
        ends.append([game.returns.tolist(), game.reward.tolist()])
    assert ends[0] == ends[1]
    assert all(first == copy for first, copy in ends[0])


def test_a_slot_without_a_match_has_no_copy():
    game = Dice(slots=2)
    with pytest.raises(GameError, match="Slot 0 has no match"):
        game.copy_matches([0], [1])


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


def test_matches_of_any_length_are_saved_together():
    game = Dice(slots=4, seed=5)
    game.start(range(4), [30, 31, 32, 33])
    played = {0: [1, 0], 1: [0], 2: [], 3: [1, 1]}
    for slot, moves in played.items():
        follow(game, slot, moves)
    order = [3, 0, 2, 1]
    saved = game.save(order)
    assert saved["lengths"].tolist() == [2, 2, 0, 1]
    other = Dice(slots=4, seed=5)
    other.load(range(4), saved)
    for new, old in enumerate(order):
        rest = [1] * (3 - len(played[old]))
        assert other.draw(new) == game.draw(old)
        assert follow(other, new, rest) == follow(game, old, rest)


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


def test_lengths_below_0_are_refused_though_they_add_up():
    """Read as slices from the end, they would give each match its own answers."""
    game = Duel(2, 0)
    game.start([0, 1], [0, 1])
    game.decisions()
    game.act([0, 1], [0, 0])
    saved = game.save([0, 1])
    first, second = saved["lengths"].tolist()
    assert (first, second) == (1, 1)
    game.load([0, 1], saved)
    wrong = saved | {"lengths": np.array([-second, first + 2 * second])}
    with pytest.raises(GameError, match="not saved matches"):
        game.load([0, 1], wrong)


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


def test_a_save_that_is_refused_gives_back_what_was_paid_and_who_is_out():
    game = started(LastStanding, slots=2)
    answer(game, 1, 0)
    names = ("reward", "returns", "score", "place", "done", "cut_off", "_paid")
    before = {name: getattr(game, name).copy() for name in names}
    assert game.reward[0].tolist() == [-1, 0, 0]
    saved = game.save([0, 1])
    saved["history"][0] = 7
    with pytest.raises(GameError, match="not saved matches"):
        game.load([0, 1], saved)
    for name in names:
        np.testing.assert_array_equal(getattr(game, name), before[name], name)
    while len(decisions := game.decisions()):
        game.act(range(len(decisions)), [1] * len(decisions))
    assert game.returns.tolist() == [[-1, -1, 2], [2, -1, -1]]
    assert game.reward[0].tolist() == [-1, -1, 2]


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


class Sized(Scripted):
    """The same with a setting."""

    def __init__(self, slots=1, seed=0, size=1):
        super().__init__(slots, seed, size=size)


def test_a_save_of_other_rules_or_other_settings_is_refused():
    class Later(Sized):
        name = "sized"
        facts = Facts(seats=2, longest=10, rules_version=2)

    game = Sized(size=1)
    game.start([0], [0])
    saved = game.save([0])
    Sized(size=1).load([0], saved)
    for other in (Sized(size=2), Later(size=1)):
        with pytest.raises(GameError, match="these settings, rules version"):
            other.load([0], saved)
