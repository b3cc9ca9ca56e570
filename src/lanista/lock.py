"""Holds a folder against other processes; the system lets go when this one ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lanista.errors import RefusedError

LOCK = "run.lock"
"""The file that is held where a folder cannot be."""


@contextmanager
def holding(folder: Path, what: str) -> Iterator[None]:
    """Hold `folder`, which is a `what`, while the block runs; refuse if another process does."""
    handle = -1
    try:
        if sys.platform == "win32":
            import msvcrt

            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if handle >= 0:
            os.close(handle)
        raise RefusedError(
            f"Another process is working on the {what} {folder}; wait for it or stop it."
        ) from error
    try:
        yield
    finally:
        os.close(handle)
