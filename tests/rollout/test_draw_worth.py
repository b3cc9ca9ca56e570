"""What a match that nobody won is worth to a learner: to the last decision, and to nobody else."""

import numpy as np
import pytest
import torch

from lanista.errors import LanistaError
from lanista.games import Facts, PythonGame, Step, View, make
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor

SMALL = Network(width=8, layers=1)
torch.set_num_threads(1)


class Paying(PythonGame):
    """Seats move in turn, twice each; what a move pays and how it ends is fixed beforehand."""

    name = "paying"
    observation = 2
    moves = 2
    facts = Facts(seats=2, longest=8, zero_sum=True)
    pays = ((0, 0), (0, 0), (0, 0), (0, 0))
    result = (0.0, 0.0)

    def deal(self, rng):
        return [0]

    def view(self, state, seat):
        mine = state[0] % self.facts.seats == seat
        return View([seat, state[0]], (0, 1)) if mine else None

    def apply(self, state, moves, rng):
        pay = self.pays[state[0]]
        state[0] += 1
        if state[0] == len(self.pays):
            return Step(rewards=pay, returns=self.result)
        return Step(rewards=pay)


def collector(game, length=64, **more):
    torch.manual_seed(1)
    return Collector(game, Actor(Policy(game.spec, SMALL), 3), unroll_length=length, **more)


def rewards(unrolls):
    """Return the rewards of each seat, in order."""
    order = np.lexsort((unrolls.turn, unrolls.seat))
    found = {}
    for row in order:
        found.setdefault(int(unrolls.seat[row]), []).append(float(unrolls.reward[row]))
    return found


def by_match(unrolls):
    """Return the sum of each seat's rewards in each match."""
    keys = zip(unrolls.match.tolist(), unrolls.seat.tolist(), strict=True)
    found = {}
    for key, reward in zip(keys, unrolls.reward.tolist(), strict=True):
        found[key] = found.get(key, 0.0) + reward
    return found


def test_the_last_decision_of_each_seat_gets_what_a_draw_is_worth():
    assert rewards(collector(Paying(1), draw=-0.25).whole_matches(1)) == {
        0: [0, -0.25], 1: [0, -0.25],
    }  # fmt: skip


@pytest.mark.parametrize("result", [(1.0, -1.0), (-1.0, 1.0)])
def test_a_match_that_somebody_won_is_left_as_it_is(result):
    class Won(Paying):
        pass

    Won.result = result
    first, second = result
    assert rewards(collector(Won(1), draw=-0.25).whole_matches(1)) == {
        0: [0, first], 1: [0, second],
    }  # fmt: skip


def test_what_was_paid_on_the_way_stays_and_all_of_it_comes_to_the_draw():
    class OnTheWay(Paying):
        pays = ((2, -2), (0, 0), (0, 0), (-1, 1))

    # Without a draw: seat 0 gets 2, then -1 and what is missing to its return of 0, which is -1.
    assert rewards(collector(OnTheWay(1)).whole_matches(1)) == {0: [2, -2], 1: [0, 2]}
    found = rewards(collector(OnTheWay(1), draw=-0.5).whole_matches(1))
    assert found == {0: [2, -2.5], 1: [0, 1.5]}
    # Seat 1 was paid -2 before its first decision; nobody can learn from that, with or without.
    assert sum(found[0]) == -0.5
    assert sum(found[1]) == 2 - 0.5


def test_two_who_share_the_first_of_three_places_have_no_draw():
    class Three(Paying):
        facts = Facts(seats=3, longest=8, zero_sum=True)
        pays = ((0, 0, 0),) * 3
        result = (0.5, 0.5, -1.0)

    class Even(Three):
        result = (0.0, 0.0, 0.0)

    assert rewards(collector(Three(1), draw=-1.0).whole_matches(1)) == {0: [0.5], 1: [0.5], 2: [-1]}
    assert rewards(collector(Even(1), draw=-1.0).whole_matches(1)) == {0: [-1], 1: [-1], 2: [-1]}


def test_a_match_that_was_broken_off_is_no_draw():
    class Broken(Paying):
        def apply(self, state, moves, rng):
            step = super().apply(state, moves, rng)
            return step if step.returns is None else Step(cut_off=True)

    made = collector(Broken(1), draw=-1.0)
    made._play_out(1)
    assert made.tape.columns["ended"][: made.tape.rows].sum() == 2
    assert made.tape.columns["reward"][: made.tape.rows].tolist() == [0.0] * 4


@pytest.mark.parametrize("draw", [-1.0, -0.5, 0.25])
def test_in_beasty_bar_each_seat_of_a_drawn_match_gets_exactly_the_draw_in_all(draw):
    plain, told = (
        collector(make("beastybar", slots=64, seed=4), length=4, draw=value).whole_matches(200)
        for value in (None, draw)
    )
    before, after = by_match(plain), by_match(told)
    drawn = {key for key, value in before.items() if value == 0}
    assert 4 < len(drawn) < 200
    assert all(after[key] == (draw if key in drawn else before[key]) for key in before)
    # Nothing else differs, and only the last decisions have rewards.
    for name in ("observation", "action", "ended", "match", "index", "log_prob"):
        assert np.array_equal(getattr(plain, name), getattr(told, name))
    assert not told.reward[~told.ended].any()


def test_a_stream_of_unrolls_has_the_same_rewards_as_whole_matches():
    def made():
        return collector(make("beastybar", slots=8, seed=4), length=4, draw=-0.5)

    whole, stream, found = by_match(made().whole_matches(40)), made(), {}
    for _ in range(60):
        unrolls = stream.unrolls(8)
        for row in np.flatnonzero(unrolls.ended):
            found[int(unrolls.match[row]), int(unrolls.seat[row])] = float(unrolls.reward[row])
    shared = whole.keys() & found.keys()
    assert len(shared) == 80
    assert -0.5 in found.values()
    assert all(whole[key] == found[key] for key in shared)


def test_the_tally_counts_draws_and_returns_as_the_game_says():
    def counted(draw):
        made = collector(make("beastybar", slots=64, seed=4), draw=draw)
        made.whole_matches(100)
        (count,) = made.tally.counts()
        return count

    plain, told = counted(None), counted(-1.0)
    assert plain == told
    assert told.pairs[0][1] > 0


def test_a_draw_of_zero_is_what_a_game_in_which_one_wins_what_the_other_loses_says():
    plain, told = (
        collector(make("beastybar", slots=64, seed=4), draw=value).whole_matches(64)
        for value in (None, 0.0)
    )
    assert np.array_equal(plain.reward, told.reward)


@pytest.mark.parametrize(("seats", "zero_sum"), [(2, False), (1, True)])
def test_a_game_whose_equal_places_need_not_be_a_draw_is_refused(seats, zero_sum):
    class Other(Paying):
        facts = Facts(seats=seats, longest=8, zero_sum=zero_sum)

    with pytest.raises(LanistaError, match=r"to be worth -1, and paying is not a zero-sum"):
        collector(Other(1), draw=-1.0)
    collector(Other(1))
