"""A run's folder: config.yaml, run.db, checkpoints/ and policies/; one process at a time.

A folder appears whole, with its first checkpoint, or not at all. Knows nothing of learning.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from lanista.errors import LanistaError, RefusedError
from lanista.files import remove_leftovers, write_bytes, write_text
from lanista.foreign import checked_digest, refuse_unsafe_folder
from lanista.lock import holding
from lanista.runs.checkpoints import CheckpointError, Checkpoints, read_state
from lanista.runs.database import RunDatabase
from lanista.runs.layout import CHECKPOINTS, CONFIG, DATABASE, EXPLOITERS, POLICIES
from lanista.runs.settings import RunSettings, load_settings, to_yaml


def folder_of(output: Path) -> Path:
    """Return the run folder of an output file."""
    return output.parent / f"{output.name}.run"


def saved_settings(folder: Path) -> RunSettings:
    """Return the settings that the run in a folder was begun with."""
    if not folder.is_dir():
        raise LanistaError(f"There is no run {folder} to resume; leave out --resume to begin it.")
    refuse_unsafe_folder(folder)
    return load_settings(folder / CONFIG)


def policy_path(folder: Path, digest: str) -> Path:
    """Return where a run keeps a policy; refuse what is no digest, and could lead anywhere."""
    return folder / POLICIES / f"{checked_digest(digest)}.safetensors"


def bot_path(folder: Path, digest: str) -> Path:
    """Return where a run keeps the Python file of a bot."""
    return folder / POLICIES / f"{checked_digest(digest)}.py"


def create(
    output: Path,
    folder: Path,
    settings: RunSettings,
    files: Mapping[str, bytes],
    first: Callable[[Path], Mapping[str, Any]],
) -> None:
    """Make the folder of a new run; `first` gives its first state, once `files` are there."""
    refuse_existing(output, folder)
    _remove_unborn(folder)
    unborn = folder.parent / f".{folder.name}-{os.getpid()}.part"
    try:
        unborn.mkdir(parents=True)
        write_text(unborn / CONFIG, to_yaml(settings))
        (unborn / POLICIES).mkdir()
        for name, data in files.items():
            write_bytes(unborn / POLICIES / name, data)
        Checkpoints(unborn / CHECKPOINTS).save(0, first(unborn))
        RunDatabase(unborn / DATABASE).close()
        _give_name(unborn, folder)
    except BaseException:
        shutil.rmtree(unborn, ignore_errors=True)
        raise


def _give_name(unborn: Path, folder: Path) -> None:
    """Let a finished folder take its name; refuse if another process was quicker."""
    try:
        if folder.exists():
            folder.rmdir()
        unborn.replace(folder)
    except OSError as error:
        if not folder.is_dir() or not any(folder.iterdir()):
            raise
        raise RefusedError(
            f"Another process began a run at {folder} at the same time; wait for it or stop it, or "
            "choose another output."
        ) from error


def refuse_existing(output: Path, folder: Path) -> None:
    """Refuse a place for a new run where there is something already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RefusedError(
            f"There is a run or something else at {folder} already; resume it with --resume, or "
            "choose another output."
        )
    if output.exists():
        raise RefusedError(
            f"{output} exists and belongs to no run here; choose another --output or move it away."
        )


def _remove_unborn(folder: Path) -> None:
    """Remove what starts that were killed left beside `folder`."""
    shape = re.compile(re.escape(f".{folder.name}-") + r"(\d+)\.part")
    for path in folder.parent.glob(".*.part"):
        match = shape.fullmatch(path.name)
        if match and (int(match[1]) == os.getpid() or not _running(int(match[1]))):
            shutil.rmtree(path, ignore_errors=True)


def _running(process: int) -> bool:
    if os.name == "nt":
        return True  # Asking would signal the process there; leave its folder alone.
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def refuse_renamed(checkpoint: Path, iteration: int, state: Mapping[str, Any]) -> None:
    """Refuse a checkpoint whose folder has the number of another iteration than it holds."""
    for learner in state["learners"].values():
        if learner["iteration"] != iteration:
            raise RefusedError(
                f"{checkpoint} holds iteration {learner['iteration']}, so the folder was renamed; "
                f"rename it to {learner['iteration']:06d}."
            )


class Run:
    """An open run folder; a context, since it is held against other processes meanwhile."""

    def __init__(self, output: Path, folder: Path | None = None) -> None:
        self.output, self.folder = output, folder or folder_of(output)
        refuse_unsafe_folder(self.folder)
        self.checkpoints = Checkpoints(self.folder / CHECKPOINTS)
        self._held = ExitStack()
        self._held.enter_context(holding(self.folder, "run"))
        try:
            self.checkpoints.remove_leftovers()
            inside = (self.folder / name for name in ("", POLICIES, EXPLOITERS))
            for place in (*inside, output.parent):
                remove_leftovers(place)
            _remove_unborn(self.folder)
            self.metrics = RunDatabase(self.folder / DATABASE)
        except BaseException:
            self._held.close()
            raise

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.metrics.close()
        self._held.close()

    def state(self, checkpoint: Path | None) -> tuple[int, dict[str, Any], list[str]]:
        """Return the iteration and state to go on from, and sentences on what is damaged."""
        if checkpoint is None:
            return self.checkpoints.newest_good()
        here = self.checkpoints.folder.resolve()
        if not checkpoint.is_dir() or checkpoint.resolve().parent != here:
            raise CheckpointError(
                f"{checkpoint} is no checkpoint of this run; choose one of those in {here}."
            )
        if not checkpoint.name.isdigit():
            raise CheckpointError(
                f"{checkpoint} was set aside; rename it to its number to go on from it."
            )
        return int(checkpoint.name), read_state(checkpoint), []

    def keep_settings(self, settings: RunSettings) -> None:
        """Write the settings that the run goes on with, where they are other ones."""
        path = self.folder / CONFIG
        if load_settings(path) != settings:
            write_text(path, to_yaml(settings))

    def forget_after(self, iteration: int, update: int) -> list[str]:
        """Drop rows newer than the state the run goes on from; set newer checkpoints aside."""
        sentences = []
        for number in self.checkpoints.numbers():
            if number > iteration:
                aside = self.checkpoints.set_aside(number)
                sentences.append(f"Checkpoint {number:06d} was set aside as {aside.name}.")
        self.metrics.forget_after(update)
        return sentences
