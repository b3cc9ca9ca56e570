"""Which evaluated policy of a run is the best, and whether the newest is significantly weaker.

The best has the lowest NashConv where that is exact, elsewhere the highest lower bound of the mean
score over the bots. The newest is handed over unless it is significantly weaker, so ties go to it.
A fold over the run's events. Knows nothing of leagues, which promote by their worst case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lanista.evaluation.evaluator import Judgement
from lanista.evaluation.promotion import NASH_CONV
from lanista.evaluation.score import Estimate
from lanista.runs.reader import RunTables
from lanista.runs.schema import EventRow

BEST, OUTPUT = "best", "output"
"""Kinds of events: a policy became the best; another one than before is to be handed over."""
TIE = 0.01
"""NashConv that is higher by less than this share is a tie."""


@dataclass(frozen=True)
class Strength:
    """How strong an evaluation says that a policy is."""

    unit: str
    """nash_conv or score."""
    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, judgement: Judgement) -> Strength | None:
        """Return what a judgement says; None: it measured nothing."""
        exact = judgement.values.get(NASH_CONV)
        if exact is not None:
            return cls("nash_conv", exact, exact, exact)
        mean = None if judgement.gauntlet is None else judgement.gauntlet.mean
        return None if mean is None else cls("score", mean.value, mean.low, mean.high)

    def at_least(self, other: Strength) -> bool:
        """Return whether this policy may take the other's place as the best."""
        if self.unit != other.unit:
            return True  # The run is judged in another way from here on.
        if self.exact:
            return self.value <= other.value
        return self.low is not None and (other.low is None or self.low >= other.low)

    def surely_weaker_than(self, other: Strength) -> bool:
        """Return whether the interval of the difference excludes 0; without intervals never."""
        if self.unit != other.unit:
            return False
        if self.exact:
            return self.value > (1 + TIE) * other.value
        halves = [Estimate(s.value, s.low, s.high, 0).half for s in (self, other)]
        if None in halves:
            return False
        # Both met the same deals; taking them for independent makes the interval wide.
        return other.value - self.value > math.hypot(*(half or 0.0 for half in halves))

    @property
    def exact(self) -> bool:
        """Whether it was computed; otherwise it was measured, and chance has a part in it."""
        return self.unit == "nash_conv"

    def __str__(self) -> str:
        if self.exact:
            return f"NashConv {self.value:.4g}"
        bounds = "" if self.low is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"a score of {self.value:.3f}{bounds}"


@dataclass
class BestPolicy:
    """The best policy so far, and whether it is what the run hands over."""

    digest: str = ""
    update: int = 0
    strength: Strength | None = None
    handed_over: bool = False

    def challenged(self, strength: Strength) -> bool:
        """Return whether a policy of this strength is the best from now on."""
        return self.strength is None or strength.at_least(self.strength)

    def outdone(self, strength: Strength) -> bool:
        """Return whether the newest policy, of this strength, is significantly weaker."""
        return self.strength is not None and strength.surely_weaker_than(self.strength)

    def apply(self, event: EventRow) -> None:
        """Take over an event of the record; others than `best` and `output` change nothing."""
        if event.kind == BEST:
            self.digest, self.update = str(event.body["digest"]), event.update
            self.strength = Strength(*(event.body[key] for key in ("unit", "value", "low", "high")))
            self.handed_over = False
        elif event.kind == OUTPUT:
            self.handed_over = bool(event.body["digest"])

    def load(self, tables: RunTables) -> None:
        """Fold over the run's events."""
        for event in tables.rows(EventRow):
            self.apply(event)


def best_body(digest: str, strength: Strength) -> Mapping[str, Any]:
    """Return the body of the event with which a policy becomes the best."""
    return {
        "digest": digest, "unit": strength.unit, "value": strength.value, "low": strength.low,
        "high": strength.high,
    }  # fmt: skip
