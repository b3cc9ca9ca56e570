"""Adds up the wall-clock and CPU time of playing and learning, by phase.

Times are exclusive: a phase entered within another pauses it. One `Phases` belongs to one thread;
`add_up` joins those of several. Always on: a step of many matches costs some switches of about a
microsecond each. Knows nothing of what a phase does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import ClassVar

SIMULATE, OBSERVE, OPPONENTS, BATCH = "simulate", "observe", "opponents", "batch"
INFER, SAMPLE, TRANSFER, LEARN = "infer", "sample", "transfer", "learn"
WAIT, SAVE, JUDGE, REST = "wait", "save", "judge", "rest"
PHASES = {
    SIMULATE: "matches begun, and actions carried out by the rules",
    OBSERVE: "views and masks of what is to be decided",
    OPPONENTS: "answers of opponents; `opponents/NAME` where one answers alone",
    BATCH: "rows gathered, kept and cut into unrolls",
    INFER: "the learner's networks while playing",
    SAMPLE: "probabilities and draws",
    TRANSFER: "to a device and back",
    LEARN: "updates",
    WAIT: "waiting for others to play",
    SAVE: "checkpoints and records",
    JUDGE: "evaluation on the way, and exploiters",
    REST: "everything else",
}


class Phases:
    """Seconds by phase, of one thread."""

    usual: ClassVar[Callable[[], None] | None] = None
    """What `settle` is where none is given: for those who measure all threads of a run."""

    counts_cpu: ClassVar[bool] = True
    """Whether CPU time is counted too. It has to be asked of the system, three times as long as the
    rest of a change, and workers on a GPU wait for each other meanwhile; there it is counted where
    somebody measures."""

    def __init__(self, settle: Callable[[], None] | None = None) -> None:
        """`settle` waits for a device at every change, so that its work counts where it belongs."""
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self.settle = settle or type(self).usual
        self._now = REST
        self._wall, self._cpu = time.perf_counter(), time.thread_time()

    def __call__(self, phase: str) -> _Within:
        """Count what happens within as `phase`."""
        return _Within(self, phase)

    def taken(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the wall-clock and CPU time counted since the last call."""
        self.switch(self._now)
        times = self.wall, self.cpu
        self.wall, self.cpu = {}, {}
        return times

    def switch(self, phase: str) -> str:
        """Begin `phase`; return the one it follows."""
        if self.settle is not None:
            self.settle()
        before, wall = self._now, time.perf_counter()
        self.wall[before] = self.wall.get(before, 0.0) + wall - self._wall
        self._now, self._wall = phase, wall
        if self.counts_cpu:
            cpu = time.thread_time()
            self.cpu[before] = self.cpu.get(before, 0.0) + cpu - self._cpu
            self._cpu = cpu
        return before


class _Within:
    """A phase that is left as it was entered; a generator would take twice as long."""

    __slots__ = ("before", "phase", "phases")

    def __init__(self, phases: Phases, phase: str) -> None:
        self.phases, self.phase = phases, phase

    def __enter__(self) -> None:
        self.before = self.phases.switch(self.phase)

    def __exit__(self, *_: object) -> None:
        self.phases.switch(self.before)


def add_up(mine: dict[str, float], theirs: Mapping[str, float]) -> None:
    """Add another's seconds by phase to `mine`."""
    for phase, seconds in theirs.items():
        mine[phase] = mine.get(phase, 0.0) + seconds
