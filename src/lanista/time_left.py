"""How much longer work goes on, told by its pace so far. Knows nothing of the work."""

from __future__ import annotations

_SOONEST = 2.0
"""Seconds of work before which its pace says nothing."""


def time_left(seconds: float, share: float) -> str:
    """Return a remark for work whose `share` took `seconds`; empty: it cannot be told, or is done.

    `share` lies between 0 and 1.
    """
    if seconds < _SOONEST or not 0 < share < 1:
        return ""
    return f"about {duration(seconds * (1 - share) / share)} left"


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
