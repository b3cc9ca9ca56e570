"""Who watches a run: told of every update and sentence, and never able to stop it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from lanista.runs.settings import RunSettings


class Observer(Protocol):
    """What a run tells."""

    def started(self, settings: RunSettings, update: int) -> None:
        """The run begins, or goes on after `update`."""

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        """An update was made, with these numbers."""

    def said(self, sentence: str) -> None:
        """Something the user should know."""

    def ended(self) -> None:
        """Nothing more will come."""


class Observers:
    """Several observers; one that fails is dropped with a sentence to the others."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = list(observers)

    def started(self, settings: RunSettings, update: int) -> None:
        self._tell("started", settings, update)

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        self._tell("updated", update, values)

    def said(self, sentence: str) -> None:
        self._tell("said", sentence)

    def ended(self) -> None:
        self._tell("ended")

    def _tell(self, what: str, *arguments: object) -> None:
        for observer in list(self.observers):
            try:
                getattr(observer, what)(*arguments)
            except (KeyboardInterrupt, BrokenPipeError):
                raise
            except Exception as error:
                self.observers.remove(observer)
                name = type(observer).__name__
                self.said(
                    f"{name} failed and is left out from here on: {type(error).__name__}: {error}."
                )
