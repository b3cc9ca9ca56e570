"""Which evaluated policy of a league is promoted: the newest that is not significantly worse.

Promotion reads the worst-case meter: NashConv where it is exact, the lowest score over the pool
elsewhere. A policy takes over unless the whole interval of its worst case lies on the worse side of
the present one's, over the opponents that both have met on the same deals. A fold over the run's
events. Knows nothing of how policies are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lanista.evaluation.evaluator import Judgement
from lanista.evaluation.meter import Reading, pool_reading
from lanista.evaluation.score import Estimate
from lanista.runs.reader import RunTables
from lanista.runs.schema import EventRow

NASH_CONV = "exact/nash_conv"


@dataclass
class Champion:
    """The promoted policy, and what is known of it."""

    digest: str = ""
    nash_conv: float | None = None
    scores: dict[str, Estimate] = field(default_factory=dict)
    """By opponent: its score."""

    def challenged(self, by: Judgement) -> dict[str, Any] | None:
        """Return the event's body when the judged policy is promoted, else None."""
        if not by.digest:
            return None
        mine, theirs = self._readings(by)
        if mine is not None and theirs is not None and theirs.surely_weaker_than(mine):
            return None
        return {
            "digest": by.digest,
            "nash_conv": by.values.get(NASH_CONV),
            "scores": {name: asdict(score) for name, score in by.scores.items()},
            "reading": None if theirs is None else theirs.to_json(),
            "before": None if mine is None else mine.to_json(),
        }

    def _readings(self, by: Judgement) -> tuple[Reading | None, Reading | None]:
        """Return what the meter says of the champion and of its challenger, on the same scale."""
        exact = by.values.get(NASH_CONV)
        if exact is not None:
            readings = [
                Reading("exact", name, digest, "nash_conv", value, value, value)
                for name, digest, value in (
                    ("champion", self.digest, self.nash_conv),
                    ("challenger", by.digest, exact),
                )
                if value is not None
            ]
            return (readings[0] if len(readings) == 2 else None), readings[-1]
        both = [name for name in by.scores if name in self.scores]
        if not self.digest or not both:
            whole = pool_reading("challenger", by.digest, by.scores) if by.scores else None
            return None, whole
        return (
            pool_reading("champion", self.digest, {name: self.scores[name] for name in both}),
            pool_reading("challenger", by.digest, {name: by.scores[name] for name in both}),
        )

    def crowned(self, body: Mapping[str, Any]) -> None:
        """Apply a promotion from the record."""
        self.digest = str(body["digest"])
        self.nash_conv = body["nash_conv"]
        self.scores = {name: Estimate(**score) for name, score in body["scores"].items()}

    def tested(self, exploiter: str, body: Mapping[str, Any]) -> None:
        """Apply an exploiter's test, where the champion was its victim."""
        if body["victim_digest"] == self.digest and body["low"] is not None:
            self.scores[exploiter] = Estimate(
                1 - body["score"], 1 - body["high"], 1 - body["low"], body["games"] // 2
            )

    def load(self, metrics: RunTables) -> None:
        """Fold over the run's events."""
        for event in metrics.rows(EventRow):
            if event.kind == "promotion":
                self.crowned(event.body)
            elif event.kind.startswith("exploiter_"):
                self.tested(event.player, event.body)
