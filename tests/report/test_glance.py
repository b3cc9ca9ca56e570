"""Curves of a long run are thinned without losing what is written seldom, nor the end."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from lanista.report.glance import MOST_MARKED, MOST_UPDATES, glance, shown_updates
from lanista.report.reading import read_run
from lanista.runs.database import RunDatabase
from lanista.runs.reader import look_at_run
from lanista.runs.schema import EventRow, MetricRow, PlayerRow


def run_of(folder: Path, updates: int, every: int) -> Path:
    folder.mkdir()
    with closing(RunDatabase(folder / "run.db")) as database:
        database.add_rows([PlayerRow(0, "main", "", "learner", "self", "main")])
        rows = [MetricRow(u, "loss", 1.0 / u) for u in range(1, updates + 1)]
        rows += [
            MetricRow(u, "exact/nash_conv", float(u)) for u in range(every, updates + 1, every)
        ]
        database.add_rows(rows)
        database.add_rows(
            EventRow(u, "snapshot", "main", {}) for u in range(every, updates + 1, every)
        )
    return folder


def updates_of(folder: Path) -> list[int]:
    return look_at_run(folder / "run.db", shown_updates)


def test_a_short_run_is_shown_whole_and_equals_its_report(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run", 300, 10)
    assert updates_of(folder) == list(range(1, 301))
    shown = look_at_run(folder / "run.db", lambda run: glance(run, folder, matches=True))
    assert shown == read_run(folder)


def test_a_long_run_shows_even_steps_its_evaluations_and_its_end(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run", 9_999, 100)
    shown = updates_of(folder)
    assert len(shown) <= MOST_UPDATES + MOST_MARKED + 3
    assert shown[0] == 1
    assert shown[-1] == 9_999
    assert {*range(100, 9_999, 100)} <= {*shown}  # Every evaluation: there are 99.
    steps = [update for update in shown if update % 32 == 0]
    assert steps == list(range(32, 9_999, 32))
    record = look_at_run(folder / "run.db", lambda run: glance(run, folder, matches=False))
    assert record.metrics["loss"][-1] == (9_999, 1.0 / 9_999)
    assert len(record.metrics["exact/nash_conv"]) == 99


def test_runs_of_about_the_same_length_show_the_same_updates(tmp_path: Path) -> None:
    one = updates_of(run_of(tmp_path / "one", 9_000, 100))
    other = updates_of(run_of(tmp_path / "other", 9_600, 100))
    assert {*one} - {9_000} <= {*other}
