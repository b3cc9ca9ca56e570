"""Live sessions as a person starts them: beside the tests, in a group of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import warm_python

on_linux = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")


def processes(folder: Path, *marks: str) -> list[int]:
    """Return the ids of processes whose words name a folder, and one of `marks` if any."""
    ids = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue  # It ended meanwhile.
        inside = f"{folder}/" in words
        if inside and (not marks or any(mark in words for mark in marks)):
            ids.append(int(place.name))
    return ids


def players(folder: Path) -> list[int]:
    """Return the ids of the processes that play in a folder."""
    return processes(folder, "lanista.live.players.")


def until(true: Callable[[], object]) -> None:
    last = time.monotonic() + 900
    while not true():
        assert time.monotonic() < last
        time.sleep(0.05)


def took_effect(folder: Path) -> int:
    """Return how many games took effect."""
    return len(list((folder / "spool" / "archive").rglob("*.npz")))


@contextmanager
def running(*words: object) -> Iterator[subprocess.Popen[str]]:
    """Run a command beside the tests, in a group of its own."""
    process = warm_python.Popen(
        [sys.executable, "-m", "lanista", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
