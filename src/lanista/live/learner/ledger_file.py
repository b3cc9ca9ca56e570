"""The file of a learner's book: opened, checked, and written in transactions that vouch for rows.

A book that is not what was written is refused before anything is done with it; one on a full disk
says so with the system's own error, so that whoever writes can wait. Knows nothing of the tables.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from lanista.errors import RefusedError
from lanista.files import write_bytes
from lanista.live.learner.ledger_check import SEAL, RowSums, checked, damaged, is_damage, seal
from lanista.runs.sqlite_files import opened_to_read
from lanista.text import printable

VERSION = 2
_WITHOUT_SUMS = 1
Row = tuple[Any, ...]
_MISTAKES = sqlite3.ProgrammingError, sqlite3.IntegrityError, sqlite3.DataError
"""What SQLite says of a program, and not of a file."""


class BookFile:
    """A book that is open, to read it or as the only one who writes it."""

    def __init__(self, path: Path, schema: str, tables: Sequence[str], *, write: bool) -> None:
        self.path, self._schema, self._tables = path, schema, tables
        self.was_unsealed = False
        """Whether it was written before books held sums of their rows; one opened to write has
        them from then on."""
        with self._speaking("opened"):
            self._refuse_damage(write)
            if write:
                self._connection = sqlite3.connect(path, isolation_level=None)
                self._prepare()
            else:
                self._connection = opened_to_read(path)

    def _refuse_damage(self, write: bool) -> None:
        """Look at all of it before anything is written."""
        self._sums = RowSums()
        if self.path.exists() and not self.path.is_file():
            raise sqlite3.DatabaseError("it is not a file")
        # A file without a byte is what SQLite makes first.
        if write and (not self.path.exists() or not self.path.stat().st_size):
            return
        with _decoding(), closing(opened_to_read(self.path)) as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchall():
                if write:
                    return
                raise RefusedError(
                    f"{printable(self.path)} is empty: its learner has only just begun, or was "
                    "killed when it did; look again when it runs."
                )
            if version not in (VERSION, _WITHOUT_SUMS, 0):
                raise RefusedError(
                    f"{printable(self.path)} is of version {version}, and this program reads "
                    f"{VERSION}; use the program that wrote it, or, if it is damaged, put back a "
                    "copy."
                )
            self._sums, sealed = checked(database, self._schema, self._tables)
            if sealed != (version == VERSION):
                raise sqlite3.DatabaseError(f"its version is {version}, and its tables another's")
            self.was_unsealed = not sealed

    def _prepare(self) -> None:
        connection = self._connection
        connection.execute("PRAGMA journal_mode=WAL")
        # A checkpoint promises that its rows are there, so a commit must reach the disk.
        connection.execute("PRAGMA synchronous=FULL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == VERSION:
            return
        tables = "" if version else self._schema
        with self.writing():
            for statement in (tables + SEAL).split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={VERSION}")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextmanager
    def _speaking(self, doing: str) -> Iterator[None]:
        """Turn what SQLite says into an error that names the file and the remedy."""
        try:
            yield
        except _MISTAKES:
            raise
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                raise damaged(self.path, error) from error
            self._raise_if_full(error)
            # Locked or without the right to write: nothing is wrong with what is there.
            raise RefusedError(
                f"{printable(self.path)} cannot be {doing}: {error}; see that you may read and "
                f"write in {printable(self.path.parent)}, and that nobody else writes it."
            ) from error

    def _raise_if_full(self, error: sqlite3.DatabaseError) -> None:
        """Raise the system's own error where a disk has no room, or no more of it for this user."""
        extended = getattr(error, "sqlite_errorcode", 0)
        code = extended & 0xFF
        # Memory that it shares with readers is a file, and nothing but room was asked for it. On a
        # disk that is just full a probe may still find some.
        if code == sqlite3.SQLITE_FULL or extended == sqlite3.SQLITE_IOERR_SHMSIZE:
            raise OSError(errno.ENOSPC, "no space left on device", str(self.path)) from error
        if code == sqlite3.SQLITE_IOERR:
            # It does not say why; a file of our own does.
            probe = self.path.with_name(f".{self.path.name}.room.part")
            try:
                write_bytes(probe, bytes(1 << 16))
            finally:
                probe.unlink(missing_ok=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make all that the block adds one transaction, on the disk when the block ends."""
        before = self._sums.copy()
        with self._speaking("written"):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                seal(self._connection, self._sums)
                self._connection.execute("COMMIT")
            except BaseException:
                self._sums = before
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Write as part of the transaction that is open, or as one of its own."""
        if self._connection.in_transaction:
            yield
        else:
            with self.writing():
                yield

    def vouched(self, update: int) -> str:
        """Return the sum of the rows that a checkpoint of `update` answers for."""
        sums = self._sums.copy()
        for table in self._tables:
            sums.add(table, self.newer(table, update), -1)
        return f"{sums.vouched:064x}"

    def newer(self, table: str, update: int) -> list[Row]:
        """Return the rows of a table that are newer than `update`."""
        return self._select(f"SELECT * FROM {table} WHERE update_number > ?", (update,))

    def _select(self, query: str, values: Row = ()) -> list[Row]:
        with self._speaking("read"):
            return self._connection.execute(query, values).fetchall()


@contextmanager
def _decoding() -> Iterator[None]:
    """Take text that is no UTF-8, in rows or in what SQLite says of them, as the damage it is."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError("it holds text that is no UTF-8") from error
