"""How a run stands: running, finished, stopped or crashed, how far, how fast, how strong.

Told by its lock, its last rows and its newest checkpoint; a handful of rows is read. Knows nothing
of pages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lanista.errors import LanistaError
from lanista.lock import is_held
from lanista.runs.layout import CHECKPOINTS, CONFIG, DATABASE, checkpoint_numbers
from lanista.runs.reader import RunTables, look_at_run
from lanista.runs.schema import LineupRow, NoticeRow
from lanista.runs.settings import RunSettings
from lanista.yaml_text import parse_yaml, text_of

State = Literal["running", "finished", "stopped", "crashed", "unreadable"]
FAULT = "The run ends with a fault"
"""How a run's last notice begins when an error ended it."""
RECENT = 0.1
"""The share of the updates so far that speed is told by."""


@dataclass(frozen=True)
class Score:
    """The newest evaluation, as far as a line can say it."""

    value: float
    low: float | None
    high: float | None
    against: str
    """The opponent against which it is lowest; `NashConv` for an exact value."""


@dataclass(frozen=True)
class Numbers:
    """What the rows of a run say; the same as long as its files do not change."""

    game: str = ""
    update: int = 0
    total: int = 0
    saved: int = 0
    """The update of the newest checkpoint."""
    decisions: float | None = None
    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    per_cpu_second: float | None = None
    """Decisions per CPU second, lately."""
    seconds_per_update: float | None = None
    """By the clock, lately."""
    score: Score | None = None
    evaluations: int = 0
    """Line-ups that were played; grows with every evaluation."""
    fault: bool = False
    error: str = ""


def state_of(folder: Path, numbers: Numbers) -> State:
    """Return how a run stands now."""
    if numbers.error:
        return "unreadable"
    try:
        if is_held(folder):
            return "running"
    except OSError:
        return "unreadable"
    if numbers.total and numbers.saved >= numbers.total:
        return "finished"
    # A run that is stopped saves first and closes its database; one that was killed leaves rows
    # beyond its checkpoint, or the log that SQLite removes with the last one who closes.
    killed = numbers.update > numbers.saved or _is_open(folder / DATABASE)
    return "crashed" if numbers.fault or killed else "stopped"


def _is_open(database: Path) -> bool:
    """Whether whoever wrote a database did not close it."""
    log = _stamp(database.with_name(f"{database.name}-wal"))
    return log is not None and log[1] > 0


def mark_of(folder: Path) -> tuple[Any, ...]:
    """Return what changes whenever a run's files do."""
    beside = (DATABASE, f"{DATABASE}-wal", CONFIG, CHECKPOINTS)
    return tuple(_stamp(folder / name) for name in beside)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def numbers_of(folder: Path) -> Numbers:
    """Read what the overview shows of a run; one that cannot be read has an error instead."""
    try:
        values = settings_of(folder)
        steps = _whole(values, "learner_updates", RunSettings.learner_updates)
        total = _whole(values, "iterations", RunSettings.iterations) * steps
        saved = max(checkpoint_numbers(folder / CHECKPOINTS), default=0) * steps
        every = values.get("evaluation") or {}
        every = _whole(every, "every", 0) * steps if isinstance(every, dict) else 0
        game = str(values.get("game", ""))
        return look_at_run(folder / DATABASE, lambda run: _numbers(run, game, total, saved, every))
    except LanistaError as error:
        return Numbers(error=str(error))
    except OSError as error:
        return Numbers(error=f"{folder.name} cannot be read: {error.strerror or error}.")


def settings_of(folder: Path) -> Mapping[str, Any]:
    """Return a run's settings as plain values; empty where there are none."""
    config = folder / CONFIG
    if not config.exists():
        return {}
    values = parse_yaml(text_of(config), repr(str(config)))
    return values if isinstance(values, dict) else {}


def _whole(values: Mapping[str, Any], key: str, default: int) -> int:
    value = values.get(key, default)
    return value if type(value) is int else default


def _numbers(run: RunTables, game: str, total: int, saved: int, every: int) -> Numbers:
    span = run.updates()
    evaluations = run.size(LineupRow)
    notices = run.newest(NoticeRow, 1)
    fault = bool(notices) and notices[0].sentence.startswith(FAULT)
    if span is None:
        return Numbers(game, total=total, saved=saved, evaluations=evaluations, fault=fault)
    first, last = span
    earlier = max(first, last - max(10, int((last - first) * RECENT)))
    marked = run.marked_updates()
    exact = last - last % every if every else last
    looked = {earlier, last, exact, *marked[-3:]}
    values: dict[int, dict[str, float]] = {}
    for update, name, value in run.metrics_at(looked):
        if math.isfinite(value):
            values.setdefault(update, {})[name] = value
    now, then = values.get(last, {}), values.get(earlier, {})
    speed = _ratio(now, then, "decisions", "cpu_seconds")
    pace = None
    if last > earlier and "wall_seconds" in now and "wall_seconds" in then:
        pace = max(0.0, now["wall_seconds"] - then["wall_seconds"]) / (last - earlier)
    return Numbers(
        game=game,
        update=last,
        total=total,
        saved=saved,
        decisions=now.get("decisions"),
        cpu_seconds=now.get("cpu_seconds"),
        wall_seconds=now.get("wall_seconds"),
        per_cpu_second=speed,
        seconds_per_update=pace,
        score=_score([values[update] for update in sorted(values)]),
        evaluations=evaluations,
        fault=fault,
    )


def _ratio(
    now: Mapping[str, float], then: Mapping[str, float], above: str, below: str
) -> float | None:
    """Return how one total grew by another; over the whole run where nothing is known between."""
    if above not in now or below not in now:
        return None
    grown = now[below] - then.get(below, 0.0)
    if grown > 0:
        return max(0.0, now[above] - then.get(above, 0.0)) / grown
    return now[above] / now[below] if now[below] > 0 else None


def _score(rows: list[dict[str, float]]) -> Score | None:
    """Return the lowest score of the newest evaluation among some updates' numbers."""
    for values in reversed(rows):
        if "exact/nash_conv" in values:
            return Score(values["exact/nash_conv"], None, None, "NashConv")
        scores = {
            name.removeprefix("score/"): value
            for name, value in values.items()
            if name.startswith("score/")
        }
        if scores:
            against = min(scores, key=scores.__getitem__)
            low, high = (values.get(f"score_{end}/{against}") for end in ("low", "high"))
            return Score(scores[against], low, high, against)
    return None
