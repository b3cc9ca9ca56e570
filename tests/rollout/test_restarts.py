"""A worker that dies: when it is started again, after which pause, and when it is given up."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lanista.data.trajectory import to_arrays
from lanista.games import make
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.launchers.processes import WorkerError
from lanista.rollout.launchers.restarts import Restarts
from lanista.rollout.parallel_collector import ParallelCollector

needs_proc = pytest.mark.skipif(sys.platform == "win32", reason="kills processes as Unix does")


@given(st.lists(st.integers(0, 5), max_size=40))
def test_up_to_five_barren_starts_between_two_that_deliver_are_never_given_up(barren_starts):
    restarts = Restarts()
    for barren in barren_starts:
        for number in range(barren):
            restarts.ended(-9)
            assert restarts.pause == 0.25 * 2**number
        assert not restarts.hopeless
        restarts.delivered()
        restarts.ended(-9)
        assert restarts.pause == 0
        assert not restarts.hopeless


@given(st.integers(0, 50), st.integers(1, 20))
def test_the_sixth_start_in_a_row_that_delivers_nothing_is_the_last(good, deliveries):
    restarts = Restarts()
    for _ in range(good):
        for _ in range(deliveries):
            restarts.delivered()
        restarts.ended(1)
    hopeless = []
    for code in range(6):
        restarts.ended(code)
        hopeless.append(restarts.hopeless)
    assert hopeless == [False] * 5 + [True]
    assert restarts.codes == [0, 1, 2, 3, 4, 5]


def actor():
    torch.manual_seed(0)
    return Actor(Policy(make("kuhn", slots=1, seed=0).spec, Network(width=8, layers=1)), 0)


class Dying:
    """Makes a collector, but kills its process in the first starts and counts them in a file."""

    def __init__(self, counted, deaths=0):
        self.counted, self.deaths = Path(counted), deaths

    def __call__(self, line=None):
        with self.counted.open("a") as file:
            file.write("start\n")
        if self.starts <= self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        return Collector(make("kuhn", slots=4, seed=0), actor(), unroll_length=4)

    @property
    def starts(self):
        return len(self.counted.read_text().splitlines())


@pytest.fixture
def pauses(monkeypatch):
    """The pauses before starts, which nobody waits for."""
    waited = []
    monkeypatch.setattr("lanista.rollout.launchers.processes.time", Clock(waited))
    return waited


class Clock:
    def __init__(self, waited):
        self.sleep, self.monotonic = waited.append, time.monotonic


@needs_proc
def test_a_worker_killed_after_every_delivery_goes_on_without_a_pause(tmp_path, pauses):
    build = Dying(tmp_path / "starts")
    fleet = ParallelCollector([build], [0], actor(), 2, launcher="processes")
    alone = Dying(tmp_path / "alone")()
    try:
        for _ in range(9):
            found = to_arrays(fleet.whole_matches(8))
            wanted = to_arrays(alone.whole_matches(8))
            assert all((found[name] == wanted[name]).all() for name in wanted)
            fleet._workers[0].process.kill()
            fleet._workers[0].process.join()
    finally:
        fleet.close()
    assert build.starts == 9
    assert pauses == [0] * 8
    assert len(fleet.notices) == 8


@needs_proc
def test_barren_starts_are_paused_ever_longer_and_forgotten_with_a_delivery(tmp_path, pauses):
    build = Dying(tmp_path / "starts", deaths=5)
    fleet = ParallelCollector([build], [0], actor(), 2, launcher="processes")
    try:
        assert len(fleet.whole_matches(8))
        assert build.starts == 6
        (tmp_path / "starts").write_text("")
        fleet._workers[0].process.kill()
        assert len(fleet.whole_matches(8))
    finally:
        fleet.close()
    assert pauses == [0.25, 0.5, 1, 2, 4, 0, 0.25, 0.5, 1, 2, 4]


@needs_proc
def test_six_barren_starts_are_the_end(tmp_path, pauses):
    build = Dying(tmp_path / "starts", deaths=6)
    fleet = ParallelCollector([build], [0], actor(), 2, launcher="processes")
    try:
        with pytest.raises(WorkerError, match=r"died 6 times .* codes -9, -9, -9, -9, -9, -9"):
            fleet.whole_matches(8)
    finally:
        fleet.close()
    assert build.starts == 6


class Environment:
    def __init__(self, path):
        self.path = path

    def __call__(self, line=None):
        self.path.write_text(os.environ.get("LANISTA_TEST_WORD", ""))
        return Collector(make("kuhn", slots=4, seed=0), actor(), unroll_length=4)


@needs_proc
def test_workers_have_the_environment_of_their_start(tmp_path, monkeypatch):
    """The server that they are forked from may have been there long before."""
    for word in ("one", "two"):
        monkeypatch.setenv("LANISTA_TEST_WORD", word)
        fleet = ParallelCollector(
            [Environment(tmp_path / word)], [0], actor(), 2, launcher="processes"
        )
        fleet.whole_matches(8)
        fleet.close()
        assert (tmp_path / word).read_text() == word
