"""How matches are played fast: schedules, batched play, shards over threads, recording."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanista.rollout.match_runner import Results, RolloutError, Table, join, play, play_blocks
    from lanista.rollout.schedule import Schedule, rotations

__all__ = [
    "Results",
    "RolloutError",
    "Schedule",
    "Table",
    "join",
    "play",
    "play_blocks",
    "rotations",
]


def __getattr__(name: str) -> Any:
    """Load what plays when it is first wanted: settings read the table of launchers alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "schedule" if name in ("Schedule", "rotations") else "match_runner"
    return getattr(import_module(f"{__name__}.{module}"), name)
