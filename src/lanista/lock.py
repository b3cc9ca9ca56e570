"""Holds a folder against other processes; the system lets go when this one ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from lanista.errors import RefusedError

LOCK = "run.lock"
"""The file that is held where a folder cannot be."""
_BETWEEN_TRIES = 0.005
_LEAST_TRIES = 10
"""Of taking a folder, in any case: whoever looks (`is_held`) has it for a moment."""


@contextmanager
def holding(folder: Path, kind: str, patience: float = 0.0) -> Iterator[None]:
    """Hold `folder`, which is a `kind`, while the block runs; refuse if another process does.

    With `patience` it is tried again for that many seconds first.
    """
    handle = _opened(folder)
    try:
        _take(handle, folder, kind, patience)
        yield
    finally:
        os.close(handle)


def is_held(folder: Path) -> bool:
    """Whether a process holds `folder`.

    Makes no file, so that looking changes nothing; and whoever comes to hold the folder just then
    tries again.
    """
    if sys.platform == "win32" and not (folder / LOCK).exists():
        return False
    handle = _opened(folder)
    try:
        _try(handle, shared=True)
    except (BlockingIOError, PermissionError):
        return True
    finally:
        os.close(handle)
    return False


def _take(handle: int, folder: Path, kind: str, patience: float) -> None:
    last = time.monotonic() + patience
    for number in count(1):
        try:
            _try(handle)
            return
        except (BlockingIOError, PermissionError) as error:  # What Unix and what Windows says.
            if number >= _LEAST_TRIES and time.monotonic() >= last:
                waited = f" and did not finish in {patience:g} seconds" if patience else ""
                raise RefusedError(
                    f"Another process is working on the {kind} {folder}{waited}; wait for it or "
                    "stop it."
                ) from error
        time.sleep(_BETWEEN_TRIES)


def _opened(folder: Path) -> int:
    if sys.platform == "win32":
        return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT)
    return os.open(folder, os.O_RDONLY)


def _try(handle: int, *, shared: bool = False) -> None:
    """Take the lock of an open file or folder; raise at once where another has it.

    `shared`: several who only look may have it at once, where the system can tell them apart.
    """
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
