"""Processes that play on the learner's GPU: the numbers of threads, killed and going on."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from test_gpu_runs import RUN

from lanista.learn.learner import Learner
from lanista.rollout.launchers.chunks_to_device import ChunksToDevice
from lanista.rollout.launchers.shared_memory import Segment
from lanista.runs.settings import RunSettings, load_settings
from lanista.training.loop import train
from lanista.training.observers import Observer

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU")

PROCESSES = {"workers": 2, "launcher": "processes", "processes_on_gpu": True}


def settings_with(iterations: int = 3, **rollouts: Any) -> RunSettings:
    given = {**RUN["rollouts"], **PROCESSES, **rollouts}
    return load_settings({**RUN, "iterations": iterations, "rollouts": given})


class Heard(Observer):
    """Keeps what is said and logged; kills a process that plays after the update `kills`."""

    def __init__(self, kills: int = 0) -> None:
        self.kills, self.before = kills, grandchildren()
        self.sentences: list[str] = []
        self.logs: list[dict[str, Any]] = []

    def updated(self, update: int, values: Any) -> None:
        self.logs.append(dict(values))
        if update == self.kills:
            os.kill(min(grandchildren() - self.before), signal.SIGKILL)

    def message(self, sentence: str) -> None:
        self.sentences.append(sentence)


def grandchildren() -> set[int]:
    """Return the processes that descendants of this one started: those that play."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    own = {process for process, parent in parents.items() if parent == os.getpid()}
    return {process for process, parent in parents.items() if parent in own}


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("graphs", [False, True])
def test_they_learn_on_the_gpu_what_threads_do_and_go_on(
    lag: int, graphs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = Learner.update

    def watched(self: Learner, unrolls: Any, **how: Any) -> Any:
        assert unrolls.index.is_cuda
        return learn(self, unrolls, **how)

    monkeypatch.setattr(Learner, "update", watched)
    heard = {}
    for launcher in ("threads", "processes"):
        settings = settings_with(launcher=launcher, lag=lag, graphs=graphs)
        heard[launcher] = Heard()
        output = tmp_path / f"{launcher}.pt"
        assert train(settings, output, observers=[heard[launcher]]) == 0
    first, second = (heard[name].logs[0] for name in ("threads", "processes"))
    for name in ("decisions", "matches"):
        assert first[name] == second[name]
    for name in ("policy/loss", "value/loss"):
        assert first[name] == pytest.approx(second[name], rel=1e-3, abs=1e-5)
    more = settings_with(5, lag=lag, graphs=not graphs)
    assert train(more, tmp_path / "processes.pt", resume=True) == 0


def test_one_that_is_killed_is_started_again_and_its_memory_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, pinned, addresses = Heard(kills=2), set(), []
    pin, unpin = ChunksToDevice.pin, ChunksToDevice.unpin

    def pinning(self: ChunksToDevice, segment: Segment) -> None:
        pin(self, segment)
        pinned.add(segment.buffer.ctypes.data)
        addresses.append(segment.buffer.ctypes.data)

    def unpinning(self: ChunksToDevice, segment: Segment) -> None:
        pinned.remove(segment.buffer.ctypes.data)
        unpin(self, segment)

    monkeypatch.setattr(ChunksToDevice, "pin", pinning)
    monkeypatch.setattr(ChunksToDevice, "unpin", unpinning)
    assert train(settings_with(6, lag=1, graphs=True), tmp_path / "p.pt", observers=[heard]) == 0
    assert sum("was started again" in sentence for sentence in heard.sentences) == 1
    assert len(heard.logs) == 6
    assert len(addresses) >= 6
    assert not pinned
