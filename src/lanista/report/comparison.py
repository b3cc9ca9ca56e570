"""Arms side by side: one table, one plot, one file of numbers.

Curves in, files out. Knows nothing of how curves were measured; those of other programs are read
from JSON lines.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.files import write_text
from lanista.report.curves import Better, Curve, Look, Summary, band, summary
from lanista.report.plot import Band, Panel, figure
from lanista.report.tables import X_LABELS, empty_row, markdown, summary_columns, summary_row

RESULTS, PLOT, TABLE = "results.json", "plot.svg", "table.md"


@dataclass(frozen=True)
class Comparison:
    """Several arms' curves of one number."""

    title: str
    metric: str
    arms: Mapping[str, Sequence[Curve]]
    x: Sequence[str] = ("decisions", "cpu_seconds")
    better: Better = "lower"

    def measured(self, arm: str) -> list[Curve]:
        """Return the curves of `arm` that have a look at all."""
        return [curve for curve in self.arms[arm] if curve.looks]

    def summaries(self) -> dict[str, Summary | None]:
        """Return how each arm ended; None where nothing was measured."""
        summary_by_arm: dict[str, Summary | None] = {}
        for arm in self.arms:
            curves = self.measured(arm)
            summary_by_arm[arm] = summary(arm, curves, self.better) if curves else None
        return summary_by_arm

    def columns(self) -> list[str]:
        return summary_columns(self.x)

    def rows(self) -> list[list[str]]:
        """Return the table's cells, an arm a row."""
        return [
            empty_row(arm, self.x) if arm_summary is None else summary_row(arm_summary, self.x)
            for arm, arm_summary in self.summaries().items()
        ]

    def plot(self) -> str:
        """Return the SVG: a panel for each thing spent."""
        bands = {arm: band(self.measured(arm)) for arm in self.arms}
        panels = []
        for name in self.x:
            lines = []
            for arm, points in bands.items():
                measured = [point for point in points if name in point.x]
                lines.append(
                    Band(
                        arm,
                        [point.x[name] for point in measured],
                        [point.median for point in measured],
                        [point.low for point in measured],
                        [point.high for point in measured],
                    )
                )
            panels.append(Panel(X_LABELS.get(name, name), self.metric, lines))
        return figure(self.title, panels)

    def numbers(self) -> dict[str, Any]:
        """Return everything as plain values, every look included."""
        arms = {}
        for arm, arm_summary in self.summaries().items():
            ended = (
                None
                if arm_summary is None
                else {**asdict(arm_summary), "rising": arm_summary.rising}
            )
            arms[arm] = {"summary": ended, "seeds": [_plain(c) for c in self.measured(arm)]}
        return {
            "title": self.title,
            "metric": self.metric,
            "better": self.better,
            "x": list(self.x),
            "arms": arms,
        }


def _plain(curve: Curve) -> dict[str, Any]:
    looks = [{"update": look.update, "value": look.value, **look.x} for look in curve.looks]
    return {"seed": curve.seed, "final": curve.looks[-1].value, "looks": looks}


def write_comparison(folder: Path, comparison: Comparison, more: Mapping[str, Any]) -> None:
    """Write table, plot and numbers into `folder`; `more` goes into the numbers."""
    table = markdown(comparison.columns(), comparison.rows())
    write_text(folder / TABLE, table)
    write_text(folder / PLOT, comparison.plot())
    numbers = {**comparison.numbers(), **more}
    write_text(folder / RESULTS, json.dumps(numbers, indent=1, allow_nan=False) + "\n")


def read_lines(path: Path, metric: str, x: Sequence[str]) -> dict[str, list[Curve]]:
    """Return the curves in a file of JSON lines, by arm.

    A line has `arm`, `seed`, `update`, the metric by its name, and what was spent by its name.
    Lines without the metric, such as a header, are passed over.
    """
    looks: dict[tuple[str, int], list[Look]] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        for line in lines:
            row = json.loads(line) if line.strip() else {}
            if metric in row:
                key = str(row["arm"]), int(row["seed"])
                spent = {name: float(row[name]) for name in x if row.get(name) is not None}
                looks.setdefault(key, []).append(_look(row, metric, spent))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise LanistaError(f"{str(path)!r} cannot be read: {why}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise LanistaError(
            f"{path} is no file of measurements ({error}); each line needs arm, seed, update and "
            f"{metric}."
        ) from error
    arms: dict[str, list[Curve]] = {}
    for (arm, seed), arm_looks in sorted(looks.items()):
        in_order = sorted(arm_looks, key=lambda look: look.update)
        arms.setdefault(arm, []).append(Curve(seed, tuple(in_order)))
    return arms


def _look(row: Mapping[str, Any], metric: str, spent: Mapping[str, float]) -> Look:
    value = float(row[metric])
    if not math.isfinite(value):
        raise ValueError(f"{metric} is {value}")
    return Look(int(row["update"]), value, spent)
