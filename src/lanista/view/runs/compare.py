"""Two to twenty runs side by side: what was set otherwise, curves, how each ended.

Runs with the same settings but the seed (and what was measured with it) are one arm, and its curve
a band over seeds. Uses the arithmetic and the charts of reports; knows nothing of HTTP.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.evaluation.score import Estimate
from lanista.report.comparison import Comparison
from lanista.report.curves import Better, Curve, Look, band
from lanista.report.glance import curves, shown_updates
from lanista.report.pages.charts import Line, chart
from lanista.report.pages.html import Chart, Section, Table, Words
from lanista.report.pages.results import said_estimate
from lanista.report.run_record import Series
from lanista.report.tables import X_LABELS
from lanista.runs.layout import DATABASE
from lanista.runs.metric_names import with_current_names
from lanista.runs.reader import look_at_run
from lanista.view.runs.elements import plain_sections
from lanista.view.runs.standing import settings_of

FEWEST, MOST = 2, 20
AXES = ("decisions", "cpu_seconds", "update")
_FIRST_CHOICE = ("exact/nash_conv", "evaluation/score", "loss")
_LOWER = ("nash_conv", "loss", "kl", "lag", "gradient_norm")
"""Words of numbers that are better when they are lower."""
_ABSENT = "—"
_MEASURED = ("learning.terms.", "rollouts.matches", "evaluation.matches")
"""Settings that default from a sample of matches, which the seed deals."""
_NEAR = 0.1
"""How far a measured setting may lie apart in one arm; who varies one, varies it by more."""


@dataclass(frozen=True)
class Compared:
    """One run among others."""

    place: str
    """Its id."""
    settings: Mapping[str, Any]
    """By dotted key."""
    metrics: Mapping[str, Series]

    @property
    def seed(self) -> int:
        seed = self.settings.get("seed", 0)
        return seed if type(seed) is int else 0

    def curve(self, metric: str) -> Curve:
        """Return a number over what had been spent by then."""
        spent = {name: dict(self.metrics.get(name, ())) for name in ("decisions", "cpu_seconds")}
        looks = [
            Look(
                update,
                value,
                {name: by[update] for name, by in spent.items() if update in by}
                | {"update": float(update)},
            )
            for update, value in self.metrics.get(metric, ())
        ]
        return Curve(self.seed, tuple(looks))


def read_compared(place: str, folder: Path) -> Compared:
    """Return what a comparison needs of a run."""
    metrics = look_at_run(folder / DATABASE, lambda run: curves(run, shown_updates(run)))
    return Compared(place, dict(flat(settings_of(folder))), with_current_names(metrics))


def flat(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys and their values."""
    if isinstance(values, Mapping) and values:
        for key, value in values.items():
            yield from flat(value, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, values


def compare(runs: Sequence[Compared], metric: str = "", axis: str = AXES[0]) -> dict[str, Any]:
    """Return the sections of a comparison, and the numbers that can be compared."""
    if not FEWEST <= len(runs) <= MOST:
        raise LanistaError(f"{len(runs)} runs were chosen; choose from {FEWEST} to {MOST}.")
    if axis not in AXES:
        raise LanistaError(f"{axis!r} is nothing to draw against; choose {', '.join(AXES)}.")
    names = sorted({name for run in runs for name, series in run.metrics.items() if series})
    if metric and metric not in names:
        raise LanistaError(f"None of these runs has the number {metric!r}; choose another.")
    metric = metric or next((name for name in _FIRST_CHOICE if name in names), "")
    metric = metric or next(iter(names), "")
    arms = arms_of(runs)
    sections = [
        _curves(arms, metric, axis) if metric else None,
        _ended(arms, metric, axis) if metric else None,
        _scores(runs),
        differing(arms),
    ]
    return {
        "metric": metric, "metrics": names, "axis": axis, "sections": plain_sections(sections),
        "arms": {arm: [run.place for run in members] for arm, members in arms.items()},
    }  # fmt: skip


def arms_of(runs: Sequence[Compared]) -> dict[str, list[Compared]]:
    """Return runs by arm; those that differ in nothing but the seed are of one."""
    groups: list[list[Compared]] = []
    for run in runs:
        own = next((group for group in groups if _same_but_seed(group[0], run)), None)
        if own is None:
            groups.append([run])
        else:
            own.append(run)
    arms: dict[str, list[Compared]] = {}
    for group in groups:
        arms.setdefault(_name(group), []).extend(group)
    return arms


def _same_but_seed(one: Compared, other: Compared) -> bool:
    """Whether settings differ in the seed alone, and in what was measured with it."""
    keys = (one.settings.keys() | other.settings.keys()) - {"seed"}
    differing = {key for key in keys if _cell(one.settings, key) != _cell(other.settings, key)}
    if not differing:
        return True
    return one.seed != other.seed and all(
        key.startswith(_MEASURED) and _near(one.settings.get(key), other.settings.get(key))
        for key in differing
    )


def _near(one: Any, other: Any) -> bool:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    return numbers and math.isclose(one, other, rel_tol=_NEAR)


def _name(group: Sequence[Compared]) -> str:
    """Return an arm's name: its run's, or the folder that all its runs lie in."""
    if len(group) == 1:
        return group[0].place
    folders = {str(Path(run.place).parent) for run in group}
    (folder, *others) = sorted(folders)
    return f"{group[0].place} and {len(group) - 1} more" if others or folder == "." else folder


def differing(arms: Mapping[str, Sequence[Compared]]) -> Section:
    """Return the table of settings that are not the same in all arms."""
    settings = {arm: runs[0].settings for arm, runs in arms.items()}
    keys = {key for values in settings.values() for key in values} - {"seed"}
    # Where one arm has a group of settings and another none of it, the group is one row.
    groups = {key for key in keys if any(other.startswith(f"{key}.") for other in keys)}
    inside = {key for key in keys if any(key.startswith(f"{group}.") for group in groups)}
    rows = [
        (key, *cells)
        for key in sorted(keys - inside)
        if len({*(cells := [_cell(values, key) for values in settings.values()])}) > 1
    ]
    if not rows:
        return Section("Settings", [Words("They differ in nothing but the seed.")])
    table = Table(("setting", *arms), rows, words=tuple(range(len(arms) + 1)))
    return Section("Settings", [table], "What is not the same; all else is.")


def _cell(values: Mapping[str, Any], key: str) -> str:
    if key in values:
        value = values[key]
        if isinstance(value, list):
            return ", ".join(map(str, value))
        return "none" if value is None else str(value)
    inside = sum(other.startswith(f"{key}.") for other in values)
    return f"{inside} settings" if inside else _ABSENT


def _curves(arms: Mapping[str, Sequence[Compared]], metric: str, axis: str) -> Section:
    lines = []
    for arm, runs in arms.items():
        points = [p for p in band([run.curve(metric) for run in runs]) if axis in p.x]
        several = len(runs) > 1
        lines.append(
            Line(
                f"{arm} ({len(runs)} seeds)" if several else arm,
                [point.x[axis] for point in points],
                [point.median for point in points],
                [point.low for point in points] if several else (),
                [point.high for point in points] if several else (),
            )
        )
    share = metric.startswith(("score/", "win_rate/")) or metric == "evaluation/score"
    name = X_LABELS.get(axis, axis)
    figure = chart(lines, metric, share=share, even=0.5 if share else None, x_name=name, height=380)
    caption = "An arm of several seeds is their median, and its band their whole range."
    lead = f"{metric} by {name}."
    return Section("Curves", [Chart(figure, f"{metric} by {name}", caption)], lead)


def _ended(arms: Mapping[str, Sequence[Compared]], metric: str, axis: str) -> Section:
    better: Better = "lower" if any(word in metric for word in _LOWER) else "higher"
    by_arm = {arm: [run.curve(metric) for run in runs] for arm, runs in arms.items()}
    spent = [name for name in AXES if name != "update"]
    compared = Comparison("", metric, by_arm, spent, better)
    lead = (
        f"{metric} at the end: the median over seeds, an interval that assumes nothing of their "
        "distribution, the worst seed, and how far the last third moved. "
        f"{better.capitalize()} is better."
    )
    return Section("How they ended", [Table(compared.columns(), compared.rows())], lead)


def _scores(runs: Sequence[Compared]) -> Section | None:
    """Return every run's newest score against each bot, with its interval."""
    scores = {run.place: _newest_scores(run) for run in runs}
    bots = sorted({bot for by_bot in scores.values() for bot in by_bot})
    if not bots:
        return None
    rows = [
        (place, *(said_estimate(by_bot[bot]) if bot in by_bot else _ABSENT for bot in bots))
        for place, by_bot in scores.items()
    ]
    lead = "Score against each bot in the newest evaluation, with its 95 % interval."
    return Section("Final scores", [Table(("run", *bots), rows)], lead)


def _newest_scores(run: Compared) -> dict[str, Estimate]:
    scores = {}
    for name, series in run.metrics.items():
        bot = name.removeprefix("score/")
        if bot != name and series:
            update, value = series[-1]
            low, high = (
                dict(run.metrics.get(f"score_{end}/{bot}", ())).get(update)
                for end in ("low", "high")
            )
            scores[bot] = Estimate(value, low, high, 0)
    return scores
