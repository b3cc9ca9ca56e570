"""A schedule: halved after equal parts of the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lanista.learn.schedules import Schedule


@dataclass(frozen=True)
class Stairs(Schedule):
    """`start`, halved after each of `steps` equal parts of the run."""

    kind = "stairs"
    start: float
    steps: int = 4

    def __call__(self, step: int, total: int, state: Any = None, values: Any = None) -> float:
        return self.start * 0.5 ** min(self.steps - 1, step * self.steps // max(1, total))
