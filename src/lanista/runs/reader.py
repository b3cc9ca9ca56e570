"""Asks a run's database; answers are typed rows.

`RunTables` has the questions, for whoever holds run.db open; `RunReader` is for those who only look
at a run, which may go on meanwhile. Knows nothing of what is made of the answers.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from lanista.errors import LanistaError
from lanista.runs.schema import (
    VERSION,
    LineupRow,
    MatchmakingRow,
    MatchRow,
    MetricRow,
    R,
    row_of,
)
from lanista.runs.sqlite_files import opened_to_read, read_unchanged

T = TypeVar("T")
UNREADABLE = (sqlite3.Error, ValueError, TypeError, KeyError, RecursionError)
"""What reading a damaged database may raise."""


class RunTables:
    """The tables of an open run.db."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self.connection = path, connection

    @property
    def version(self) -> int:
        """The version of the tables; 0: it is no run's database, or is empty."""
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        return int(version)

    def rows(self, kind: type[R]) -> list[R]:
        """Return all rows of a kind that are written, in the order of their updates."""
        return self._asked(kind, f"ORDER BY {kind.order}")

    def metric(self, *names: str, since: int = 0) -> list[MetricRow]:
        """Return the rows of some numbers, from an update on."""
        marks = ", ".join("?" * len(names))
        where = f"WHERE name IN ({marks}) AND update_number >= ? ORDER BY {MetricRow.order}"
        return self._asked(MetricRow, where, *names, since)

    def measured(self) -> set[str]:
        """Return the names of all numbers that have a value."""
        rows = self.connection.execute("SELECT DISTINCT name FROM metrics WHERE value IS NOT NULL")
        return {str(name) for (name,) in rows}

    def newest_update(self) -> int:
        """Return the newest update that has a number; 0: there is none, or no table yet."""
        # The file of a run that begins is there before its tables.
        query = "SELECT 1 FROM sqlite_master WHERE name = ?"
        if self.connection.execute(query, (MetricRow.table,)).fetchone() is None:
            return 0
        query = "SELECT MAX(update_number) FROM metrics WHERE value IS NOT NULL"
        (newest,) = self.connection.execute(query).fetchone()
        return int(newest or 0)

    def metrics_at(self, updates: Iterable[int]) -> list[tuple[int, str, float]]:
        """Return (update, name, value) of all numbers of some updates that are known, in order."""
        # A cross join is looped over from the left, so that the order is that of the updates.
        query = (
            "SELECT m.update_number, m.name, m.value FROM json_each(?) AS wanted "
            "CROSS JOIN metrics AS m ON m.update_number = wanted.value WHERE m.value IS NOT NULL"
        )
        rows = self.connection.execute(query, (json.dumps(sorted(updates)),))
        return [(int(update), str(name), float(value)) for update, name, value in rows]

    def updates(self) -> tuple[int, int] | None:
        """Return the first and the newest update that has numbers; None: there is none."""
        first, last = self.connection.execute(
            "SELECT (SELECT MIN(update_number) FROM metrics), "
            "(SELECT MAX(update_number) FROM metrics)"
        ).fetchone()
        return None if first is None else (int(first), int(last))

    def marked_updates(self) -> list[int]:
        """Return the updates at which matches of fixed players or events were written, in order."""
        query = (
            "SELECT update_number FROM lineups UNION SELECT update_number FROM events ORDER BY 1"
        )
        return [int(update) for (update,) in self.connection.execute(query)]

    def size(self, kind: type[R]) -> int:
        """Return how many rows of a kind there are."""
        (number,) = self.connection.execute(f"SELECT COUNT(*) FROM {kind.table}").fetchone()
        return int(number)

    def newest(self, kind: type[R], most: int) -> list[R]:
        """Return the newest rows of a kind, in the order of their updates."""
        backwards = ", ".join(f"{column} DESC" for column in kind.order.split(", "))
        return self._asked(kind, f"ORDER BY {backwards} LIMIT ?", most)[::-1]

    def newest_matchmaking(self) -> list[MatchmakingRow]:
        """Return the newest rows of matchmaking: what opponents are drawn from."""
        newest = "WHERE update_number = (SELECT MAX(update_number) FROM matchmaking)"
        return self._asked(MatchmakingRow, f"{newest} ORDER BY {MatchmakingRow.order}")

    def match(self, match: int) -> tuple[MatchRow, LineupRow] | None:
        """Return a match of fixed players and who sat in it; None: there is none of that id."""
        for row in self._asked(MatchRow, "WHERE match = ?", match):
            for lineup in self._asked(LineupRow, "WHERE lineup = ?", row.lineup):
                return row, lineup
        return None

    def newest_matches(self, first: int, count: int) -> list[tuple[MatchRow, LineupRow]]:
        """Return matches of fixed players with who sat in them, newest first, from `first` on."""
        newest = "ORDER BY match DESC LIMIT ? OFFSET ?"
        rows = self._asked(MatchRow, newest, count, first)
        lineups = {
            number: self._asked(LineupRow, "WHERE lineup = ?", number)
            for number in {row.lineup for row in rows}
        }
        return [(row, lineups[row.lineup][0]) for row in rows if lineups[row.lineup]]

    def match_count(self) -> int:
        """Return how many matches of fixed players there are."""
        (count,) = self.connection.execute("SELECT COUNT(*) FROM matches").fetchone()
        return int(count)

    def match_ids(self) -> tuple[int, int] | None:
        """Return the lowest and highest id of a match of fixed players; None: there is none."""
        first, last = self.connection.execute(
            "SELECT MIN(match), MAX(match) FROM matches"
        ).fetchone()
        return None if first is None else (first, last)

    def last_training_match(self) -> int | None:
        """Return the highest id of a training match; None: there is none."""
        query = "SELECT MAX(last_match) FROM training_games"
        (last,) = self.connection.execute(query).fetchone()
        return None if last is None else int(last)

    def last_match(self) -> int:
        """Return the highest id of a match of fixed players or of a line-up; -1: there is none."""
        # A line-up has the id of its first match, which may be missing in a damaged file.
        (last,) = self.connection.execute(
            "SELECT MAX(id) FROM (SELECT match AS id FROM matches UNION SELECT lineup FROM lineups)"
        ).fetchone()
        return -1 if last is None else int(last)

    def _asked(self, kind: type[R], rest: str, *values: int | str) -> list[R]:
        cells = self.connection.execute(f"SELECT * FROM {kind.table} {rest}", values)
        return [row_of(kind, row) for row in cells]

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()


