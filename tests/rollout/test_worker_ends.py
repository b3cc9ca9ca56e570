"""How workers in threads and processes begin and end, and what those they start are left with."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from lanista.errors import LanistaError
from lanista.games import make
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout import parallel_collector as module
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.parallel_collector import ParallelCollector

needs_unix = pytest.mark.skipif(sys.platform == "win32", reason="processes as Unix has them")
torch.set_num_threads(1)


def actor():
    torch.manual_seed(0)
    return Actor(Policy(make("kuhn", slots=1, seed=0).spec, Network(width=8, layers=1)), 0)


class Watched:
    """Makes a collector that takes a while to close and writes down that it did."""

    def __init__(self, path, seconds=0.2):
        self.path, self.seconds = Path(path), seconds

    def __call__(self, line=None):
        collector = Collector(make("kuhn", slots=4, seed=0), actor(), unroll_length=4)
        collector.close = self.close
        return collector

    def close(self):
        time.sleep(self.seconds)
        self.path.write_text("closed")


@needs_unix
@pytest.mark.parametrize("launcher", ["serial", "threads", "processes"])
def test_a_worker_has_the_time_to_close_its_game(tmp_path, launcher):
    fleet = ParallelCollector([Watched(tmp_path / "end")], [0], actor(), 2, launcher=launcher)
    fleet.whole_matches(8)
    worker = fleet._workers[0]
    fleet.close()
    assert (tmp_path / "end").read_text() == "closed"
    if launcher == "threads":
        assert not worker._thread.is_alive()
    if launcher == "processes":
        assert worker.process.exitcode == 0


@needs_unix
def test_a_process_that_does_not_end_is_killed_when_the_patience_is_over(tmp_path, monkeypatch):
    assert module.PATIENCE == 10
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    fleet = ParallelCollector(
        [Watched(tmp_path / "end", 600)], [0], actor(), 2, launcher="processes"
    )
    fleet.whole_matches(8)
    process = fleet._workers[0].process
    fleet.close()
    assert process.exitcode == -signal.SIGKILL
    assert not (tmp_path / "end").exists()


class Signals:
    """Makes a collector and writes down which signals its process holds back and ignores."""

    def __init__(self, path):
        self.path = Path(path)

    def __call__(self, line=None):
        held = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        heeded = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        ignored = [handler == signal.SIG_IGN for handler in heeded]
        self.path.write_text(f"{sorted(held)} {ignored} {torch.get_num_threads()}")
        return Collector(make("kuhn", slots=4, seed=0), actor(), unroll_length=4)


@needs_unix
def test_a_process_ignores_the_signals_of_its_parent_and_holds_none_back(tmp_path):
    """What a game starts inherits what is held back, and could not be ended."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    fleet = ParallelCollector(
        [Signals(tmp_path / "signals")], [0], actor(), 2, launcher="processes"
    )
    fleet.whole_matches(8)
    fleet.close()
    assert (tmp_path / "signals").read_text() == "[] [True, True] 1"
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


class Parent:
    """Tries to start a process that would outlive the worker."""

    def __call__(self, line=None):
        multiprocessing.get_context("fork").Process(target=os.getpid).start()


@needs_unix
def test_a_worker_starts_no_process_that_would_outlive_it():
    fleet = ParallelCollector([Parent()], [0], actor(), 2, launcher="processes")
    with pytest.raises(LanistaError, match="daemonic processes are not allowed"):
        fleet.whole_matches(8)


def test_a_thread_ends_with_the_program_and_leaves_the_learner_s_autocast():
    seen = []

    def build(line=None):
        collector = Collector(make("kuhn", slots=4, seed=0), actor(), unroll_length=4)

        def look(*_):
            cached = torch.is_autocast_cache_enabled()
            enabled = torch.is_autocast_enabled("cpu")
            seen.append((threading.current_thread().daemon, enabled, cached))

        collector.actor.policy.torso.register_forward_pre_hook(look)
        return collector

    fleet = ParallelCollector([build], [0], actor(), 2, launcher="threads")
    with torch.autocast("cpu", torch.bfloat16):
        fleet.whole_matches(8)
    fleet.close()
    assert {*seen} == {(True, False, False)}
