"""Whose time is whose, and that nobody works on for what is not wanted any more."""

import dataclasses
import gc
import os
import tempfile
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from race_game import First

from lanista.games import Facts, PythonGame, Step, View, make, make_bot
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout import Table, play, rotations
from lanista.rollout.chunks import Order
from lanista.rollout.collect_worker import CollectWorker, weights_of
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.launchers.in_process import Threaded
from lanista.rollout.launchers.shared_memory import Segment
from lanista.rollout.parallel_collector import ParallelCollector
from lanista.rollout.timing import (
    BATCH,
    INFER,
    OBSERVE,
    OPPONENTS,
    REST,
    SAMPLE,
    SIMULATE,
    WAIT,
    Phases,
)

torch.set_num_threads(1)


class Noted(Phases):
    """Phases that keep the order in which they came."""

    def __init__(self):
        super().__init__()
        self.order = []

    def switch(self, phase):
        self.order.append(phase)
        return super().switch(phase)


class Both(PythonGame):
    """Both seats choose once, and the match is over."""

    name = "both"
    facts = Facts(seats=2, longest=1, simultaneous=True)
    observation = 1
    moves = 2

    def deal(self, rng):
        return [0]

    def view(self, state, seat):
        return View([seat], (0, 1))

    def apply(self, state, moves, rng):
        return Step(returns=[0.0, 0.0])


def actor_of(spec):
    torch.manual_seed(0)
    return Actor(Policy(spec, Network(width=8, layers=1)), 0)


def against_a_bot(ids):
    return np.tile(np.array([[0, 1]], np.int32), (len(ids), 1))


def test_the_time_of_a_step_goes_to_what_is_done_in_it():
    game = Both(1)
    actor = actor_of(game.spec)
    phases = actor.phases = Noted()
    bot = make_bot("kuhn", "random", game.spec, 0)
    collector = Collector(game, actor, [bot], against_a_bot, unroll_length=2)
    with game.observing() as _:
        assert phases.order == [OBSERVE]
    phases.order.clear()
    collector.whole_matches(1)
    observed = [OBSERVE, SIMULATE]  # A lifted game looks while it starts and while it acts.
    assert phases.order == [
        SIMULATE, *observed, REST, OBSERVE, BATCH, OPPONENTS, f"{OPPONENTS}/random", OPPONENTS,
        BATCH, INFER, BATCH, INFER, BATCH, SAMPLE, BATCH, SIMULATE, BATCH, REST, BATCH, REST,
    ]  # fmt: skip


def crew_of():
    game = make("kuhn", slots=4, seed=0)
    crew = CollectWorker()
    crew.build(lambda line: Collector(game, actor_of(game.spec), unroll_length=4))
    return crew, Order("whole_matches", 8, 0, 1.0, 0.0, 1)


def test_what_passes_between_two_chunks_is_nobody_s_work():
    crew, order = crew_of()
    crew.collector.phases.wall["elsewhere"] = crew.collector.phases.cpu["elsewhere"] = 7.0
    played = crew.collect(order, weights_of(crew.collector.actor))
    assert "elsewhere" not in {**played.wall, **played.cpu}
    assert played.wall[INFER] > 0


def test_a_fleet_adds_up_what_its_workers_spent():
    crew, order = crew_of()
    played = crew.collect(order, weights_of(crew.collector.actor))
    fleet = ParallelCollector([None, None], [0, 0], crew.collector.actor, 2)
    for seconds in (1.0, 10.0):
        parts = [
            dataclasses.replace(
                played, wall={"a": share * seconds}, cpu={"b": seconds}, cpu_seconds=share
            )
            for share in (2.0, 3.0)
        ]
        fleet._joined(parts)
    assert fleet.cpu_seconds == 10.0
    assert fleet.elsewhere == [({"a": 22.0}, {"b": 11.0}), ({"a": 33.0}, {"b": 11.0})]
    assert fleet.tally.matches == 4 * 8


def test_central_inference_is_asked_for_its_times_without_its_waiting():
    game = make("kuhn", slots=1, seed=0)
    fleet = ParallelCollector([], [], actor_of(game.spec), 2)
    assert (fleet.server_times(), fleet.measured()) == (None, {})
    times = {WAIT: 1.0, INFER: 2.0}, {WAIT: 3.0, INFER: 4.0}
    fleet._central = SimpleNamespace(taken=lambda: times, measured=lambda: {"x": 1.0})
    assert fleet.server_times() == ({INFER: 2.0}, {INFER: 4.0})
    assert fleet.measured() == {"x": 1.0}


def test_a_thread_that_is_let_go_leaves_what_it_has_not_begun():
    begun, go_on, done = threading.Event(), threading.Event(), []

    def do(crew, what, told):
        done.append(told)
        begun.set()
        go_on.wait()

    worker = Threaded(do)
    for number in range(3):
        worker.ask("play", number)
    begun.wait()
    worker.let_go()
    go_on.set()
    worker.end(time.monotonic() + 60)
    assert done == [0]
    assert not worker._thread.is_alive()


class Failing(First):
    """Breaks down at once, and lets the others begin then."""

    failed = None

    def act(self, decisions, rows):
        self.failed.set()
        raise ZeroDivisionError("at once")


class Slow(First):
    """Plays as slowly as a person, once another has failed."""

    failed = None

    def act(self, decisions, rows):
        self.failed.wait()
        time.sleep(0.01)
        return super().act(decisions, rows)


def test_a_failure_stops_the_other_threads():
    failed, ended = threading.Event(), []
    tables = []
    for kind in (Failing, Slow):
        game = make("kuhn", slots=4, seed=0)
        players = kind(game.spec, 0), kind(game.spec, 0)
        for player in players:
            player.failed = failed
        tables.append(Table(game, players))
    with pytest.raises(ZeroDivisionError, match="at once"):
        play(tables, rotations(2, 2000), progress=ended.append)
    assert sum(ended) < 1000


def test_a_segment_that_cannot_be_mapped_lets_go_of_its_descriptor_once():
    with tempfile.TemporaryFile() as empty:
        descriptor = os.dup(empty.fileno())
    with pytest.raises(ValueError, match="empty"):
        Segment(descriptor)
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    with tempfile.TemporaryFile() as other:
        os.dup2(other.fileno(), descriptor)
        gc.collect()
        os.fstat(descriptor)  # It is another's by now, and stays open.
        os.close(descriptor)
    segment = Segment.create(4)
    segment.close()
    segment.close()
    os.fstat(1)
