"""A run that ends with a fault keeps its last complete iteration, and goes on from it exactly."""

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from pipeline_runs import KUHN, Listener, last_state, same, same_run, settings_of
from test_parallel_training import processes_of

from lanista.learn.learner import BrokenLossError
from lanista.nets.files.policy_file import load_policy
from lanista.rollout.launchers import restarts
from lanista.rollout.launchers.processes import WorkerError, WorkerProcess
from lanista.runs.checkpoints import Checkpoints
from lanista.runs.folder import folder_of
from lanista.training.loop import train
from lanista.training.observers import Observer

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
LONG = {**KUHN, "iterations": 8, "checkpoints": {"save_every": 100, "keep_last": 9}}
LEAGUE = {"league": {"round": 2, "main": {"snapshot_decisions": 40}}}


def spread(values, lag=0, launcher="processes", **more):
    rollouts = {**values["rollouts"], "workers": 2, "launcher": launcher, "lag": lag}
    return settings_of({**values, "rollouts": rollouts, **more})


class Plague(Observer):
    """From an update on, kills the processes that play as soon as they are there."""

    def __init__(self, update, monkeypatch):
        self.update, self.heard = update, []
        self.before = set(processes_of(os.getpid()))
        self.monkeypatch = monkeypatch
        monkeypatch.setattr(restarts, "FIRST_PAUSE", 0.0)

    def updated(self, update, values):
        if update == self.update:
            opened = WorkerProcess._open

            def doomed(worker):
                opened(worker)
                worker.process.kill()

            self.monkeypatch.setattr(WorkerProcess, "_open", doomed)
            for process in set(processes_of(os.getpid())) - self.before:
                os.kill(process, signal.SIGKILL)

    def message(self, sentence):
        self.heard.append(sentence)


def checkpoints(path):
    return Checkpoints(folder_of(path) / "checkpoints").numbers()


def tables(path):
    """Return all that a run recorded, but what was spent and said."""
    clocks = "name NOT LIKE '%_seconds'"
    with closing(sqlite3.connect(folder_of(path) / "run.db")) as database:
        rows = {"metrics": database.execute(f"SELECT * FROM metrics WHERE {clocks}").fetchall()}
        for table in ("players", "matchmaking", "training_games", "matches", "events"):
            rows[table] = database.execute(f"SELECT * FROM {table}").fetchall()
    return rows


@needs_proc
@pytest.mark.parametrize("more", [{}, LEAGUE], ids=["alone", "league"])
def test_workers_given_up_cost_no_update_and_the_resumed_run_is_the_unbroken_one(
    more, tmp_path, monkeypatch
):
    settings = spread(LONG, **more)
    with monkeypatch.context() as patched:
        plague = Plague(5, patched)
        with pytest.raises(WorkerError, match="died 6 times") as given_up:
            train(settings, tmp_path / "b" / "p.pt", observers=[plague])
    assert given_up.value.exit_code == 1
    assert checkpoints(tmp_path / "b" / "p.pt") == [0, 5]
    assert "iteration 5 was saved first, and resuming goes on from it." in plague.heard[-1]
    load_policy(tmp_path / "b" / "p.pt")
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert train(spread(LONG, launcher="serial", **more), tmp_path / "a" / "p.pt") == 0
    assert same(last_state(tmp_path / "a" / "p.pt"), last_state(tmp_path / "b" / "p.pt"))
    assert (tmp_path / "a" / "p.pt").read_bytes() == (tmp_path / "b" / "p.pt").read_bytes()
    assert tables(tmp_path / "a" / "p.pt") == tables(tmp_path / "b" / "p.pt")


@needs_proc
def test_workers_given_up_while_they_play_ahead_cost_no_update(tmp_path, monkeypatch):
    settings = spread(LONG, lag=1)
    with monkeypatch.context() as patched:
        plague = Plague(5, patched)
        with pytest.raises(WorkerError):
            train(settings, tmp_path / "p.pt", observers=[plague])
    assert "not exactly as the unbroken run" in plague.heard[-1]
    assert checkpoints(tmp_path / "p.pt")[-1] in (5, 6)
    assert train(settings, tmp_path / "p.pt", resume=True) == 0
    assert last_state(tmp_path / "p.pt")["iteration"] == 8


