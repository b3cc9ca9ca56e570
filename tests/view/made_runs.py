"""Runs for the pages: folders and tables as a run writes them, made by hand, and a real one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import yaml

from lanista.runs.database import RunDatabase
from lanista.runs.schema import LineupRow, NoticeRow, PlayerRow

LEARNER = PlayerRow(0, "main", "", "learner", "self", "main")


def made_run(
    folder: Path,
    *,
    updates: int = 20,
    iterations: int = 20,
    saved: int | None = None,
    settings: Mapping[str, Any] | None = None,
    scores: Mapping[str, float] | None = None,
    learner: str = "main",
    notice: str = "",
) -> Path:
    """Make a run of some updates; `saved` is its newest checkpoint, its last update unless given.

    `scores` are of its last evaluation, by opponent; each has an interval of ±0.05.
    """
    folder.mkdir(parents=True)
    values = {"game": "kuhn", "iterations": iterations, "seed": 0, **(settings or {})}
    (folder / "config.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    (folder / "checkpoints" / f"{updates if saved is None else saved:06d}").mkdir(parents=True)
    with closing(RunDatabase(folder / "run.db")) as database:
        database.add_rows([PlayerRow(0, learner, "", "learner", "self", "main")])
        for update in range(1, updates + 1):
            database.add(update, numbers(update))
        for name, score in (scores or {}).items():
            around = {f"score_low/{name}": score - 0.05, f"score_high/{name}": score + 0.05}
            database.add(updates, {f"score/{name}": score, **around})
        if scores:
            digests = ("1" * 64, "2" * 64)
            database.add_rows(
                [
                    LineupRow(
                        updates, 0, "evaluation", (learner, next(iter(scores))), digests, 1, 1, 1
                    )
                ]
            )
        if notice:
            database.add_rows([NoticeRow(updates, notice)])
    return folder


def numbers(update: int) -> dict[str, float]:
    """Return an update's numbers: 100 decisions in half a CPU second and 2 seconds."""
    return {
        "policy/loss": 1 / update, "value/loss": 2 / update, "policy/entropy/0": 1.0,
        "value/explained_variance": 0.5, "lag/mean": 1.0, "decisions": 100.0 * update,
        "matches": 10.0 * update, "cpu_seconds": 0.5 * update, "wall_seconds": 2.0 * update,
        "loss": 3 / update,
    }  # fmt: skip


@contextmanager
def real_run(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start `lanista rl` on Kuhn poker in a folder; it goes on until it is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable, "-m", "lanista", "rl", "--game", "kuhn", "--iterations", "100000",
        "--output", str(folder / "kuhn.safetensors"), "--cpu", *words,
    ]  # fmt: skip
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, **quiet)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def until(come: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait for something that is about to happen; on a busy machine that takes its time."""
    last = time.monotonic() + seconds
    while not come():
        assert time.monotonic() < last, "it did not happen"
        time.sleep(0.05)
