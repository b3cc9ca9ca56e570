"""Shows a run on the terminal: a live table, or plain lines where that is no terminal."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from lanista.runs.settings import RunSettings
from lanista.terminal import console
from lanista.time_left import time_left
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


class _Paced(Observer):
    """Knows how far a run is and how fast it goes."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.total, self.update = 0, 0
        self.first, self.began = 0, 0.0

    def started(self, settings: RunSettings | Task, update: int) -> None:
        self.total, self.first, self.update = settings.updates, update, update
        self.began = time.monotonic()

    @property
    def left(self) -> str:
        """How much longer the run takes, by what was done of it here."""
        done = self.update - self.first
        return time_left(time.monotonic() - self.began, done / max(1, self.total - self.first))


class Lines(_Paced):
    """A line now and then, and one for every judgement."""

    def __init__(self, stream: TextIO, every: float = _LINE_EVERY) -> None:
        super().__init__(stream)
        self.every, self.shown = every, 0.0
        self.last: tuple[int, Mapping[str, float]] | None = None

    def started(self, settings: RunSettings | Task, update: int) -> None:
        super().started(settings, update)
        self.shown = self.began
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
        self.update, values = self.last
        self.shown, self.last = time.monotonic(), None
        readings = [f"{name} {number(values[name])}" for name in chosen(values)]
        progress = f"update {self.update:,} of {self.total:,}"
        left = f", {self.left}" if self.left else ""
        self._print(f"{progress}{left}: {', '.join(readings)}")

    def _print(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


class Live(_Paced):
    """A table that is redrawn, with the last value of every number worth a look."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.live: Any = None
        self.values: dict[str, float] = {}

    def started(self, settings: RunSettings | Task, update: int) -> None:
        from rich.live import Live as RichLive

        super().started(settings, update)
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
        if self.left:
            table.add_row("time", self.left)
        for name in chosen(self.values):
            table.add_row(name, number(self.values[name]))
        seconds = self.values.get("cpu_seconds", 0.0)
        if seconds:
            table.add_row("decisions per CPU s", f"{self.values['decisions'] / seconds:,.0f}")
        return table


class LastEvaluation(Observer):
    """Keeps what the newest evaluation of a run came to, for its last line."""

    def __init__(self) -> None:
        self.sentence = ""
        self.matches = 0

    def started(self, settings: RunSettings | Task, update: int) -> None:
        if isinstance(settings, RunSettings):
            self.matches = settings.evaluation.matches

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        results = [
            f"{word} {score:.3f}{_interval(values, word)}"
            for name, score in values.items()
            if (word := name.removeprefix("score/")) != name
        ]
        if results:
            results[0] = f"score in {self.matches:,} matches each: {results[0]}"
        if "exact/nash_conv" in values:
            results.append(f"NashConv {values['exact/nash_conv']:.4f}")
        if results:
            self.sentence = f"last evaluation, update {update:,}: {', '.join(results)}"


def _interval(values: Mapping[str, float], word: str) -> str:
    low, high = (values.get(f"{name}/{word}", math.nan) for name in ("score_low", "score_high"))
    return "" if math.isnan(low) else f" [{low:.3f}, {high:.3f}]"


def chosen(values: Mapping[str, float]) -> list[str]:
    """Return the names worth a look, judgements last."""
    plain = [name for name in values if name in SHOWN or name.startswith("return/")]
    return [*plain, *(name for name in values if name.startswith(JUDGED))]


def number(value: float) -> str:
    """Return a number short enough for a line."""
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:.4g}"