@pytest.mark.parametrize("fault", [ValueError("the table fell over"), MemoryError()])
def test_a_game_that_fails_costs_no_update_either(fault, tmp_path, monkeypatch):
    from lanista.rollout.collector import Collector

    played = Collector.whole_matches
    calls = []

    def failing(collector, matches):
        calls.append(matches)
        if len(calls) == 6:
            played(collector, 3)  # In the middle of what was asked for.
            raise fault
        return played(collector, matches)

    settings, listener = settings_of(LONG), Listener()
    with monkeypatch.context() as patched:
        patched.setattr(Collector, "whole_matches", failing)
        with pytest.raises(type(fault)):
            train(settings, tmp_path / "b" / "p.pt", observers=[listener])
    assert checkpoints(tmp_path / "b" / "p.pt") == [0, 5]
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert train(settings, tmp_path / "a" / "p.pt") == 0
    assert same_run(tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt")


def test_weights_of_a_broken_update_are_never_saved(tmp_path, monkeypatch):
    from lanista.learn.learner import Learner

    update, calls = Learner.update, []

    def breaking(learner, unrolls, **alone):
        calls.append(1)
        log = update(learner, unrolls, **alone)
        if len(calls) == 4:
            next(learner.policy.parameters()).data.fill_(np.nan)
            raise BrokenLossError("The loss is not finite.")
        return log

    monkeypatch.setattr(Learner, "update", breaking)
    with pytest.raises(BrokenLossError, match=r"The last good checkpoint is .*000000"):
        train(settings_of(LONG), tmp_path / "p.pt")
    assert checkpoints(tmp_path / "p.pt") == [0]
    assert not (tmp_path / "p.pt").exists()


def test_a_fault_in_the_middle_of_an_update_saves_nothing(tmp_path, monkeypatch):
    """The learner is no longer what the last complete iteration left."""
    from lanista.learn.learner import Learner

    update, calls = Learner.update, []

    def failing(learner, unrolls, **alone):
        calls.append(1)
        log = update(learner, unrolls, **alone)
        if len(calls) == 4:
            raise MemoryError
        return log

    monkeypatch.setattr(Learner, "update", failing)
    with pytest.raises(MemoryError):
        train(settings_of(LONG), tmp_path / "p.pt")
    assert checkpoints(tmp_path / "p.pt") == [0]


def test_a_fault_in_an_evaluation_saves_nothing_half_recorded(tmp_path, monkeypatch):
    from lanista.evaluation.evaluator import Evaluator

    measure, calls = Evaluator.measure, []

    def failing(evaluator, *given, **named):
        calls.append(1)
        if len(calls) == 4:
            raise ValueError("the judge fell over")
        return measure(evaluator, *given, **named)

    settings = settings_of(LONG)
    with monkeypatch.context() as patched:
        patched.setattr(Evaluator, "measure", failing)
        with pytest.raises(ValueError, match="fell over"):
            train(settings, tmp_path / "b" / "p.pt")
    assert checkpoints(tmp_path / "b" / "p.pt") == [0]
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert train(settings, tmp_path / "a" / "p.pt") == 0
    assert same_run(tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt")


def test_a_disk_that_is_full_at_the_end_leaves_the_last_checkpoint_and_the_first_fault(
    tmp_path, monkeypatch
):
    from lanista.rollout.collector import Collector

    played, calls = Collector.whole_matches, []

    def failing(collector, matches):
        calls.append(1)
        if len(calls) == 4:
            monkeypatch.setattr(Checkpoints, "save", full)
            raise ValueError("the table fell over")
        return played(collector, matches)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Collector, "whole_matches", failing)
    listener = Listener()
    with pytest.raises(ValueError, match="fell over"):
        train(settings_of(LONG), tmp_path / "p.pt", observers=[listener])
    assert checkpoints(tmp_path / "p.pt") == [0]
