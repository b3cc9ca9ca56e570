"""The standing table of docs/results/strength.md and its plots, from the lines of the command."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bench.strength.clock import look_times
from bench.strength.curves import Look, Ratio, Times, ratio
from bench.strength.rows import NASH_CONV, ROWS, Mark, Row
from lanista.evaluation.score import mean_score, mean_value
from lanista.report.plot import Band, Panel, figure

OURS = "ours"
AIM = 5.0
"""How many times as soon as the best peer ours is to be."""
TITLES = {"ppo": "PPO", "maskable_ppo": "MaskablePPO"}
UNITS = {"cpu_seconds": "CPU s", "wall_seconds": "s", "decisions": "decisions"}
AXES = {"cpu_seconds": "CPU seconds", "wall_seconds": "wall seconds"}
Curves = Mapping[str, Sequence[Sequence[Look]]]
"""By learner: the looks of each seed."""


def page(lines: Iterable[Look]) -> str:
    """Return the tables as Markdown: of one core, then of each other place, under its name."""
    by_place: defaultdict[str, list[Look]] = defaultdict(list)
    for line in lines:
        by_place[place_of(line)].append(line)
    tables = [
        table if not place else f"**{place}**\n\n{table}"
        for place in sorted(by_place)
        if (table := _table(by_place[place])) or not place
    ]
    return "\n\n".join(tables)


def place_of(line: Look) -> str:
    """Return where a curve was made, in words; nothing where that is one core."""
    cores = line.get("cores", 1)
    if line.get("gpu"):
        return "One GPU, wall seconds"
    return "" if cores == 1 else f"{cores} cores, wall seconds"


def _table(lines: Iterable[Look]) -> str:
    """Return a line for each mark, then one for each row's end."""
    curves = curves_of(lines)
    header = [
        "| game | mark | ours | best peer | times as soon |",
        "|---|---|---|---|---|",
    ]
    marks = [
        line for row in ROWS if row.name in curves for line in mark_lines(row, curves[row.name])
    ]
    ends = [
        f"| game | ours | peer | what stands for ours | {_heading(curves)} | seeds |",
        "|---|---|---|---|---|---|",
        *[end_line(row, curves[row.name]) for row in ROWS if row.name in curves],
    ]
    return "\n".join([*header, *marks, "", summary(curves), "", *ends])


def summary(curves: Mapping[str, Curves]) -> str:
    """Return one line that counts the marks, of rows that both sides have run."""
    soon = [
        _best(row, mark, curves[row.name])[2]
        for row in ROWS
        for mark in row.marks
        if {OURS} < {*curves.get(row.name, ())}
    ]
    values = [one.value for one in soon if one.value is not None]
    reached = [one for one in soon if not one.below]
    later = [one for one in soon if one.value is not None and one.value < 1 and not one.bound]
    return (
        f"Of {len(soon)} marks ours reaches {len(reached)}, {sum(one.bound for one in soon)} of "
        f"them alone; {sum(value >= AIM for value in values)} at least {AIM:g} times as soon as "
        f"the best peer, {len(later)} later than it."
    )


def _heading(curves: Mapping[str, Curves]) -> str:
    """Return what the budgets of these rows are counted in."""
    seconds = {seconds_of(by_learner) for by_learner in curves.values()}
    return UNITS["wall_seconds" if "wall_seconds" in seconds else "cpu_seconds"]


def curves_of(lines: Iterable[Look]) -> dict[str, dict[str, list[list[Look]]]]:
    """Return the curves by row and learner, a list of looks a seed; lines without looks are left
    out."""
    by_arm: defaultdict[tuple[str, str, int], list[Look]] = defaultdict(list)
    for line in lines:
        if "metrics" in line:
            by_arm[line["row"], line["learner"], line["seed"]].append(line)
    curves: defaultdict[str, defaultdict[str, list[list[Look]]]]
    curves = defaultdict(lambda: defaultdict(list))
    for (row, learner, _), looks in sorted(by_arm.items()):
        curves[row][learner].append(sorted(looks, key=lambda look: look["decisions"]))
    return {row: dict(by_learner) for row, by_learner in curves.items()}


def mark_lines(row: Row, curves: Curves) -> list[str]:
    """Return a line for each of a row's marks."""
    return [_mark_line(row, mark, curves, unit_of(row, curves)) for mark in row.marks]


def _mark_line(row: Row, mark: Mark, curves: Curves, unit: str) -> str:
    if {OURS} < {*curves}:
        mine, theirs, soon = _best(row, mark, curves)
        cells = [shown_times(mine, unit), theirs, shown_ratio(soon)]
    else:
        cells = ["—", "—", "—"]
        for learner, looks in curves.items():
            cells[learner != OURS] = shown_times(Times.of(looks, mark, unit), unit)
    return f"| {row.title} | {mark} | {' | '.join(cells)} |"


