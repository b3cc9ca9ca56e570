"""The sections about strength: scores against bots, ratings, payoff, exploitability.

Numbers with their intervals come from the summary and from the run's own evaluations. Knows
nothing of how they were measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lanista.report.charts import Line, panel
from lanista.report.page_parts import Panels, Section
from lanista.report.source import Story

UNKNOWN = "—"
Summary = Mapping[str, Any]


@dataclass(frozen=True)
class Scored:
    """A score with its interval, where it is known."""

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def scores(story: Story) -> dict[str, Line]:
    """Return the run's own evaluations by opponent."""
    found = {}
    for metric, series in sorted(story.metrics.items()):
        if not metric.startswith("score/") or not series:
            continue
        name = metric.removeprefix("score/")
        low, high = (dict(story.metrics.get(f"score_{end}/{name}", ())) for end in ("low", "high"))
        updates = [update for update, _ in series]
        found[name] = Line(
            name,
            [float(update) for update in updates],
            [value for _, value in series],
            [low.get(update) for update in updates],
            [high.get(update) for update in updates],
        )
    return found


def last(line: Line) -> Scored:
    """Return where a curve ended."""
    value = line.y[-1]
    assert value is not None
    return Scored(value, line.low[-1], line.high[-1])


def against_bots(story: Story) -> Section | None:
    """Return the score against each bot over updates."""
    found = scores(story)
    if not found:
        return None
    worst_first = sorted(found.values(), key=lambda line: last(line).value)
    ends = (0.0, float(max(line.x[-1] for line in worst_first)))
    small = [
        (line.name, str(last(line)), panel(line, share=True, even=0.5, digits=".3f", x_range=ends))
        for line in worst_first
    ]
    lead = (
        "Score = (wins + ½ draws) / games, over updates, with its 95 % interval; the dotted line "
        "is even. Hardest first; the number is the last evaluation."
    )
    return Section("Score against each bot", [Panels(small)], lead)


def rated(story: Story, summary: Summary) -> Section | None:
    return None


def payoff(story: Story, summary: Summary) -> Section | None:
    return None


def exploitability(story: Story, summary: Summary) -> Section | None:
    return None


def headline(story: Story, summary: Summary) -> list[str]:
    return ["x"]
