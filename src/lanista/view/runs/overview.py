"""The lines of the Runs page: every run, pipeline and live bot below the folder.

A run's numbers are read again only when its files have changed. Knows nothing of HTTP.
"""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.lock import is_held
from lanista.pipeline.recipe import RECIPE, Stages
from lanista.report.stages import RECORDS, RUNS
from lanista.view.context import ViewContext
from lanista.view.runs.standing import Numbers, State, mark_of, numbers_of, state_of
from lanista.view.runs.survey import Place, survey
from lanista.yaml_text import read_yaml

Line = dict[str, Any]
ORDER = tuple(Stages.__dataclass_fields__)


class Overview:
    """What is known of everything in the folder; one for a server."""

    def __init__(self, context: ViewContext) -> None:
        self.context = context
        self._read: dict[Path, tuple[Any, Numbers]] = {}
        self._turn = threading.Lock()

    def lines(self) -> list[Line]:
        """Return a line for everything below the folder."""
        places = survey(self.context.folder)
        with self._turn:
            there = {place.path for place in places}
            self._read = {path: entry for path, entry in self._read.items() if path in there}
        return [self.line(place) for place in places]

    def line(self, place: Place) -> Line:
        """Return the line of one thing."""
        if place.kind == "run":
            return self._run(place.path)
        return self._pipeline(place.path) if place.kind == "pipeline" else self._live(place.path)

    def numbers(self, folder: Path) -> Numbers:
        """Return a run's numbers, read again if its files have changed."""
        mark = mark_of(folder)
        with self._turn:
            read_mark, numbers = self._read.get(folder, (None, Numbers()))
        if read_mark != mark:
            numbers = numbers_of(folder)
            with self._turn:
                self._read[folder] = mark, numbers
        return numbers

    def _run(self, folder: Path) -> Line:
        numbers = self.numbers(folder)
        state = state_of(folder, numbers)
        return {**self._named(folder, "run", state), **_shown(numbers, state), "stage": ""}

    def _pipeline(self, folder: Path) -> Line:
        """Return the line of a pipeline: its stage, and the numbers of its newest run."""
        try:
            done, stages = _stages(folder)
        except (LanistaError, OSError) as error:
            return {**self._named(folder, "pipeline", "unreadable"), "error": str(error)}
        current = next((name for name in stages if name not in done), "")
        run = newest_run(folder, stages)
        numbers = Numbers() if run is None else self.numbers(run)
        state: State = "stopped"
        if _held(folder):
            state = "running"
        elif not current:
            state = "finished"
        elif run is not None and current in RUNS and run == folder / RUNS[current]:
            state = state_of(run, numbers)
        return {
            **self._named(folder, "pipeline", state),
            **_shown(numbers, state if current in RUNS else "finished"),
            "stage": current,
            "stages": [{"name": name, "done": name in done} for name in stages],
            "run": "" if run is None else self.context.place_of(run),
            "progress": _progress(stages, done, current, numbers),
            "error": numbers.error,
        }

    def _live(self, folder: Path) -> Line:
        learner = folder / "learner"
        state: State = "running" if learner.is_dir() and _held(learner) else "stopped"
        return {**self._named(folder, "live", state), "stage": "", "error": ""}

    def _named(self, folder: Path, kind: str, state: State) -> Line:
        place = self.context.place_of(folder)
        name = folder.resolve().name if place == "." else place
        return {
            "id": place, "name": name, "kind": kind, "state": state, "game": "", "error": "",
            "changed": _changed(folder, kind),
        }  # fmt: skip


def newest_run(folder: Path, stages: list[str]) -> Path | None:
    """Return the run of a pipeline's last stage that has one."""
    for stage in reversed(stages):
        if stage in RUNS and (folder / RUNS[stage] / "run.db").is_file():
            return folder / RUNS[stage]
    return None


def stages_of(folder: Path) -> list[str]:
    """Return a pipeline's stages in their order."""
    values = read_yaml(folder / RECIPE)
    stages = values.get("stages") if isinstance(values, dict) else None
    if not isinstance(stages, dict):
        raise LanistaError(f"{folder / RECIPE} is no pipeline: it has no stages.")
    return [name for name in ORDER if name in stages]


def _stages(folder: Path) -> tuple[set[str], list[str]]:
    """Return which stages are done, and all of them in order."""
    stages = stages_of(folder)
    return {name for name in stages if _is_done(folder / RECORDS / f"{name}.json")}, stages


def _is_done(path: Path) -> bool:
    try:
        return "outputs" in json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def _held(folder: Path) -> bool:
    try:
        return is_held(folder)
    except OSError:
        return False


def _progress(stages: list[str], done: set[str], current: str, numbers: Numbers) -> float | None:
    if not stages:
        return None
    inside = numbers.update / numbers.total if current in RUNS and numbers.total else 0.0
    return min(1.0, (len(done) + min(1.0, inside)) / len(stages))


def _shown(numbers: Numbers, state: State) -> Line:
    """Return a run's numbers as a line has them."""
    left = None
    if state == "running" and numbers.seconds_per_update is not None:
        left = max(0, numbers.total - numbers.update) * numbers.seconds_per_update
    progress = min(1.0, numbers.update / numbers.total) if numbers.total else None
    line = {**asdict(numbers), "progress": progress, "seconds_left": left}
    del line["fault"], line["seconds_per_update"]
    return line


def _changed(folder: Path, kind: str) -> float:
    """Return when something was last written, in seconds since 1970."""
    names = {"run": ("run.db", "run.db-wal"), "pipeline": ("stages",), "live": ("current.json",)}
    moments = []
    for name in names[kind]:
        try:
            moments.append((folder / name).lstat().st_mtime)
        except OSError:
            continue
    return round(max(moments, default=0.0), 1)
