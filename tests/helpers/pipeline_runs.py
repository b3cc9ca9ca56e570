"""Small runs of every kind, and what tells two runs apart."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lanista.nets.files.policy_file import save_policy
from lanista.runs.checkpoints import Checkpoints
from lanista.runs.folder import folder_of
from lanista.runs.settings import RunSettings, load_settings
from lanista.training.learner_loop import lone_learner
from lanista.training.loop import train
from lanista.training.observers import Observer

CLOCKS = ("cpu_seconds", "wall_seconds")
"""What two runs may differ in."""
SMALL = {"width": 16, "layers": 1}

KUHN = {
    "game": "kuhn",
    "iterations": 8,
    "network": SMALL,
    "learning": {
        "terms": {"policy": 1.0, "value": 0.5, "magnet": {"kind": "linear", "start": 1, "end": 0}},
        "lr": {"kind": "on-plateau", "start": 0.01, "patience": 1},
        "epochs": 2,
        "minibatches": 2,
        "average_share": 0.5,
    },
    "rollouts": {"matches": 32, "slots": 10},
    "evaluation": {"every": 1, "bots": ["random"], "matches": 20},
    "checkpoints": {"save_every": 4, "keep_last": 9},
}
BEASTYBAR = {
    "game": "beastybar",
    "iterations": 4,
    "network": SMALL,
    "learning": {
        "terms": {"policy": 1.0, "value": 0.5, "entropy": 0.01, "behaviour": 0.1},
        "epochs": 2,
        "minibatches": 2,
    },
    "rollouts": {"matches": 12, "slots": 5, "opponents": ["self", "outcome=0.5"]},
    "checkpoints": {"save_every": 2},
}
ARENA = {
    "game": "arena",
    "game_settings": {"duration": 8.0},
    "iterations": 8,
    "learner_updates": 2,
    "network": SMALL,
    "learning": {
        "policy": "vtrace",
        "terms": {"policy": 1.0, "value": 0.5, "upgo": 1.0, "entropy": 0.01, "reference": 0.1},
        "reference_every": 5,
    },
    "rollouts": {"mode": "stream", "unrolls": 6, "unroll_length": 7, "slots": 3,
                 "opponents": ["self", "rusher"], "shaping_scale": 0.1},
    "replay": {"size": 20, "minimum": 8, "batch": 5, "reuse": 3, "staleness": 9,
               "sampling": "prioritised"},
    "checkpoints": {"save_every": 4},
}  # fmt: skip
REGRET = {
    "game": "leduc",
    "iterations": 6,
    "network": SMALL,
    "learning": {
        "policy": "regret",
        "lr": {"kind": "on-plateau", "start": 0.01, "patience": 1},
        "regret": {"steps": 4, "average_steps": 3, "batch": 64, "memory": 200},
    },
    "rollouts": {"matches": 20},
    "evaluation": {"every": 1, "bots": ["random"], "matches": 20},
    "checkpoints": {"save_every": 3, "keep_last": 9},
}
LSTM = {**ARENA, "network": {"kind": "lstm", **SMALL}}


class KilledError(BaseException):
    """Ends a run where it stands, as a kill would: nothing on the way out may catch it."""


class Killer(Observer):
    """An observer that ends the run when it is told of an update."""

    def __init__(self, update: int) -> None:
        self.update = update

    def updated(self, update: int, values: Any) -> None:
        if update == self.update:
            raise KilledError


class Listener(Observer):
    """An observer that remembers what was said."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.updates: list[int] = []

    def message(self, sentence: str) -> None:
        self.sentences.append(sentence)

    def updated(self, update: int, values: Any) -> None:
        self.updates.append(update)


def settings_of(values: dict[str, Any], **changes: Any) -> RunSettings:
    """Return settings with whole parts of them changed."""
    return load_settings({**values, **changes})


def killed(settings: RunSettings, output: Path, update: int, **how: Any) -> None:
    """Train until the run is told of `update`, and leave it there."""
    with suppress(KilledError):
        train(settings, output, observers=[Killer(update)], **how)
        raise AssertionError("the run was not killed")


def last_state(output: Path) -> dict[str, Any]:
    """Return the state in the newest checkpoint."""
    return Checkpoints(folder_of(output) / "checkpoints").newest_good()[1]["learners"]["main"]


def metrics(output: Path) -> list[tuple[int, str, float]]:
    """Return a run's rows without its clocks."""
    with closing(sqlite3.connect(folder_of(output) / "run.db")) as database:
        rows = database.execute("SELECT * FROM metrics ORDER BY update_number, name").fetchall()
    return [row for row in rows if row[1] not in CLOCKS]


def same(one: Any, other: Any, name: str = "") -> bool:
    """Say whether two states are the same to the last bit, clocks aside."""
    if name in CLOCKS:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k], str(k)) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one == other)


def same_run(one: Path, other: Path) -> bool:
    """Say whether two runs came to the same weights, optimiser, experience, numbers and file."""
    return (
        metrics(one) == metrics(other)
        and same(last_state(one), last_state(other))
        and one.read_bytes() == other.read_bytes()
    )


def untrained(values: dict[str, Any], path: Path, seed: int = 5) -> Path:
    """Write the policy that a run of `values` would begin with."""
    with closing(lone_learner(load_settings({**values, "seed": seed}), path.parent)) as training:
        save_policy(path, training.learner.policy, training.spec)
    return path
