"""CPU time of all processes of a cluster of the tests, those that have ended included.

Read off the kernel many times a second, by the mark in their environment: what a process did after
the last look at it is missing.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from ray_machines import MARK

LOOK = 0.2
"""Seconds between two looks."""
_TICKS = os.sysconf("SC_CLK_TCK")


class MarkedCpu:
    """Adds up what processes with a mark use, in a thread."""

    def __init__(self, mark: str) -> None:
        self._mark = f"{MARK}={mark}".encode()
        self._ours: dict[tuple[str, str], bool] = {}
        """By process and when it began: whether it has the mark."""
        self._used: dict[tuple[str, str], float] = {}
        self._total = 0.0
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> MarkedCpu:
        self._look()
        self._total = 0.0
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def seconds(self) -> float:
        """Return what was used since the last call."""
        self._look()
        with self._lock:
            total, self._total = self._total, 0.0
        return total

    def _work(self) -> None:
        while not self._ended.wait(LOOK):
            self._look()

    def _look(self) -> None:
        with self._lock:
            for folder in Path("/proc").iterdir():
                if folder.name.isdigit():
                    with suppress(OSError):
                        self._add(folder.name)

    def _add(self, name: str) -> None:
        fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        process = (name, fields[19])
        if process not in self._ours:
            environment = Path(f"/proc/{name}/environ").read_bytes()
            if not environment:
                return  # It is about to become a program.
            self._ours[process] = self._mark in environment
        if self._ours[process]:
            used = (int(fields[11]) + int(fields[12])) / _TICKS
            self._total += used - self._used.get(process, 0.0)
            self._used[process] = used
