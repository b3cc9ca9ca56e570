"""A run's numbers, players and games in SQLite; every row carries the update that made it.

`metrics` has a row for each update and name, `training_games` one for each update, seating and
reason, `matches` one for each match of fixed digests, whose `lineups` say who played it. What
cannot be written now (a full disk) is kept and tried again. Knows nothing of where rows come from.
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
from lanista.runs.sqlite_files import refuse_foreign

VERSION = 2
_FLUSH_EVERY = 1.0
_TABLES = """
CREATE TABLE metrics (
    update_number INTEGER NOT NULL, name TEXT NOT NULL, value REAL,
    PRIMARY KEY (update_number, name)
) WITHOUT ROWID;
CREATE TABLE players (
    update_number INTEGER NOT NULL, name TEXT NOT NULL PRIMARY KEY, digest TEXT NOT NULL,
    kind TEXT NOT NULL, category TEXT NOT NULL, role TEXT NOT NULL, parents TEXT NOT NULL,
    weight REAL NOT NULL, body TEXT NOT NULL
);
CREATE TABLE matchmaking (
    update_number INTEGER NOT NULL, learner TEXT NOT NULL, opponent TEXT NOT NULL,
    reason TEXT NOT NULL, weight REAL NOT NULL,
    PRIMARY KEY (update_number, learner, opponent, reason)
) WITHOUT ROWID;
CREATE TABLE training_games (
    update_number INTEGER NOT NULL, learner TEXT NOT NULL, seating TEXT NOT NULL,
    reason TEXT NOT NULL, digests TEXT NOT NULL, matches INTEGER NOT NULL, pairs TEXT NOT NULL,
    returns TEXT NOT NULL, first_match INTEGER NOT NULL, last_match INTEGER NOT NULL,
    first_update INTEGER NOT NULL,
    PRIMARY KEY (update_number, learner, seating, reason)
) WITHOUT ROWID;
CREATE TABLE lineups (
    update_number INTEGER NOT NULL, lineup INTEGER NOT NULL PRIMARY KEY, reason TEXT NOT NULL,
    names TEXT NOT NULL, digests TEXT NOT NULL, seed INTEGER NOT NULL,
    rules_version INTEGER NOT NULL, observation_version INTEGER NOT NULL
);
CREATE TABLE matches (
    update_number INTEGER NOT NULL, match INTEGER NOT NULL PRIMARY KEY, lineup INTEGER NOT NULL,
    deal INTEGER NOT NULL, returns TEXT NOT NULL, places TEXT NOT NULL, cut_off INTEGER NOT NULL
);
CREATE TABLE events (
    update_number INTEGER NOT NULL, kind TEXT NOT NULL, player TEXT NOT NULL, body TEXT NOT NULL
);
CREATE TABLE notices (update_number INTEGER NOT NULL, sentence TEXT NOT NULL);
"""
TABLES = (
    "metrics", "players", "matchmaking", "training_games", "lineups", "matches", "events",
    "notices",
)  # fmt: skip
_SUMMED = tuple(table for table in TABLES if table != "notices")
"""What a checkpoint vouches for; what was said is not among it, since resuming says things too."""
Row = tuple[int | str | float | None, ...]
Values = dict[str, float]
"""The numbers of an update, by name."""


_MODULUS = 1 << 256


def _sum(rows: Mapping[str, Iterable[Row]]) -> int:
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


class RunDatabase:
    """The open database of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        refuse_foreign(path, writing=True)
        try:
            self.connection = sqlite3.connect(path, isolation_level=None)
            self.connection.execute("PRAGMA journal_mode=WAL")
            # A checkpoint promises that its rows are there, so a commit must reach the disk.
            self.connection.execute("PRAGMA synchronous=FULL")
            self._prepare()
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error
        self.waiting: dict[str, list[Row]] = {table: [] for table in TABLES}
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
        except (sqlite3.Error, ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._damaged(error) from error

    def _prepare(self) -> None:
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            if self.connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise sqlite3.DatabaseError("it is the database of something else")
            self.connection.executescript(
                f"BEGIN; {_TABLES} PRAGMA user_version={VERSION}; COMMIT;"
            )
        elif version != VERSION:
            raise RefusedError(
                f"{self.path} is of version {version}, and this program reads {VERSION}; use the "
                "program that wrote it."
            )
        (sound,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise sqlite3.DatabaseError(sound)
        self._refuse_other_tables()

    def _refuse_other_tables(self) -> None:
        with closing(sqlite3.connect(":memory:")) as wanted:
            wanted.executescript(_TABLES)
            for table in TABLES:
                if _columns(self.connection, table) != _columns(wanted, table):
                    raise sqlite3.DatabaseError(f"its table {table} is missing or another one")

    def add(self, update: int, values: Mapping[str, float]) -> None:
        """Take in the numbers of an update; they are written within a second or with `flush`."""
        self.waiting["metrics"] += [
            # SQLite has no NaN; unknown is NULL there.
            (update, name, None if math.isnan(value) else float(value))
            for name, value in values.items()
        ]
        if time.monotonic() - self.flushed > _FLUSH_EVERY:
            self.try_flush()

    def say(self, update: int, sentence: str) -> None:
        """Take in something the user was told."""
        self.waiting["notices"].append((update, sentence))

    def add_rows(self, table: str, update: int, rows: Iterable[Row]) -> None:
        """Take in rows of another table, each without its update."""
        self.waiting[table] += [(update, *row) for row in rows]

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

    def select(self, table: str, order: str) -> list[Row]:
        """Return all rows of a table that are written, in an order."""
        return list(self.connection.execute(f"SELECT * FROM {table} ORDER BY {order}"))

    def last_match(self) -> int:
        """Return the highest id of a match of fixed players; -1: there is none."""
        # A line-up has the id of its first match, which may be missing in a damaged file.
        (last,) = self.connection.execute(
            "SELECT MAX(id) FROM (SELECT match AS id FROM matches UNION SELECT lineup FROM lineups)"
        ).fetchone()
        return -1 if last is None else int(last)

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
        self.connection.close()
