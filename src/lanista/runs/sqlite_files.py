"""Opens SQLite files to read them, whoever writes them meanwhile.

Knows nothing of what is inside.
"""

from __future__ import annotations

import shutil
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from lanista.errors import RefusedError

_BESIDE = ("", "-wal", "-shm", "-journal")
"""What the names of a database's own files end in."""
_TRIES = 20
T = TypeVar("T")


def refuse_foreign(path: Path, *, writing: bool = False) -> None:
    """Refuse a database that is a link or no regular file, or of which a file beside it is.

    SQLite follows links, and what it writes goes into the file at their end; a pipe it would wait
    for. Where it is for `writing`, a second name of the file (a hard link) is refused too.
    """
    for file in (path.with_name(path.name + ending) for ending in _BESIDE):
        try:
            status = file.lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(status.st_mode):
            raise RefusedError(
                f"{file} is a link, and what is done to it would be done to another file; put the "
                "database itself there."
            )
        if not stat.S_ISREG(status.st_mode):
            raise RefusedError(f"{file} is no regular file; put the database itself there.")
        if writing and status.st_nlink > 1:
            raise RefusedError(
                f"{file} has another name elsewhere (a hard link), and would be changed there too; "
                "put a copy of its own in its place."
            )


def opened_to_read(path: Path) -> sqlite3.Connection:
    """Return a connection that reads a file as it is now, in autocommit mode.

    Nothing is written, and nothing is left beside the file, which SQLite's own read-only mode does:
    there it makes the files that a write-ahead log takes.
    """
    refuse_foreign(path)
    for _ in range(_TRIES):
        connection = _opened(path)
        if connection is not None:
            return connection
    raise sqlite3.OperationalError("it changes whenever it is looked at; try again")


def read_unchanged(path: Path, read: Callable[[sqlite3.Connection], T]) -> T:
    """Return what `read` makes of a file; it is asked again where the file changed meanwhile.

    Like `opened_to_read` for whoever looks often: a database that nobody writes is not copied.
    """
    refuse_foreign(path)
    with _turn(path):
        for _ in range(_TRIES):
            before = _present(path)
            still = not before.log and not before.shared and _has_log(path)
            try:
                with closing(_still(path) if still else opened_to_read(path)) as connection:
                    result = read(connection)
            except (sqlite3.DatabaseError, ValueError, TypeError):
                if _present(path) == before or not still:
                    raise
                continue
            if not still or _present(path) == before:
                return result
    raise sqlite3.OperationalError("it changes whenever it is looked at; try again")


@lru_cache(maxsize=4096)
def _turn(path: Path) -> threading.Lock:
    """Return what lets one thread at a time look at a file: see `_has_log`."""
    return threading.Lock()


def _still(path: Path) -> sqlite3.Connection:
    return _tried(f"{path.absolute().as_uri()}?mode=ro&immutable=1")


def _opened(path: Path) -> sqlite3.Connection | None:
    """Return a connection; None: somebody has begun or ended to write meanwhile."""
    before = _present(path)
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        if before.log and before.shared:
            # Somebody writes, or was killed at it; the index is shared or, if it is old, made in
            # memory.
            return _tried(f"{address}&readonly_shm=1")
        if not (before.log or _has_log(path)):
            return _tried(address)
        connection = _copied(path) if before.log else _in_memory(f"{address}&immutable=1")
    except (sqlite3.OperationalError, FileNotFoundError):
        if _present(path) == before:
            raise
        return None
    if _present(path) != before:
        connection.close()
        return None
    return connection


class _Present(NamedTuple):
    """What lies there of a database; it stays the same as long as nobody writes."""

    file: tuple[int, int, int] | None
    log: bool
    shared: bool


def _present(path: Path) -> _Present:
    try:
        status = path.stat()
    except FileNotFoundError:
        file = None
    else:
        file = (status.st_ino, status.st_size, status.st_mtime_ns)
    log, shared = (path.with_name(path.name + ending).exists() for ending in ("-wal", "-shm"))
    return _Present(file, log, shared)


def _has_log(path: Path) -> bool:
    """Return whether a database is one with a write-ahead log; what is no database is none."""
    # Never asked while this process has it open: to close a file gives up SQLite's locks on it.
    try:
        with path.open("rb") as file:
            return file.read(20)[18:] == b"\x02\x02"
    except OSError:
        return False


def _copied(path: Path) -> sqlite3.Connection:
    """Return what a database and its log hold together; nobody has it open."""
    with tempfile.TemporaryDirectory(prefix="lanista-") as folder:
        for ending in ("", "-wal"):
            shutil.copyfile(path.with_name(path.name + ending), Path(folder, f"copy{ending}"))
        return _in_memory(Path(folder, "copy").as_uri())


def _in_memory(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        with closing(_tried(address)) as source:
            source.backup(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


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
