"""A script's callbacks among the observers of a run: heard of every update, able to stop it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lanista.interrupt import stopping
from lanista.training.observers import Observer

if TYPE_CHECKING:
    from lanista.runs.settings import RunSettings
    from lanista.training.imitate import Task

OnUpdate = Callable[[int, Mapping[str, float]], object]
"""Is called with the number of an update and its numbers; True stops the run, with all saved."""
OnStage = Callable[[str], object]
"""Is called with the name of a stage that begins, or goes on."""
OnNotice = Callable[[str], None]
"""Is called with sentences that a user should know."""


class Callbacks(Observer):
    """Passes on what a script wants to hear, and keeps what a callback raised."""

    def __init__(
        self,
        on_update: OnUpdate | None = None,
        on_notice: OnNotice | None = None,
        on_stage: OnStage | None = None,
    ) -> None:
        self.on_update, self.on_notice, self.on_stage = on_update, on_notice, on_stage
        self.update, self.values = 0, dict[str, float]()
        self.stopped = False
        self.error: Exception | None = None

    def started(self, settings: RunSettings | Task, update: int) -> None:
        self.update = update

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        self.update, self.values = update, dict(values)
        if self.on_update is not None and not self.stopped:
            self.stopped = self._called(self.on_update, update, self.values) is True

    def message(self, sentence: str) -> None:
        if self.on_notice is not None:
            self.on_notice(sentence)

    def stage_started(self, name: str) -> None:
        if self.on_stage is not None and not self.stopped:
            self._called(self.on_stage, name)

    def raise_error(self) -> None:
        """Raise what a callback raised, if one did."""
        if self.error is not None:
            raise self.error

    def _called(self, callback: Callable[..., object], *arguments: object) -> object:
        """Call it; an observer cannot end a run, so an error is raised once all is saved."""
        try:
            return callback(*arguments)
        except Exception as error:
            self.error, self.stopped = error, True
            return True


@contextmanager
def watching(
    on_update: OnUpdate | None, on_notice: OnNotice | None, *, verbose: bool
) -> Iterator[tuple[Callbacks, list[Observer], Callable[[], bool]]]:
    """Give the callbacks, all observers, and what says whether to stop.

    Afterwards raises what a callback raised, or KeyboardInterrupt where the user interrupted: by
    then the run is saved.
    """
    callbacks = Callbacks(on_update, on_notice)
    observers: list[Observer] = [callbacks]
    if verbose:
        from lanista.training.progress_view import display

        observers.append(display())
    with stopping(on_notice or say) as interrupted:
        yield callbacks, observers, lambda: callbacks.stopped or interrupted()
        callbacks.raise_error()
        if interrupted():
            raise KeyboardInterrupt


def say(sentence: str) -> None:
    """Print what a user should know where nobody else hears it."""
    print(sentence, file=sys.stderr, flush=True)
