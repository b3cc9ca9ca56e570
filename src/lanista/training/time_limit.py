"""When a run has to end by the wall clock, its last evaluation included.

A budget is planned as iterations; this holds it where they turn out slower than was measured.
Knows nothing of what an iteration does.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from statistics import median

from lanista.errors import LanistaError

_RECENT = 20
"""Iterations whose pace is taken for that of the next one."""
_RESERVE = 1.5
"""Times as long as before that the last iterations, and the end of the program, may take."""


class TimeLimit:
    """So many seconds from now on; asked before every iteration whether that is the last one."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._end = self._began + seconds
        self._first: float | None = None
        """Seconds of the first iteration, which loads and compiles what later ones have."""
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._longest = 0.0
        """Of iterations that were evaluated or saved, as the last one is."""
        self.cut = False
        """Whether the run ended before all its iterations were made."""

    @classmethod
    def of_minutes(cls, minutes: float) -> TimeLimit:
        """Return a limit that begins now."""
        if not 0 < minutes < float("inf"):
            raise LanistaError(f"--minutes is {minutes:g}; give a number above 0.")
        return cls(60 * minutes)

    @property
    def left(self) -> float:
        """Seconds until the end; below 0 after it."""
        return self._end - self._clock()

    def is_last(self) -> bool:
        """Whether the iteration that begins now is the last one that there is time for."""
        self._began = self._clock()
        usual = median(self._recent) if self._recent else self._first or 0.0
        # If this one is not the last, the next one may be, and that takes the longest.
        longest = max(usual, self._longest)
        return self._began + _RESERVE * (usual + longest) >= self._end

    def iterated(self, *, whole: bool) -> None:
        """Note that the iteration ended; `whole`: it was evaluated or saved too."""
        seconds = self._clock() - self._began
        if self._first is None:
            self._first = seconds
            return
        self._recent.append(seconds)
        if whole:
            self._longest = max(self._longest, seconds)
