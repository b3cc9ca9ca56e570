"""A disk of a few megabytes that can be filled and cleared, where one may be mounted."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A tmpfs of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ballast = path / "ballast"

    def fill(self, leaving: int = 0) -> None:
        """Leave room for so many bytes and no more."""
        self.clear()
        about = os.statvfs(self.path)
        free = about.f_bavail * about.f_frsize - leaving
        with self.ballast.open("wb", buffering=0) as file:
            while free > 0:
                try:
                    free -= file.write(bytes(min(free, 1 << 16)))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    break  # Somebody else took room meanwhile.

    def clear(self) -> None:
        self.ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(path: Path, size: int) -> Iterator[SmallDisk]:
    """Mount a disk while the block runs; skip the test where that is not allowed."""
    path.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no `mount` here, so no disk can be filled")
    if done.returncode:
        pytest.skip(f"a tmpfs may not be mounted here, so no disk can be filled: {done.stderr}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)