def _best(row: Row, mark: Mark, curves: Curves) -> tuple[Times, str, Ratio]:
    """Return our times to a mark, those of the peer that is there first, and their ratio."""
    unit = unit_of(row, curves)
    times = {learner: Times.of(looks, mark, unit) for learner, looks in curves.items()}
    mine = times.pop(OURS)
    best = min(times, key=lambda learner: (times[learner].median is None, times[learner].at_least))
    theirs = f"{shown_times(times[best], unit)} ({TITLES[best]})"
    return mine, theirs, ratio(mine, times[best])


def unit_of(row: Row, curves: Curves) -> str:
    """Return what a row's times are counted in."""
    return "decisions" if row.per_decision else seconds_of(curves)


def seconds_of(curves: Curves) -> str:
    """Return which seconds these curves have: of the CPU, or of the clock."""
    look = next(iter(curves.values()))[0][0]
    return next(name for name in AXES if name in look)


def shown_times(times: Times, unit: str) -> str:
    """Return the median with its range, or that the budget was not enough."""
    if times.median is None:
        text = f"> {_number(times.at_least)} {UNITS[unit]}"
        return (
            text if not times.reached else f"{text} ({len(times.reached)} of {_n(times)} arrived)"
        )
    low = _number(times.reached[0])
    high = f"> {_number(max(times.missed))}" if times.missed else _number(times.reached[-1])
    return f"{_number(times.median)} {UNITS[unit]} [{low}, {high}]"


def shown_ratio(soon: Ratio) -> str:
    """Return how many times as soon, with the range over seeds."""
    if soon.value is None:
        return "—"
    if soon.below:
        return f"< {soon.value:.1f}"
    bound = "> " if soon.bound else ""
    low = "—" if soon.low is None else f"{soon.low:.1f}"
    high = "—" if soon.high is None else f"{soon.high:.1f}"
    return f"{bound}{soon.value:.1f} [{low}, {high}]"


def end_line(row: Row, curves: Curves) -> str:
    """Return a line with where each learner was when its time was up."""
    metrics = dict.fromkeys(mark.metric for mark in row.marks)
    ours = _ends(curves.get(OURS, ()), metrics)
    peers = "; ".join(
        f"{TITLES[name]} {_ends(looks, metrics)}" for name, looks in curves.items() if name != OURS
    )
    seeds = max(len(looks) for looks in curves.values())
    first = curves.get(OURS, next(iter(curves.values())))[0][0]
    command = first.get("command", row.command())
    budget = first["budget"]
    return f"| {row.title} | {ours} | {peers or '—'} | `{command}` | {budget:g} | {seeds} |"


def _ends(curves: Sequence[Sequence[Look]], metrics: Iterable[str]) -> str:
    parts = []
    for metric in metrics:
        values = np.array([looks[-1]["metrics"][metric]["value"] for looks in curves])
        mean = mean_value(values) if metric == NASH_CONV else mean_score(values)
        if mean is None:
            continue
        # NashConv is never below 0.
        interval = "" if mean.low is None else f" [{max(0.0, mean.low):.3f}, {mean.high:.3f}]"
        label = "NashConv" if metric == NASH_CONV else f"`{metric}`"
        parts.append(f"{label} {mean.value:.3f}{interval}")
    return ", ".join(parts) or "—"


def plot(lines: Iterable[Look], names: Sequence[str]) -> str:
    """Return the curves of rows as SVG: a panel a row, its last metric, seeds as a band.

    Those of one core, where there are such.
    """
    every = [*lines]
    curves = curves_of([line for line in every if not place_of(line)] or every)
    panels = [_panel(row, curves[row.name]) for row in ROWS if row.name in {*names} & {*curves}]
    return figure("Strength against time, seeds as a band", panels)


def _panel(row: Row, curves: Curves) -> Panel:
    metric = row.marks[-1].metric
    label = "NashConv" if metric == NASH_CONV else f"score against {metric}"
    seconds = seconds_of(curves)
    bands = [
        _band(TITLES.get(learner, learner), curves[learner], metric, seconds)
        for learner in sorted(curves, key=lambda learner: learner != OURS)
    ]
    return Panel(f"{row.title}: {AXES[seconds]}", label, bands)


def _band(name: str, curves: Sequence[Sequence[Look]], metric: str, seconds: str) -> Band:
    """Return the newest value at each moment, where all seeds have one."""
    first = max(looks[0][seconds] for looks in curves)
    last = max(looks[-1][seconds] for looks in curves)
    moments = [first, *(moment for moment in look_times(last, 3) if moment > first)]
    values = np.array([[_newest(looks, metric, at, seconds) for looks in curves] for at in moments])
    return Band(name, moments, np.median(values, 1), values.min(1), values.max(1))


def _newest(looks: Sequence[Look], metric: str, moment: float, seconds: str) -> float:
    earlier = [look for look in looks if look[seconds] <= moment]
    return float(earlier[-1]["metrics"][metric]["value"])


def _n(times: Times) -> int:
    return len(times.reached) + len(times.missed)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
