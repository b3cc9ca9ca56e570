"""Shows a run on the terminal: a live table, or plain lines where that is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from lanista.runs.settings import RunSettings
from lanista.terminal import console
from lanista.training.observers import Observer

if TYPE_CHECKING:
    from lanista.training.imitate import Task

_LINE_EVERY = 10.0
JUDGED = ("exact/", "score/")
"""How the names of judgements begin."""
SHOWN = (
    "decisions", "policy/loss", "value/loss", "policy/behaviour_kl", "gradient_norm/policy",
    "lag/mean",
)  # fmt: skip


def display(stream: TextIO | None = None) -> Lines | Live:
    """Return what fits the stream (standard error, unless given)."""
    stream = stream or sys.stderr
    return Live(stream) if stream.isatty() else Lines(stream)


class Lines(Observer):
    """A line now and then, and one for every judgement."""

    def __init__(self, stream: TextIO, every: float = _LINE_EVERY) -> None:
        self.stream, self.every = stream, every
        self.total, self.shown = 0, 0.0
        self.last: tuple[int, Mapping[str, float]] | None = None

    def started(self, settings: RunSettings | Task, update: int) -> None:
        self.total, self.shown = settings.updates, time.monotonic()
        self._print(f"update {update:,} of {self.total:,}")

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        self.last = update, values
        judged = any(name.startswith(JUDGED) for name in values)
        if judged or time.monotonic() - self.shown >= self.every:
            self._show()

    def message(self, sentence: str) -> None:
        self._print(sentence)

    def ended(self, *, failed: bool = False) -> None:
        if self.last is not None:
            self._show()

    def _show(self) -> None:
        assert self.last is not None
        update, values = self.last
        self.shown, self.last = time.monotonic(), None
        readings = [f"{name} {number(values[name])}" for name in chosen(values)]
        self._print(f"update {update:,} of {self.total:,}: {', '.join(readings)}")

    def _print(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


class Live(Observer):
    """A table that is redrawn, with the last value of every number worth a look."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.live: Any = None
        self.total, self.update = 0, 0
        self.values: dict[str, float] = {}

    def started(self, settings: RunSettings | Task, update: int) -> None:
        from rich.live import Live as RichLive

        self.total, self.update = settings.updates, update
        self.live = RichLive(
            console=console(self.stream), refresh_per_second=4, get_renderable=self._table
        )
        self.live.start()

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        self.update = update
        self.values |= values

    def message(self, sentence: str) -> None:
        if self.live is None:
            print(sentence, file=self.stream, flush=True)
        else:
            self.live.console.print(sentence)

    def ended(self, *, failed: bool = False) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None

    def _table(self) -> Any:
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        table.add_column("update")
        table.add_column(f"{self.update:,} of {self.total:,}", justify="right")
        for name in chosen(self.values):
            table.add_row(name, number(self.values[name]))
        seconds = self.values.get("cpu_seconds", 0.0)
        if seconds:
            table.add_row("decisions per CPU s", f"{self.values['decisions'] / seconds:,.0f}")
        return table


def chosen(values: Mapping[str, float]) -> list[str]:
    """Return the names worth a look, judgements last."""
    plain = [name for name in values if name in SHOWN or name.startswith("return/")]
    return [*plain, *(name for name in values if name.startswith(JUDGED))]


def number(value: float) -> str:
    """Return a number short enough for a line."""
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:.4g}"
