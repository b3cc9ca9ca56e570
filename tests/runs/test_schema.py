"""Typed rows of run.db: the cells they are written as, and the one place that asks for them."""

import ast
import json
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest

import lanista
from lanista.errors import LanistaError, RefusedError
from lanista.runs.database import RunDatabase
from lanista.runs.reader import RunReader, reading_run
from lanista.runs.schema import (
    ROWS,
    TABLES,
    EventRow,
    LineupRow,
    MatchRow,
    MetricRow,
    PlayerRow,
    cells_of,
    row_of,
)

SOURCE = Path(lanista.__file__).parent
WRITTEN = json.loads((Path(__file__).parent / "rows_of_version_2.json").read_text())
"""Rows that a league wrote when they were tuples, with the sum that its checkpoint kept."""


@pytest.mark.parametrize("kind", ROWS, ids=TABLES)
def test_rows_that_were_written_as_tuples_are_read_and_written_cell_by_cell_the_same(kind):
    cells = [tuple(row) for row in WRITTEN["rows"][kind.table]]
    assert cells
    assert [repr(cells_of(row_of(kind, row))) for row in cells] == [repr(row) for row in cells]


def test_typed_rows_come_to_the_sum_that_checkpoints_have_kept(tmp_path):
    with closing(RunDatabase(tmp_path / "run.db")) as database:
        for kind in ROWS:
            database.add_rows(row_of(kind, tuple(row)) for row in WRITTEN["rows"][kind.table])
        database.flush()
        assert database.sum == int(WRITTEN["sum"])
        database.forget_after(10**6)
        assert database.sum == int(WRITTEN["sum"])
        for kind in ROWS:
            assert len(database.rows(kind)) == len(WRITTEN["rows"][kind.table])


@pytest.mark.parametrize("kind", ROWS, ids=TABLES)
def test_the_fields_of_a_row_are_the_columns_of_its_table(kind, tmp_path):
    with closing(RunDatabase(tmp_path / "run.db")) as database:
        asked = database.connection.execute(f"PRAGMA table_info({kind.table})")
        columns = [column[1] for column in asked]
    assert columns == ["update_number", *[each.name for each in fields(kind)][1:]]


@pytest.mark.parametrize(
    ("kind", "cells", "why"),
    [
        (MetricRow, ("1", "x", 0.5), "'1' is no whole number"),
        (MetricRow, (1, "x", "much"), "'much' is no number"),
        (MetricRow, (1, b"x", 0.5), "b'x' is no text"),
        (EventRow, (1, "kind", "who", "[]"), "no JSON object"),
        (MatchRow, (1, 2, 3, 4, "[1.0]", "{", 0), "Expecting"),
        (MatchRow, (1, 2, 3, 4, "[1.0]", "[1]"), "shorter"),
    ],
)
def test_cells_that_no_run_writes_are_refused_with_a_reason(kind, cells, why):
    with pytest.raises(ValueError, match=why):
        row_of(kind, cells)


def test_questions_are_answered_by_rows(tmp_path):
    path = tmp_path / "run.db"
    rows = [
        MatchRow(4, 21, 20, 7, (1.0, -1.0), (1, 2), False),
        LineupRow(4, 20, "pool", ("a", "b"), ("d", "e"), 3, 1, 1),
        MatchRow(4, 25, 24, 7, (1.0, -1.0), (1, 2), False),
    ]
    with closing(RunDatabase(path)) as database:
        assert (database.newest_update(), database.match_ids()) == (0, None)
        database.add_rows(rows)
        database.add(2, {"a": 1.0, "b": 2.0})
        database.add(5, {"a": 3.0, "b": float("nan"), "c": float("nan")})
    with closing(RunReader(path)) as run:
        assert run.match(21) == (rows[0], rows[1])
        assert run.match(20) is None
        assert run.match(25) is None  # Its line-up is lost.
        assert run.match_ids() == (21, 25)
        assert run.last_match() == 25
        assert run.last_training_match() is None
        assert run.metric("a") == [MetricRow(2, "a", 1.0), MetricRow(5, "a", 3.0)]
        assert run.metric("a", "b", since=3) == [MetricRow(5, "a", 3.0), MetricRow(5, "b", None)]
        assert run.measured() == {"a", "b"}
        assert run.newest_update() == 5
        assert run.rows(PlayerRow) == run.newest_matchmaking() == []


def test_what_is_read_is_all_of_one_moment(tmp_path):
    path = tmp_path / "run.db"
    with closing(RunDatabase(path)) as database:
        database.add(1, {"a": 1.0})
        database.flush()
        with closing(RunReader(path)) as run:
            assert len(run.rows(MetricRow)) == 1
            database.add(2, {"a": 1.0})
            database.flush()
            assert len(run.rows(MetricRow)) == 1
        with closing(RunReader(path)) as run:
            assert len(run.rows(MetricRow)) == 2


@pytest.mark.parametrize("refusal", [LanistaError, RefusedError])
def test_a_database_that_cannot_be_read_is_refused_as_the_reader_asks(refusal, tmp_path):
    path = tmp_path / "run.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(refusal, match=r"run\.db is damaged: file is not a database"), \
            reading_run(path, refusal):  # fmt: skip
        pass
    path.write_bytes(b"")
    with pytest.raises(refusal, match=r"is no run's database, or is empty"), \
            reading_run(path, refusal):  # fmt: skip
        pass


def queries(module: Path) -> list[str]:
    """Return where a module speaks to SQLite: imports of it, and calls that run statements."""
    found = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import) and any(name.name == "sqlite3" for name in node.names):
            found.append(f"{module}:{node.lineno}: import sqlite3")
        if isinstance(node, ast.ImportFrom) and node.module == "sqlite3":
            found.append(f"{module}:{node.lineno}: from sqlite3")
        statements = ("execute", "executemany", "executescript")
        if isinstance(node, ast.Attribute) and node.attr in statements:
            found.append(f"{module}:{node.lineno}: .{node.attr}")
    return found


def test_nobody_but_runs_and_the_learners_ledger_speaks_sql():
    """learn.db is another database, and the ledger's; study.db is Optuna's."""
    homes = ("runs/", "live/learner/ledger", "tuning/study")
    elsewhere, at_home = [], []
    for module in sorted(SOURCE.rglob("*.py")):
        ours = module.relative_to(SOURCE).as_posix().startswith(homes)
        (at_home if ours else elsewhere).extend(queries(module))
    assert at_home
    assert elsewhere == []


def test_the_schema_of_run_db_has_one_home():
    """The ledger's learn.db has tables of the same names."""
    homes = {
        module.relative_to(SOURCE).as_posix()
        for module in SOURCE.rglob("*.py")
        if any(f"CREATE TABLE {name}" in module.read_text(encoding="utf-8") for name in TABLES)
    }
    assert {home for home in homes if not home.startswith("live/learner/ledger")} == {
        "runs/schema.py"
    }
