"""Tells whether a learner's book is what was written: its pages, its schema, and its rows.

Each row has a hash, and the book holds the sum of all of them, written in the same transaction as
the rows. A checkpoint holds the sum of those it answers for. Knows nothing of what rows mean.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from lanista.errors import RefusedError
from lanista.text import printable

SEAL = "CREATE TABLE sums (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
AFTERWARDS = ("started", "stopped", "lost", "broken", "dropped")
"""Events of an update that are noted after its checkpoint, which therefore cannot hold them."""
_ALL = "rows"
_MODULUS = 1 << 256
_NOT_DAMAGE = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_AUTH,
}  # fmt: skip
"""What SQLite says when a file cannot be got at; everything else is about what is in it."""


class RowSums:
    """The sums of the hashes of all rows, in whatever order and portions they came."""

    def __init__(self, vouched: int = 0, afterwards: int = 0) -> None:
        self.vouched, self.afterwards = vouched, afterwards

    def add(self, table: str, rows: Iterable[tuple[object, ...]], sign: int = 1) -> None:
        """Count rows in, or out with `sign` -1."""
        for row in rows:
            value = sign * _hash(table, row)
            # The kind is the third column of an event.
            if table == "events" and row[2] in AFTERWARDS:
                self.afterwards = (self.afterwards + value) % _MODULUS
            else:
                self.vouched = (self.vouched + value) % _MODULUS

    def copy(self) -> RowSums:
        return RowSums(self.vouched, self.afterwards)

    @property
    def total(self) -> str:
        return f"{(self.vouched + self.afterwards) % _MODULUS:064x}"


def _hash(table: str, row: tuple[object, ...]) -> int:
    text = repr((table, *map(_stored, row)))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")


def _stored(value: object) -> object:
    """Return a value as it looks alike before and after it was in the book.

    There, -0.0 becomes 0.0 and NaN becomes NULL, and a truth value is a number.
    """
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() else float(value)
    return int(value) if isinstance(value, bool) else value


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error is about what is in a file, and not about getting at it."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or (code & 0xFF) not in _NOT_DAMAGE


def damaged(path: Path, why: object) -> RefusedError:
    """Return the refusal of a damaged book."""
    return RefusedError(
        f"{printable(path)} is damaged: {printable(why, 200)}; put back a copy, or move the folder "
        "it lies in away to begin a new learner from the stable policy."
    )


def checked(
    database: sqlite3.Connection, tables: str, names: Iterable[str]
) -> tuple[RowSums, bool]:
    """Return the sums of a book's rows, and whether it holds them itself.

    Raises `sqlite3.DatabaseError` where it is not what was written. `tables` is the schema that it
    must have.
    """
    own_transaction = not database.in_transaction
    if own_transaction:
        database.execute("BEGIN")  # Somebody may be writing; all of this is about one moment.
    try:
        # Not quick_check, which does not hold an index against its table.
        (sound,) = database.execute("PRAGMA integrity_check(1)").fetchone()
        if sound != "ok":
            raise sqlite3.DatabaseError(sound)
        sealed = _refuse_schema(database, tables)
        sums = RowSums()
        for name in names:
            sums.add(name, database.execute(f"SELECT * FROM {name}"))
        if sealed and [(_ALL, sums.total)] != database.execute("SELECT * FROM sums").fetchall():
            raise sqlite3.DatabaseError("its rows are not those that were written")
        return sums, sealed
    finally:
        if own_transaction and database.in_transaction:
            database.execute("ROLLBACK")


def seal(database: sqlite3.Connection, sums: RowSums) -> None:
    """Write the sum of all rows; part of the transaction that writes the rows."""
    database.execute("INSERT OR REPLACE INTO sums VALUES (?, ?)", (_ALL, sums.total))


def _refuse_schema(database: sqlite3.Connection, tables: str) -> bool:
    """Refuse a book of other tables, indices or triggers; return whether it has sums."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master"
    schema = set(database.execute(query))
    model = sqlite3.connect(":memory:")
    try:
        model.executescript(tables)
        old = set(model.execute(query))
        model.execute(SEAL)
        new = set(model.execute(query))
    finally:
        model.close()
    if schema not in (old, new):
        raise sqlite3.DatabaseError("its tables are not those of a learner's book")
    return schema == new
