"""What a fleet plays, against collectors that are told by hand what its orders say."""

import numpy as np
import pytest
import torch

from lanista.data.trajectory import to_arrays
from lanista.games import make, make_bot
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network
from lanista.rollout.collect_worker import CollectWorker
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.launchers.in_process import Inline, Threaded
from lanista.rollout.opponent_sampler import seating_of
from lanista.rollout.parallel_collector import ParallelCollector

torch.set_num_threads(1)
NETWORK = Network(width=8, layers=1)
FIRSTS = [0, 1000, 5000]
SEATING = seating_of([0, 1], [1.0, 1.0], 2, 4)


def networks():
    torch.manual_seed(0)
    spec = make("leduc", slots=1, seed=0).spec
    policy = Policy(spec, NETWORK)
    return policy, Critic(spec, NETWORK, features=policy.torso.width)


def random_bot(spec):
    return make_bot("leduc", "random", spec, 4)


class Build:
    def __init__(self, first):
        self.first = first

    def __call__(self, line=None):
        game = make("leduc", slots=4, seed=0)
        actor = Actor(networks()[0], 7, networks()[1])
        return Collector(game, actor, unroll_length=3, keep_log_probs=True, first_match=self.first)


def change(modules, number):
    """Give networks the weights of an update."""
    for at, module in enumerate(modules):
        torch.manual_seed(100 * number + at)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.normal_(0, 0.5)


def check_part(joined, own):
    """Hold a worker's share of a joined chunk against what it should be."""
    first, second = to_arrays(joined), to_arrays(own)
    # Columns and rows that only others' unrolls need are empty.
    for name in first.keys() - second.keys():
        assert name.startswith("next_")
        assert not first[name].any()
    steps = len(second["index"])
    assert (first["index"][steps:] == -1).all()
    first["index"] = first["index"][:steps]
    for name in second:
        assert np.array_equal(first[name], second[name]), name


@pytest.mark.parametrize("launcher", ["serial", "threads"])
@pytest.mark.parametrize("lag", [0, 1, 2])
@pytest.mark.parametrize("how", ["whole_matches", "unrolls"])
def test_every_chunk_is_played_with_the_weights_of_its_order_and_joined_by_worker(
    how, lag, launcher
):
    own = networks()
    builds = [Build(first) for first in FIRSTS]
    fleet = ParallelCollector(
        builds, FIRSTS, Actor(own[0], 7, own[1]), 2, launcher=launcher, lag=lag
    )
    fleet.meet([random_bot], SEATING)
    alone = [build() for build in builds]
    for collector in alone:
        collector.meet([random_bot(collector.game.spec)], SEATING)
    try:
        for call in range(5):
            change(own, call)
            fleet.update, fleet.actor.temperature = 10 * call, 1.0 + call
            fleet.tally.clear()
            found = getattr(fleet, how)(10)  # Four from each of three: at least ten.
            ordered = max(0, call - lag)
            parts, ended = [], []
            for collector in alone:
                change((collector.actor.policy, collector.actor.critic), ordered)
                collector.update, collector.actor.temperature = 10 * ordered, 1.0 + ordered
                collector.tally.clear()
                parts.append(getattr(collector, how)(4))
                ended.append(collector.tally.rows())
            lanes = np.cumsum([0, *(len(part) for part in parts)])
            for part, first, last in zip(parts, lanes, lanes[1:], strict=False):
                check_part(found.take(np.arange(first, last)), part.take(np.arange(len(part))))
            assert len(found) == lanes[-1]
            if not lag:
                assert fleet.next_match == [collector.next_match for collector in alone]
            assert {*found.update.tolist()} <= {10 * at for at in range(ordered + 1)}
            matches = [rows["match"] for rows in ended if rows]
            tallied = fleet.tally.rows().get("match", np.empty(0))
            assert tallied.tolist() == np.concatenate([np.empty(0), *matches]).tolist()
    finally:
        fleet.close()


@pytest.mark.parametrize("kind", [Inline, Threaded])
def test_a_worker_answers_in_the_order_it_was_asked_and_a_failure_in_its_place(kind):
    def do(crew, what, told):
        assert isinstance(crew, CollectWorker)
        if what == "fail":
            raise ZeroDivisionError(told)
        return what, told

    worker = kind(do)
    for number in range(3):
        worker.ask("play", number)
    worker.ask("fail", 3)
    worker.ask("play", 4)
    assert [worker.answer() for _ in range(3)] == [("play", 0), ("play", 1), ("play", 2)]
    with pytest.raises(ZeroDivisionError, match="3"):
        worker.answer()
    assert worker.answer() == ("play", 4)
    worker.let_go()


def test_a_loaded_fleet_knows_where_its_workers_are():
    one, other = (
        ParallelCollector(
            [Build(first) for first in FIRSTS], FIRSTS, Actor(networks()[0], 7, networks()[1]), 2
        )
        for _ in range(2)
    )
    try:
        for fleet in (one, other):
            fleet.meet([random_bot], SEATING)
        one.whole_matches(30)
        other.load(one.save())
        assert other.next_match == one.next_match == [10, 1010, 5010]
    finally:
        one.close()
        other.close()


def test_somebody_who_sits_there_already_goes_on_and_others_are_made_once():
    made = []

    def another(spec):
        made.append(random_bot(spec))
        return made[-1]

    crew = CollectWorker()
    crew.build(Build(0))
    crew.meet(([another, random_bot], SEATING))
    before = dict(crew.players)
    crew.meet(([random_bot, another], SEATING))
    assert len(made) == 1
    assert all(crew.players[make] is before[make] for make in (another, random_bot))
    assert [id(player) for player in crew.collector.opponents] == [
        id(before[make]) for make in (random_bot, another)
    ]
    crew.meet(([random_bot], SEATING))
    assert another not in crew.players
