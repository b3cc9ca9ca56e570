"""One peer's process and everything it starts: asked by lines, timed from outside, left by none.

All of its processes carry a mark in their environment, so that daemons and workers which have left
its tree are counted and ended too. Knows nothing of what the peer does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

MARK = "LANISTA_PEER"
TICKS = os.sysconf("SC_CLK_TCK")
"""In which the kernel counts a process's time, a second."""
PATIENCE = 20.0
"""Seconds that its processes have to end by themselves."""


class PeerFailed(Exception):  # noqa: N818 - said of the peer, not of us
    """A peer ended without an answer; the sentence is the last one it said."""


@dataclass(frozen=True)
class Learned:
    """What one request came to."""

    decisions: int
    seconds: float
    """CPU seconds of all its processes."""
    score: float | None
    """Of the latest matches it learned from."""
    matches: int

    @property
    def rate(self) -> float:
        return self.decisions / self.seconds


class PeerProcess:
    """A peer that waits for requests. With `halted`, what goes on between them is stopped."""

    def __init__(self, command: list[str], *, halted: bool = False) -> None:
        self._mark = uuid.uuid4().hex
        self._halted = halted
        self._home = tempfile.TemporaryDirectory()
        self._error_log = Path(self._home.name) / "said"
        with self._error_log.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=self._environment(),
            )
        self.about: dict[str, Any] = {}

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(Path("src").resolve()), str(Path.cwd())])
        own = {MARK: self._mark, "PYTHONPATH": path, "HOME": self._home.name}
        return os.environ | own | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def __enter__(self) -> PeerProcess:
        try:
            self.about = self._answer()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self._signal(signal.SIGSTOP)
        return self

    def learn(self, decisions: int) -> Learned:
        """Have it learn from at least so many decisions."""
        began = self.seconds()
        self._signal(signal.SIGCONT)
        assert self._process.stdin is not None
        self._process.stdin.write(f"{decisions}\n")
        self._process.stdin.flush()
        answer = self._answer()
        self._signal(signal.SIGSTOP)
        return Learned(seconds=max(self.seconds() - began, 1 / TICKS), **answer)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        error_lines = (
            self._error_log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        )
        raise PeerFailed(error_lines[-1] if error_lines else "it ended without a word")

    def _signal(self, number: signal.Signals) -> None:
        if self._halted:
            _tell(self.processes(), number)

    def processes(self) -> list[int]:
        """Return the ids of all its processes that are there now."""
        mark = f"{MARK}={self._mark}".encode()
        return [int(one.name) for one in Path("/proc").glob("[0-9]*") if _has_mark(one, mark)]

    def seconds(self) -> float:
        """Return the CPU seconds of its processes, and of those they have waited for."""
        return sum(map(_ticks, self.processes())) / TICKS

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it, and whatever of it does not end by itself."""
        self._signal(signal.SIGCONT)
        assert self._process.stdin is not None
        self._process.stdin.close()
        until = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        while self.processes() and time.monotonic() < until:
            time.sleep(0.05)
        while survivors := self.processes():
            _tell(survivors, signal.SIGKILL)
            time.sleep(0.01)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._home.cleanup()


def _has_mark(folder: Path, mark: bytes) -> bool:
    try:
        return mark in (folder / "environ").read_bytes().split(b"\0")
    except OSError:  # Somebody else's, or gone.
        return False


def _ticks(process: int) -> int:
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    # The name, in brackets, may hold anything; user and system time, own and children's, are the
    # fourteenth field to the seventeenth.
    return sum(map(int, fields.rpartition(")")[2].split()[11:15]))


def _tell(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            continue
