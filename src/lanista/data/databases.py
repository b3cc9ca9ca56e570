"""Opens SQLite files to read them, whoever writes them meanwhile; knows not what is inside."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def opened_to_read(path: Path) -> sqlite3.Connection:
    """Return a connection that reads a file and never writes it, in autocommit mode."""
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
