"""What does not fit together is refused and not cut to the shorter; what is saved has it all."""

from contextlib import ExitStack, closing

import numpy as np
import pytest
import torch

from lanista.data.trajectory import to_arrays
from lanista.games import make
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network
from lanista.rollout.collect_worker import take_up, weights_of
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.device_transfer import Lane
from lanista.rollout.inference.opponent_batch import OpponentBatch
from lanista.rollout.inference.policy_players import PolicyPlayer
from lanista.rollout.parallel_collector import ParallelCollector
from lanista.rollout.trajectory_builder import TrajectoryBuilder

torch.set_num_threads(1)
PLAIN, RECURRENT = Network(width=8, layers=1), Network(kind="lstm", width=6)


def actor_of(network, critic=False, seed=3):
    torch.manual_seed(seed)
    spec = make("leduc", slots=1, seed=0).spec
    policy = Policy(spec, network).eval()
    torch.nn.init.normal_(policy.head.weight)
    judge = Critic(spec, network, features=policy.torso.width) if critic else None
    return Actor(policy, seed, judge)


def seating(ids):
    """Let the learner meet both opponents, in either seat."""
    table = np.zeros((len(ids), 2), np.int32)
    table[np.arange(len(ids)), ids % 2] = 1 + ids % 4 // 2
    return table


def collector_of(own, *others):
    players = [PolicyPlayer(f"p{n}", f"d{n}", actor_of(kind, seed=n)) for n, kind in others]
    game = make("leduc", slots=5, seed=4)
    return Collector(game, actor_of(own), players, seating, unroll_length=2)


@pytest.mark.parametrize("own", [PLAIN, RECURRENT], ids=["plain", "recurrent"])
def test_a_stream_in_which_only_some_have_a_memory_goes_on_exactly(own):
    others = (4, PLAIN), (5, RECURRENT)
    one, other = collector_of(own, *others), collector_of(own, *others)
    one.unrolls(7)
    saved = one.save()
    assert [bool(memory) for memory in saved["memory"]] == [own is RECURRENT, False, True]
    other.load(saved)
    for _ in range(3):
        found, expected = to_arrays(other.unrolls(9)), to_arrays(one.unrolls(9))
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_a_stream_is_not_resumed_with_fewer_or_more_at_the_table():
    saved = collector_of(RECURRENT, (4, PLAIN), (5, RECURRENT))
    saved.unrolls(7)
    state = saved.save()
    for memory in (state["memory"][:-1], [*state["memory"], {}]):
        other = collector_of(RECURRENT, (4, PLAIN), (5, RECURRENT))
        with pytest.raises(ValueError, match=r"shorter|longer"):
            other.load({**state, "memory": memory})


def test_an_actor_takes_up_the_weights_of_all_its_networks_or_none_at_all():
    one, other = actor_of(PLAIN, critic=True), actor_of(PLAIN, critic=True, seed=5)
    take_up(one, weights_of(other))
    for mine, theirs in zip(weights_of(one), weights_of(other), strict=True):
        assert all(torch.equal(mine[name], theirs[name]) for name in theirs)
    with pytest.raises(ValueError, match=r"shorter|longer"):
        take_up(one, weights_of(actor_of(PLAIN)))
    with pytest.raises(ValueError, match=r"shorter|longer"):
        take_up(actor_of(PLAIN), weights_of(one))


def test_a_panel_is_told_how_many_rows_each_policy_has():
    players = [PolicyPlayer(f"p{n}", f"d{n}", actor_of(PLAIN, seed=n)) for n in range(2)]
    game = make("leduc", slots=4, seed=4)
    game.start(np.arange(4), np.arange(4))
    panel = OpponentBatch(players, Lane(torch.device("cpu")))
    for sizes in ([4], [2, 1, 1]):
        with pytest.raises(ValueError, match=r"shorter|longer"):
            panel.act(game.decisions(), np.arange(4), sizes)


def test_a_fleet_is_told_the_next_match_of_every_worker():
    def build(line=None):
        return Collector(make("leduc", slots=2, seed=4), actor_of(PLAIN), unroll_length=2)

    fleet = ParallelCollector([build, build], [0, 100], actor_of(PLAIN), 2)
    try:
        fleet.whole_matches(4)
        for numbers in ([7], [7, 8, 9]):
            with pytest.raises(ValueError, match=r"shorter|longer"):
                fleet.next_match = numbers
    finally:
        fleet.close()


@pytest.mark.parametrize("lag", [0, 1])
def test_matches_are_in_flight_after_unrolls_and_wherever_workers_play_ahead(lag):
    def build(line=None):
        return Collector(make("leduc", slots=2, seed=4), actor_of(PLAIN), unroll_length=2)

    def fleet():
        made = ParallelCollector([build, build], [0, 100], actor_of(PLAIN), 2, lag=lag)
        return stack.enter_context(closing(made))

    with ExitStack() as stack:
        whole, stream, again = fleet(), fleet(), fleet()
        assert [each.streaming for each in (whole, stream, again)] == [lag > 0] * 3
        whole.whole_matches(4)
        stream.unrolls(4)
        assert (whole.streaming, stream.streaming) == (lag > 0, True)
        again.load(stream.save())
        assert again.streaming


def test_a_tape_has_room_for_somewhat_more_rows_than_before_and_for_1024_at_least():
    game = make("leduc", slots=4, seed=4)
    rooms = []

    class Watched(TrajectoryBuilder):
        def write(self, *told):
            before = self.rows
            super().write(*told)
            if not before:
                rooms.append({len(column) for column in self.columns.values()})

    collector = Collector(game, actor_of(PLAIN), unroll_length=8)
    collector.tape = Watched(game, 8, 0.0, None, False, False)
    rows = [len(collector.whole_matches(matches).reward) for matches in (4, 1000, 4)]
    assert rows[0] < 1024 < rows[1]
    assert rooms == [{1024}, {1024}, {rows[1] + rows[1] // 8}]
