"""A fleet whose workers fail or are closed: nobody reads an answer that is not theirs."""

import numpy as np
import pytest
import torch

from lanista.errors import LanistaError, RefusedError
from lanista.games import make, make_bot
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.launchers import restarts
from lanista.rollout.parallel_collector import ParallelCollector

NETWORK = Network(width=8, layers=1)


def actor():
    torch.manual_seed(0)
    return Actor(Policy(make("kuhn", slots=1, seed=0).spec, NETWORK), 0)


def kuhn(first, line=None):
    return Collector(make("kuhn", slots=4, seed=0), actor(), unroll_length=4, first_match=first)


class Build:
    """Makes a collector; one that refuses to be saved where it is told to."""

    def __init__(self, number, refuses=False):
        self.number, self.refuses = number, refuses

    def __call__(self, line=None):
        collector = kuhn(1000 * self.number)
        if self.refuses:
            collector.save = refuse
        return collector


def refuse():
    raise RefusedError("This one is not saved.")


@pytest.fixture(params=["serial", "threads", "processes"])
def fleet(request):
    builds = [Build(0, refuses=True), Build(1)]
    fleet = ParallelCollector(builds, [0, 1000], actor(), 2, launcher=request.param, lag=1)
    yield fleet
    fleet.close()


def test_after_a_failure_every_answer_belongs_to_its_question(fleet):
    fleet.meet([], seating)
    fleet.whole_matches(8)
    with pytest.raises(RefusedError, match="not saved"):
        fleet.save()
    assert fleet.next_match == [8, 1008]
    assert len(fleet.whole_matches(8)) > 0
    with pytest.raises(LanistaError, match="not saved"):
        fleet.save()


def test_a_closed_fleet_has_nothing_under_way(fleet):
    fleet.meet([], seating)
    fleet.whole_matches(8)
    fleet.close()
    fleet.close()
    assert [part["next_match"] for part in fleet.save()["workers"]] == [4, 1004]


def seating(matches):
    return np.zeros((len(matches), 2), np.int32)


def against_random(matches):
    return np.tile(np.array([0, 1], np.int32), (len(matches), 1))


def random_player(spec):
    return make_bot("kuhn", "random", spec, 0)


def test_who_takes_a_dead_one_s_place_meets_whom_it_met(monkeypatch):
    """Chunks that were ordered before a new company are played with the old one."""
    monkeypatch.setattr(restarts, "FIRST_PAUSE", 0.0)
    found = []
    for dies in (False, True):
        fleet = ParallelCollector([Build(0)], [0], actor(), 2, launcher="processes", lag=1)
        fleet.meet([random_player], against_random)
        fleet.whole_matches(5000)
        if dies:
            fleet._workers[0].process.kill()
        fleet.meet([random_player], seating)
        fleet.tally.clear()
        fleet.whole_matches(5000)
        found.append(fleet.tally.counts())
        said = list(fleet.notices)
        fleet.close()
    assert [count.seating for count in found[0]] == [(0, 1)]
    assert found[0] == found[1]
    assert len(said) == 1
