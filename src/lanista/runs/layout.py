"""The names of what a run's folder holds. Knows nothing of what is in it."""

from __future__ import annotations

import re
from pathlib import Path

CONFIG, DATABASE, CHECKPOINTS, POLICIES = "config.yaml", "run.db", "checkpoints", "policies"
EXPLOITERS = "exploiters"
"""Runs of a league's exploiters, where there are any."""
CHECKPOINT = re.compile(r"[0-9]{6}|[1-9][0-9]{6,11}")
"""The name of a checkpoint: its iteration."""


def checkpoint_numbers(folder: Path) -> list[int]:
    """Return the iterations of all checkpoints in a folder of them, good or not, in order."""
    if not folder.is_dir():
        return []
    names = (path.name for path in folder.iterdir())
    return sorted(int(name) for name in names if CHECKPOINT.fullmatch(name))