class RunReader(RunTables):
    """A run's database, to look at: all tables as they are at one moment."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, opened_to_read(path))
        self.connection.execute("BEGIN")


@contextmanager
def reading_run(path: Path, refusal: type[LanistaError] = LanistaError) -> Iterator[RunReader]:
    """Open a run's database to look at; raise `refusal` for one that cannot be made sense of."""
    try:
        with closing(RunReader(path)) as run:
            if run.version == 0:
                raise refusal(f"{path} is no run's database, or is empty; put back a copy.")
            if run.version != VERSION:
                raise refusal(other_version(path, run.version))
            yield run
    except UNREADABLE as error:
        raise refusal(f"{path} is damaged: {_why(error)}; put back a copy.") from error


def look_at_run(path: Path, look: Callable[[RunTables], T]) -> T:
    """Return what `look` makes of a run's database, all of it at one moment.

    For those who look often, as a page does; `look` may be called again, and must change nothing.
    """

    def looking(connection: sqlite3.Connection) -> T:
        run = RunTables(path, connection)
        connection.execute("BEGIN")
        if run.version == 0:
            raise LanistaError(f"{path} is no run's database, or is empty; put back a copy.")
        if run.version != VERSION:
            raise LanistaError(other_version(path, run.version))
        return look(run)

    try:
        return read_unchanged(path, looking)
    except UNREADABLE as error:
        raise LanistaError(f"{path} is damaged: {_why(error)}; put back a copy.") from error


def other_version(path: Path, version: int) -> str:
    """Return the sentence on a database of another version."""
    return (
        f"{path} is of version {version}, and this program reads {VERSION}; use the program that "
        "wrote it."
    )


def _why(error: Exception) -> str:
    missing = isinstance(error, KeyError)
    return f"{error} is missing" if missing else str(error).rstrip(".") or type(error).__name__
