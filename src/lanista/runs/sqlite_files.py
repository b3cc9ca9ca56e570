"""Opens SQLite files to read them, whoever writes them meanwhile.

Knows nothing of what is inside.
"""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

from lanista.errors import RefusedError

_BESIDE = ("", "-wal", "-shm", "-journal")
"""What the names of a database's own files end in."""


def refuse_foreign(path: Path, *, writing: bool = False) -> None:
    """Refuse a database that is a link or no regular file, or of which a file beside it is.

    SQLite follows links, and what it writes goes into the file at their end; a pipe it would wait
    for. Where it is for `writing`, a second name of the file (a hard link) is refused too.
    """
    for file in (path.with_name(path.name + ending) for ending in _BESIDE):
        try:
            found = file.lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(found.st_mode):
            raise RefusedError(
                f"{file} is a link, and what is done to it would be done to another file; put the "
                "database itself there."
            )
        if not stat.S_ISREG(found.st_mode):
            raise RefusedError(f"{file} is no regular file; put the database itself there.")
        if writing and found.st_nlink > 1:
            raise RefusedError(
                f"{file} has another name elsewhere (a hard link), and would be changed there too; "
                "put a copy of its own in its place."
            )


def opened_to_read(path: Path) -> sqlite3.Connection:
    """Return a connection that reads a file and never writes it, in autocommit mode."""
    refuse_foreign(path)
    address = f"{path.absolute().as_uri()}?mode=ro"
    waiting = path.parent / f"{path.name}-wal"
    try:
        return _tried(address)
    except sqlite3.OperationalError:
        # In a folder nobody may write to, SQLite cannot share the file; nobody else has it open.
        if waiting.exists():
            raise
        return _tried(f"{address}&immutable=1")


def _tried(address: str) -> sqlite3.Connection:
    database = sqlite3.connect(address, uri=True, isolation_level=None)
    try:
        database.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.Error:
        database.close()
        raise
    except UnicodeDecodeError as error:  # What SQLite quotes of a damaged schema need be no text.
        database.close()
        raise sqlite3.DatabaseError("its schema holds text that is no UTF-8") from error
    return database
