"""When a run has to end by the wall clock, its last evaluation included.

A budget is planned as iterations; this holds it where they turn out slower than was measured.
Knows nothing of what an iteration does.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from statistics import median

_RECENT = 20
"""Iterations whose pace is taken for that of the next one."""
_RESERVE = 1.5
"""Times as long as before that the last iterations, and the end of the program, may take."""


class TimeLimit:
    """So many seconds from now on; asked before every iteration whether that is the last one."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._before: float | None = None
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._longest = 0.0
        """Of all iterations: one that was evaluated and saved, as the last one is."""

    @property
    def left(self) -> float:
        """Seconds until the end; below 0 after it."""
        return self._end - self._clock()

    def is_last(self) -> bool:
        """Whether the coming iteration is the last one that there is time for."""
        now = self._clock()
        if self._before is not None:
            self._recent.append(now - self._before)
            self._longest = max(self._longest, self._recent[-1])
        self._before = now
        usual = median(self._recent) if self._recent else 0.0
        # If this one is not the last, the next one may be, and that takes the longest.
        return now + _RESERVE * (usual + self._longest) >= self._end
