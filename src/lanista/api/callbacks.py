"""A script's callbacks among the observers of a run: heard of every update, able to stop it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from lanista.interrupt import stopping
from lanista.runs.settings import RunSettings
from lanista.training.observers import Observer

OnUpdate = Callable[[int, Mapping[str, float]], object]
"""Is called with the number of an update and its numbers; True stops the run, with all saved."""
OnNotice = Callable[[str], None]
"""Is called with sentences that a user should know."""


class Callbacks:
    """Passes a run's updates and sentences on, and keeps what a callback raised."""

    def __init__(self, on_update: OnUpdate | None, on_notice: OnNotice | None) -> None:
        self.on_update, self.on_notice = on_update, on_notice
        self.update, self.values = 0, dict[str, float]()
        self.stopped = False
        self.error: Exception | None = None

    def started(self, settings: RunSettings, update: int) -> None:
        self.update = update

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        self.update, self.values = update, dict(values)
        if self.on_update is None or self.stopped:
            return
        try:
            self.stopped = self.on_update(update, self.values) is True
        except Exception as error:
            # Observers cannot end a run; it is raised once everything is saved.
            self.error, self.stopped = error, True

    def said(self, sentence: str) -> None:
        if self.on_notice is not None:
            self.on_notice(sentence)

    def ended(self) -> None: ...


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
        if callbacks.error is not None:
            raise callbacks.error
        if interrupted():
            raise KeyboardInterrupt


def say(sentence: str) -> None:
    """Print what a user should know where nobody else hears it."""
    print(sentence, file=sys.stderr, flush=True)
