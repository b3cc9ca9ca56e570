"""Writes a run's numbers, players and games, and drops those newer than a checkpoint.

What cannot be written now (a full disk) is kept and tried again. Knows nothing of where rows come
from; their columns are in `schema`, questions to them in `reader`.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from lanista.errors import RefusedError
from lanista.runs.reader import UNREADABLE, RunTables, other_version
from lanista.runs.schema import (
    SCHEMA,
    TABLES,
    VERSION,
    Cells,
    MetricRow,
    NoticeRow,
    RunRow,
    cells_of,
)
from lanista.runs.sqlite_files import refuse_foreign

_FLUSH_EVERY = 1.0
_SUMMED = tuple(table for table in TABLES if table != NoticeRow.table)
"""What a checkpoint vouches for; what was said is not among it, since resuming says things too."""
Values = dict[str, float]
"""The numbers of an update, by name."""


_MODULUS = 1 << 256


def _sum(rows: Mapping[str, Iterable[Cells]]) -> int:
    """Return the sum of the hashes of rows: the same in whatever order and portions they come."""
    # SQLite gives -0.0 back as 0.0, which must not pass for damage.
    texts = (
        repr((table, *(value + 0.0 if type(value) is float else value for value in row)))
        for table, some in rows.items()
        for row in some
    )
    return sum(int.from_bytes(hashlib.sha256(t.encode()).digest(), "big") for t in texts)


def _columns(connection: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    """Return names and types of a table's columns; of one that is missing, none."""
    return [(row[1], row[2]) for row in connection.execute(f"PRAGMA table_info({table})")]


class RunDatabase(RunTables):
    """The database of a run that goes on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        refuse_foreign(path, writing=True)
        try:
            super().__init__(path, sqlite3.connect(path, isolation_level=None))
            self.connection.execute("PRAGMA journal_mode=WAL")
            # A checkpoint promises that its rows are there, so a commit must reach the disk.
            self.connection.execute("PRAGMA synchronous=FULL")
            self._prepare()
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error
        self.waiting: dict[str, list[Cells]] = {table: [] for table in TABLES}
        self.flushed = time.monotonic()
        self.sum = 0
        """Of the hashes of all rows; known from `forget_after` on, and kept by checkpoints."""

    def _damaged(self, error: Exception) -> RefusedError:
        return RefusedError(
            f"{self.path} is damaged: {error}; put back a copy, or, in a run without a league, "
            "move it away to go on without the earlier numbers."
        )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Refuse rows that the block cannot make sense of."""
        try:
            yield
        except UNREADABLE as error:
            raise self._damaged(error) from error

    def _prepare(self) -> None:
        if self.version == 0:
            if self.connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise sqlite3.DatabaseError("it is the database of something else")
            self.connection.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version={VERSION}; COMMIT;")
        elif self.version != VERSION:
            raise RefusedError(other_version(self.path, self.version))
        (sound,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise sqlite3.DatabaseError(sound)
        self._refuse_other_tables()

    def _refuse_other_tables(self) -> None:
        with closing(sqlite3.connect(":memory:")) as reference:
            reference.executescript(SCHEMA)
            for table in TABLES:
                if _columns(self.connection, table) != _columns(reference, table):
                    raise sqlite3.DatabaseError(f"its table {table} is missing or another one")

    def add(self, update: int, values: Mapping[str, float]) -> None:
        """Take in the numbers of an update; they are written within a second or with `flush`."""
        self.add_rows(
            MetricRow(update, name, None if math.isnan(value) else float(value))
            for name, value in values.items()
        )
        if time.monotonic() - self.flushed > _FLUSH_EVERY:
            self.try_flush()

    def say(self, update: int, sentence: str) -> None:
        """Take in something the user was told."""
        self.add_rows([NoticeRow(update, sentence)])

    def add_rows(self, rows: Iterable[RunRow]) -> None:
        """Take in rows of any kind; they are written with `flush`."""
        for row in rows:
            self.waiting[row.table].append(cells_of(row))

    def flush(self) -> None:
        """Write everything, to the disk."""
        self.flushed = time.monotonic()
        try:
            self.connection.execute("BEGIN")
            for table, rows in self.waiting.items():
                if rows:
                    marks = ", ".join("?" * len(rows[0]))
                    self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            self.connection.execute("COMMIT")
            summed = {table: self.waiting[table] for table in _SUMMED}
            self.sum = (self.sum + _sum(summed)) % _MODULUS
        except sqlite3.DatabaseError as error:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            if not isinstance(error, sqlite3.OperationalError):
                raise self._damaged(error) from error
            raise OSError(0, f"metrics cannot be written: {error}", str(self.path)) from error
        self.waiting = {table: [] for table in TABLES}

    def try_flush(self) -> bool:
        """Write everything if it can be; return whether."""
        try:
            self.flush()
        except (OSError, RefusedError):
            return False
        return True

    def forget_after(self, update: int) -> None:
        """Delete every row newer than `update`, in one transaction."""
        self.connection.execute("BEGIN IMMEDIATE")
        for table in TABLES:
            self.connection.execute(f"DELETE FROM {table} WHERE update_number > ?", (update,))
        self.connection.execute("COMMIT")
        self.sum = 0
        for table in _SUMMED:
            rows = self.connection.execute(f"SELECT * FROM {table}")
            self.sum = (self.sum + _sum({table: rows})) % _MODULUS

    def close(self) -> None:
        """Write what can be written and let go of the file."""
        self.try_flush()
        super().close()
