"""One view of a whole pipeline: which stage, how much of it, and what is left.

A bar for each stage on a terminal; plain lines, few of them, elsewhere.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from lanista.terminal import console
from lanista.time_left import time_left
from lanista.training.observers import Observer
from lanista.training.progress_view import JUDGED, number

_LINE_EVERY = 10.0


def view(stream: TextIO | None = None) -> StageLines | StageBars:
    """Return what fits the stream (standard error, unless given)."""
    stream = stream or sys.stderr
    return StageBars(stream) if stream.isatty() else StageLines(stream)


class _Counting(Observer):
    """Knows which stage is at work and how far it is."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.names: list[str] = []
        self.name, self.unit, self.about = "", "", ""
        self.count, self.total, self.began = 0, 0, 0.0
        self.start, self.upto = 0.0, 0.0
        """From which to which share of the stage its present part goes."""
        self.pace_from: tuple[float, float] | None = None
        """When work was first heard of here, and which share of the stage was done by then."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None: ...

    def stages_planned(self, names: Sequence[str]) -> None:
        self.names = list(names)

    def stage_started(self, name: str) -> None:
        self.name, self.began = name, time.monotonic()
        self.count, self.total, self.unit, self.about = 0, 0, "", ""
        self.start, self.upto = 0.0, 0.0
        self.pace_from = None

    def work_started(self, total: int, unit: str, upto: float = 1.0) -> None:
        self.count, self.total, self.unit, self.about = 0, total, unit, ""
        self.start, self.upto = self.upto, upto

    def work_advanced(self, more: int) -> None:
        self.work_at(self.count + more)

    def work_at(self, count: int) -> None:
        self.count = count
        self.pace_from = self.pace_from or (time.monotonic(), self.share)

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        self.about = _worth_a_look(values) or self.about

    @property
    def share(self) -> float:
        """How much of the stage is done; a further part of it goes on where the last one ended."""
        return self.start + (self.upto - self.start) * self.count / max(1, self.total)

    @property
    def left(self) -> str:
        """How much longer the stage takes, by what was done of it here."""
        if self.pace_from is None or self.pace_from[1] >= 1:
            return ""
        began, before = self.pace_from
        return time_left(time.monotonic() - began, (self.share - before) / (1 - before))

    @property
    def stages_to_come(self) -> str:
        """The stages still to come."""
        later = self.names[self.names.index(self.name) + 1 :]
        return f"then {', '.join(later)}" if later else "the last"


class StageLines(_Counting):
    """A line for each stage, and one now and then."""

    def __init__(self, stream: TextIO, every: float = _LINE_EVERY) -> None:
        super().__init__(stream)
        self.every, self.shown = every, 0.0

    def stage_skipped(self, name: str) -> None:
        self.message(f"{name}: done before")

    def stage_started(self, name: str) -> None:
        super().stage_started(name)
        self.shown = self.began
        number = self.names.index(name) + 1
        self.message(f"{name}: stage {number} of {len(self.names)}, {self.stages_to_come}")

    def stage_finished(self, name: str) -> None:
        self.message(f"{name}: done in {time.monotonic() - self.began:.1f} s")

    def work_at(self, count: int) -> None:
        super().work_at(count)
        now = time.monotonic()
        if now - self.shown >= self.every and self.total:
            self.shown = now
            progress = f"{self.count:,} of {self.total:,} {self.unit}"
            more = f": {self.about}" if self.about else ""
            remark = f", {self.left}" if self.left else ""
            self.message(f"{self.name}: {self.share:.0%}, {progress}{remark}{more}")

    def message(self, sentence: str) -> None:
        print(sentence, file=self.stream, flush=True)


class StageBars(_Counting):
    """A bar for each stage, with the numbers of the one at work under them."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.progress: Any = None
        self.tasks: dict[str, Any] = {}

    def __enter__(self) -> StageBars:
        return self

    def __exit__(self, *_: object) -> None:
        if self.progress is not None:
            self.progress.stop()
            self.progress = None

    def stages_planned(self, names: Sequence[str]) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.progress import TaskProgressColumn as Share

        super().stages_planned(names)
        words = TextColumn("{task.description}", markup=False)
        about = TextColumn("{task.fields[about]}", markup=False)
        self.progress = Progress(
            words,
            BarColumn(30),
            Share(),
            TimeRemainingColumn(),
            about,
            console=console(self.stream),
        )
        for name in names:
            task = self.progress.add_task(f"{name:8}", total=1, start=False, about="waits")
            self.tasks[name] = task
        self.progress.start()

    def stage_skipped(self, name: str) -> None:
        self.progress.update(self.tasks[name], completed=1, about="done before")

    def stage_started(self, name: str) -> None:
        super().stage_started(name)
        self.progress.start_task(self.tasks[name])
        self.progress.update(self.tasks[name], about="")

    def work_at(self, count: int) -> None:
        super().work_at(count)
        progress = f"{self.count:,} of {self.total:,} {self.unit} {self.about}"
        self.progress.update(self.tasks[self.name], completed=self.share, about=progress[:90])

    def stage_finished(self, name: str) -> None:
        about = f"done in {time.monotonic() - self.began:.1f} s"
        self.progress.update(self.tasks[name], completed=1, about=about)

    def message(self, sentence: str) -> None:
        if self.progress is None:
            print(sentence, file=self.stream, flush=True)
        else:
            self.progress.console.print(sentence)


def _worth_a_look(values: Mapping[str, float]) -> str:
    """Return the judgements among an update's numbers, or how an epoch of imitation ended."""
    if "held_out_nll" in values:
        best = " (best)" if values["best_epoch"] == values["epoch"] else ""
        return f"epoch {int(values['epoch'])}, nll held out {values['held_out_nll']:.4f}{best}"
    judged = [name for name in values if name.startswith(JUDGED)]
    return ", ".join(f"{name} {number(values[name])}" for name in judged)
