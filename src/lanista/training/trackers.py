"""Mirrors of a run's numbers in other trackers. The run's own database stays the truth.

A tracker that is not installed or fails costs a sentence, never the run. The numbers of a pipeline
are mirrored by stage.
"""

from __future__ import annotations

import importlib
import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from lanista.files import write_text
from lanista.runs.serialise import plain
from lanista.training.observers import Observer

if TYPE_CHECKING:
    from lanista.runs.settings import RunSettings
    from lanista.training.imitate import Task

RUN_IDS = "wandb.json"


class TensorBoard(Observer):
    """Writes event files, for each stage of a pipeline in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        # Not used yet, but whether there is one should be known before the run begins.
        self.module: Any = importlib.import_module("torch.utils.tensorboard")
        self.folder = folder.absolute()
        self.stage = ""
        self.writer: Any = None

    def stage_started(self, name: str) -> None:
        self.stage = name

    def started(self, settings: RunSettings | Task, update: int) -> None:
        # What a killed run wrote after its checkpoint is hidden: these updates are made again.
        purge_step = update + 1 if update else None
        self.writer = self.module.SummaryWriter(
            os.fspath(self.folder / self.stage), purge_step=purge_step
        )
        text = yaml.safe_dump(_values(settings), sort_keys=False)
        self.writer.add_text("settings", f"```\n{text}```", update)

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, update)
        # A resumed run writes nothing again that its checkpoint was later than.
        self.writer.flush()

    def ended(self, *, failed: bool = False) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer = None


class WeightsAndBiases(Observer):
    """Logs to a project, each stage of a pipeline as a run; a resumed run goes on in its own.

    The package writes beside the run folder, or where WANDB_DIR says: it makes links that lead out
    of its folder, and a run folder with such links is not resumed.
    """

    def __init__(self, project: str, folder: Path) -> None:
        self.wandb: Any = importlib.import_module("wandb")
        self.project, self.folder = project, folder.absolute()
        self.stage = ""
        self.run: Any = None
        self.step = 0

    def stage_started(self, name: str) -> None:
        self.stage = name

    def started(self, settings: RunSettings | Task, update: int) -> None:
        # A run folder is FILE.run; that of a league or a pipeline has any name.
        file, is_file, _ = self.folder.name.rpartition(".run")
        name = Path(file).stem if is_file else self.folder.name
        self.run = self.wandb.init(
            project=self.project,
            group=name if self.stage else None,
            name=f"{name}/{self.stage}" if self.stage else name,
            id=self._run_id(resumed=update > 0),
            resume="allow",
            dir=os.environ.get("WANDB_DIR") or os.fspath(self.folder.parent),
            config=_values(settings),
            allow_val_change=True,
        )
        self.step = self.run.step
        self.run.define_metric("*", step_metric="update")

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        # A step that is not above the last one would be dropped, and a run that was killed makes
        # its last updates again; so charts go by the update.
        self.step = max(update, self.step + 1)
        self.run.log({"update": update, **values}, step=self.step, commit=True)

    def ended(self, *, failed: bool = False) -> None:
        if self.run is not None:
            self.run.finish(exit_code=int(failed))
            self.run = None

    def _run_id(self, *, resumed: bool) -> str:
        """Return the id of the run there, the one before where it is resumed."""
        path = self.folder / RUN_IDS
        try:
            run_ids = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            run_ids = {}
        key = self.stage or "run"
        if not resumed or not isinstance(run_ids.get(key), str):
            run_ids[key] = secrets.token_hex(4)
            write_text(path, json.dumps(run_ids) + "\n")
        return str(run_ids[key])


def _values(settings: RunSettings | Task) -> Any:
    """Return settings in plain form, with paths as text."""
    return json.loads(json.dumps(plain(settings), default=str))


@dataclass(frozen=True)
class Trackers:
    """Which trackers a user wants."""

    tensorboard: Path | None = None
    wandb: str | None = None

    def of(self, folder: Path, say: Callable[[str], None]) -> list[Observer]:
        """Return those of the run or pipeline in `folder`; a missing one is left out and said."""
        makers: dict[str, Callable[[], Observer]] = {}
        if (events := self.tensorboard) is not None:
            makers["tensorboard"] = lambda: TensorBoard(events)
        if (project := self.wandb) is not None:
            makers["wandb"] = lambda: WeightsAndBiases(project, folder)
        observers = []
        for package, make in makers.items():
            try:
                observers.append(make())
            except ImportError:
                say(
                    f"{package} is not installed, so nothing is mirrored there; "
                    f"pip install {package}."
                )
            except Exception as error:
                say(f"{package} cannot be used and is left out: {type(error).__name__}: {error}.")
        return observers
