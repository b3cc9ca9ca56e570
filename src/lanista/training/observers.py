"""Those who watch a run or a pipeline: one kind for all, who hear everything and can stop nothing.

Progress views, trackers and a script's callbacks are observers. Knows nothing of how they look.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanista.data.demonstrations import Demonstrations, Indices
    from lanista.runs.settings import RunSettings
    from lanista.training.imitate import Task


class Observer:
    """Has a method for everything that can happen; here they do nothing."""

    def started(self, settings: RunSettings | Task, update: int) -> None:
        """A run begins, or goes on after `update`; the updates of imitation are epochs."""

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        """An update was made, with these numbers."""

    def message(self, sentence: str) -> None:
        """Something the user should know."""

    def ended(self, *, failed: bool = False) -> None:
        """The run that was started is over: done, stopped with all saved, or failed."""

    def gathered(self, data: Demonstrations, learned: Indices, held_out: Indices) -> None:
        """Imitation has its demonstrations, and has split them."""

    def work_started(self, total: int, unit: str, upto: float = 1.0) -> None:
        """So many of something are to be done; with them the stage is done by the share `upto`."""

    def work_advanced(self, more: int) -> None:
        """So many more of them are done."""

    def work_at(self, count: int) -> None:
        """So many of them are done in all."""

    def stages_planned(self, names: Sequence[str]) -> None:
        """A pipeline will do or skip these stages, in this order."""

    def stage_skipped(self, name: str) -> None:
        """A stage is done already."""

    def stage_started(self, name: str) -> None:
        """A stage begins, or goes on."""

    def stage_finished(self, name: str) -> None:
        """A stage is done and recorded."""


class Observers(Observer):
    """Several observers; one that fails is dropped with a sentence to the others."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = list(observers)

    @contextmanager
    def during(self, settings: RunSettings | Task, update: int) -> Iterator[None]:
        """Announce a run, and its end however it ends."""
        self.started(settings, update)
        failed = True
        try:
            yield
            failed = False
        finally:
            self.ended(failed=failed)

    def started(self, settings: RunSettings | Task, update: int) -> None:
        self._notify("started", settings, update)

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        self._notify("updated", update, values)

    def message(self, sentence: str) -> None:
        self._notify("message", sentence)

    def ended(self, *, failed: bool = False) -> None:
        self._notify("ended", failed=failed)

    def gathered(self, data: Demonstrations, learned: Indices, held_out: Indices) -> None:
        self._notify("gathered", data, learned, held_out)

    def work_started(self, total: int, unit: str, upto: float = 1.0) -> None:
        self._notify("work_started", total, unit, upto)

    def work_advanced(self, more: int) -> None:
        self._notify("work_advanced", more)

    def work_at(self, count: int) -> None:
        self._notify("work_at", count)

    def stages_planned(self, names: Sequence[str]) -> None:
        self._notify("stages_planned", names)

    def stage_skipped(self, name: str) -> None:
        self._notify("stage_skipped", name)

    def stage_started(self, name: str) -> None:
        self._notify("stage_started", name)

    def stage_finished(self, name: str) -> None:
        self._notify("stage_finished", name)

    def _notify(self, event: str, *arguments: object, **named: object) -> None:
        for observer in list(self.observers):
            try:
                getattr(observer, event)(*arguments, **named)
            except (KeyboardInterrupt, BrokenPipeError):
                raise
            except Exception as error:
                self.observers.remove(observer)
                name = type(observer).__name__
                self.message(
                    f"{name} failed and is left out from here on: {type(error).__name__}: {error}."
                )
