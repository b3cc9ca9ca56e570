"""Watches a run that goes on: gathers its numbers, and gives every finding once.

What was said before follows from the run's events, so a resumed run says nothing twice. Knows
nothing of who is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from lanista.findings import Finding
from lanista.runs.metric_names import owner
from lanista.runs.reader import RunTables
from lanista.runs.schema import EventRow, TrainingGamesRow
from lanista.training.health.examine import faults_of
from lanista.training.health.numbers import WATCHED, LearnerNumbers

FINDING = "finding"
"""The kind of event."""


class Watch:
    """The numbers of a run so far, as far as findings look at them."""

    def __init__(self, learners: Sequence[str]) -> None:
        self.learners = tuple(learners)
        self.series: dict[str, dict[str, list[tuple[int, float]]]] = {
            learner: {} for learner in self.learners
        }
        self.games: dict[str, list[TrainingGamesRow]] = {learner: [] for learner in self.learners}
        self.reported: set[tuple[str, str, str]] = set()
        """Learner, finding and opponent of what was said."""

    def load(self, tables: RunTables) -> None:
        """Read what the run has recorded."""
        names = sorted(name for name in tables.measured() if self._watched(name))
        for row in tables.metric(*names) if names else ():
            if row.value is not None:
                self._add(row.update, row.name, row.value)
        self.played(tables.rows(TrainingGamesRow))
        for event in tables.rows(EventRow):
            if event.kind == FINDING:
                self.reported.add((event.player, str(event.body["name"]), _opponent(event.body)))

    def add(self, update: int, values: Mapping[str, float]) -> None:
        """Take in the numbers of an update."""
        for name, value in values.items():
            if self._watched(name) and math.isfinite(value):
                self._add(update, name, value)

    def played(self, rows: Iterable[TrainingGamesRow]) -> None:
        """Take in training games."""
        for row in rows:
            if row.learner in self.games:
                self.games[row.learner].append(row)

    def news(self) -> list[tuple[str, Finding]]:
        """Return the findings that were not given before, each with its learner."""
        fresh = []
        for learner in self.learners:
            series = {name: tuple(points) for name, points in self.series[learner].items()}
            for finding in faults_of(LearnerNumbers(learner, series, self.games[learner])):
                key = (learner, finding.name, _opponent(finding.evidence))
                if key not in self.reported:
                    self.reported.add(key)
                    fresh.append((learner, finding))
        return fresh

    def _watched(self, name: str) -> bool:
        return owner(self.learners, name)[1].startswith(WATCHED)

    def _add(self, update: int, name: str, value: float) -> None:
        learner, own = owner(self.learners, name)
        self.series[learner].setdefault(own, []).append((update, float(value)))


def event_of(update: int, learner: str, finding: Finding) -> EventRow:
    """Return a finding as a run records it; the sentence stands among the notices."""
    body = {"name": finding.name, "gravity": finding.gravity, **finding.evidence}
    return EventRow(update, FINDING, learner, body)


def _opponent(evidence: Mapping[str, object]) -> str:
    return str(evidence.get("opponent", ""))
