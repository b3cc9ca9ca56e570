"""A run's database: when rows are written, what they are summed to, and which files are refused."""

import sqlite3
from contextlib import closing

import pytest

from lanista.errors import RefusedError
from lanista.runs import database as module
from lanista.runs.database import RunDatabase
from lanista.runs.schema import ROWS, VERSION, EventRow, LineupRow, MatchRow, MetricRow, NoticeRow


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def written(path):
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT * FROM metrics ORDER BY update_number, name").fetchall()


def test_numbers_are_written_once_a_second_has_passed(tmp_path, clock):
    path = tmp_path / "run.db"
    with closing(RunDatabase(path)) as metrics:
        clock[0] += 0.99
        metrics.add(1, {"loss": 0.5})
        assert written(path) == []
        clock[0] += 0.02
        metrics.add(2, {"loss": 0.25, "unknown": float("nan")})
        assert written(path) == [(1, "loss", 0.5), (2, "loss", 0.25), (2, "unknown", None)]
        clock[0] += 0.99  # Counted from the last writing.
        metrics.add(3, {"loss": 0.125})
        assert len(written(path)) == 3
    assert written(path)[-1] == (3, "loss", 0.125)


def test_a_database_of_another_version_is_refused_and_ours_has_number_2(tmp_path):
    path = tmp_path / "run.db"
    RunDatabase(path).close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (2,) == (VERSION,)
        database.execute("PRAGMA user_version = 3")
    with pytest.raises(RefusedError, match="is of version 3, and this program reads 2"):
        RunDatabase(path)


def test_the_sum_of_all_rows_is_the_same_however_they_came_and_leaves_out_what_was_said(tmp_path):
    sums = []
    for name, order in (("a", (1, 2)), ("b", (2, 1))):
        with closing(RunDatabase(tmp_path / name)) as metrics:
            for update in order:
                metrics.add(update, {"loss": 0.5 * update})
                metrics.add_rows([EventRow(update, "kind", "player", {})])
                metrics.say(update, f"{name} says something")
                metrics.flush()
            sums.append(metrics.sum)
            metrics.forget_after(2)
            sums.append(metrics.sum)
            assert 0 < metrics.sum < 1 << 256
            metrics.forget_after(1)
            assert [len(metrics.rows(kind)) for kind in ROWS] == [
                int(kind in (MetricRow, EventRow, NoticeRow)) for kind in ROWS
            ]
            assert metrics.sum not in (0, sums[0])
    assert len(set(sums)) == 1


def test_the_highest_match_is_that_of_a_match_or_of_a_line_up_and_minus_1_without_any(tmp_path):
    with closing(RunDatabase(tmp_path / "run.db")) as metrics:
        assert metrics.last_match() == -1
        metrics.add_rows([MatchRow(1, 7, 7, 0, (), (), False)])
        metrics.flush()
        assert metrics.last_match() == 7
        metrics.add_rows([LineupRow(1, 9, "pool", (), (), 0, 1, 1)])
        metrics.flush()
        assert metrics.last_match() == 9
