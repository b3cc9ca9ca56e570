"""A progress bar on standard error; plain lines, few of them, where that is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lanista.time_left import time_left

_BAR_EVERY = 0.1
_LINE_EVERY = 10.0


@contextmanager
def progress_of(total: int, label: str) -> Iterator[Paced]:
    """Give a function to be called with how many of `total` were done since the last call."""
    if not sys.stderr.isatty():
        began = time.monotonic()
        yield Paced(lambda done: _line(done, total, label, began), _LINE_EVERY)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    from lanista.terminal import console

    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield Paced(lambda done: bar.update(task, completed=done), _BAR_EVERY)


@contextmanager
def counting() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that is told what is being done, how much of it is, and of how much (0: that
    is not known); it says so every ten seconds, on a terminal every second over itself."""
    terminal = sys.stderr.isatty()
    every, shown = (1.0 if terminal else _LINE_EVERY), [time.monotonic(), 0.0]

    def count(label: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - shown[0] < every:
            return
        over = "\x1b[A\x1b[2K" if terminal and shown[1] else ""
        shown[:] = [now, 1.0]
        of_all = f" of {total:,}" if total else ""
        print(f"{over}{label}: {done:,}{of_all}", file=sys.stderr, flush=True)

    yield count
    if terminal and shown[1]:
        print("\x1b[A\x1b[2K", end="", file=sys.stderr, flush=True)


class Paced:
    """Adds up, and shows the sum no more often than every so many seconds."""

    def __init__(self, show: Callable[[int], None], every: float) -> None:
        self.show, self.every = show, every
        self.done = 0
        """How many in all."""
        self.shown = time.monotonic()

    def __call__(self, more: int) -> None:
        self.done += more
        now = time.monotonic()
        if now - self.shown >= self.every:
            self.shown = now
            self.show(self.done)


def _line(done: int, total: int, label: str, began: float) -> None:
    left = time_left(time.monotonic() - began, done / max(1, total))
    remark = f", {left}" if left else ""
    print(f"{label}: {done:,} of {total:,}{remark}", file=sys.stderr, flush=True)
