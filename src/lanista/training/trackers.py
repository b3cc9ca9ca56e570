"""Mirrors of a run's numbers in other trackers. The run's own database stays the truth.

A tracker that is not installed or fails costs a sentence, never the run.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanista.runs.serialise import plain
from lanista.training.observers import Observer

if TYPE_CHECKING:
    from lanista.runs.settings import RunSettings
    from lanista.training.imitate import Task


class TensorBoard(Observer):
    """Writes event files."""

    def __init__(self, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer: Any = SummaryWriter(str(folder))

    def started(self, settings: RunSettings | Task, update: int) -> None:
        self.writer.add_text("settings", str(plain(settings)), update)

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, update)

    def ended(self) -> None:
        self.writer.close()


class WeightsAndBiases(Observer):
    """Logs to a project; WANDB_MODE=offline keeps it on this machine."""

    def __init__(self, project: str, output: Path) -> None:
        self.wandb: Any = importlib.import_module("wandb")
        self.project, self.output = project, output
        self.run: Any = None

    def started(self, settings: RunSettings | Task, update: int) -> None:
        folder = self.output.parent / f"{self.output.name}.run"
        self.run = self.wandb.init(
            project=self.project,
            name=self.output.stem,
            dir=os.fspath(folder),
            config=plain(settings),
            resume="allow",
        )

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        self.run.log(dict(values), step=update)

    def ended(self) -> None:
        if self.run is not None:
            self.run.finish()


def mirrors(
    tensorboard: Path | None, wandb: str | None, output: Path, say: Callable[[str], None]
) -> list[Observer]:
    """Return the mirrors asked for; one that cannot be had is said and left out."""
    made: list[Observer] = []
    wanted: list[tuple[str, Callable[[], Observer]]] = []
    if tensorboard is not None:
        wanted.append(("tensorboard", lambda: TensorBoard(tensorboard)))
    if wandb is not None:
        wanted.append(("wandb", lambda: WeightsAndBiases(wandb, output)))
    for package, make in wanted:
        try:
            made.append(make())
        except ImportError:
            say(f"{package} is not installed, so nothing is mirrored there; pip install {package}.")
        except Exception as error:
            say(f"{package} cannot be used and is left out: {type(error).__name__}: {error}.")
    return made
