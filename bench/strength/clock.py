"""Seconds of an arm without those of its judge, and the moments at which it is looked at."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

DOUBLINGS = 6


class Clock:
    """Counts seconds from when it is made: the process's CPU time, or the clock's."""

    def __init__(self, *, wall: bool = False) -> None:
        self._now = time.perf_counter if wall else time.process_time
        self._began = self._now()
        self._left_out = 0.0

    @property
    def seconds(self) -> float:
        return self._now() - self._began - self._left_out

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out what happens inside."""
        began = self._now()
        try:
            yield
        finally:
            self._left_out += self._now() - began


def look_times(budget: float, a_doubling: int) -> list[float]:
    """Return when a curve is looked at: from a 64th of the budget to its end, evenly in the log."""
    count = a_doubling * DOUBLINGS
    return [budget * 2 ** ((number - count) / a_doubling) for number in range(count + 1)]
