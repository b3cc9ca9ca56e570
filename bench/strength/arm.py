"""What every arm is: a process that learns one row with one seed and prints a line a look."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

import torch

# Any optimiser loads it when it is made: seconds that belong to no learner.
import torch._dynamo

from bench.strength.clock import Clock, look_times
from bench.strength.judge import Judge, Judged
from bench.strength.rows import Row, row_of


@dataclass(frozen=True)
class Arm:
    """One curve to be made."""

    row: str
    learner: str
    """`ours`, `ppo` or `maskable_ppo`."""
    seed: int
    budget: float
    """Seconds, judging not counted: of CPU on one core, of the clock on several or on a GPU."""
    matches: int | None = None
    """Matches against each bot at a look; none: the row's."""
    peer: dict[str, Any] = field(default_factory=dict)
    """What a peer is told of our settings: `opponents`, with weights, and `shaping`."""
    cores: int = 1
    """Cores that it may use."""
    gpu: bool = False
    """Whether networks run on the GPU."""
    settings: tuple[str, ...] = ()
    """What ours is told besides, as words of `--set`."""

    @property
    def unit(self) -> str:
        """What its seconds are: on one core those of the CPU."""
        return "wall_seconds" if self.gpu or self.cores > 1 else "cpu_seconds"

    @property
    def described(self) -> dict[str, Any]:
        """Itself as a line has it: where it runs is only said if that is not one core."""
        values = asdict(self)
        for name, usual in (("cores", 1), ("gpu", False), ("settings", ())):
            if values[name] == usual:
                del values[name]
        return values


class Curve:
    """Looks at a learner when its time has come, and prints what it sees."""

    def __init__(self, arm: Arm, out: TextIO) -> None:
        self.arm, self.out = arm, out
        self.row: Row = row_of(arm.row)
        self.judge = Judge(self.row, arm.matches)
        self.times = look_times(arm.budget, self.row.looks_a_doubling)
        self.begin()

    def begin(self) -> None:
        """Count from now: starting processes, which load modules, is no learning."""
        self.clock = Clock(wall=self.arm.unit == "wall_seconds")

    @property
    def _command(self) -> dict[str, str]:
        """What stands for ours, as it is now: rows and recipes change."""
        made = self.arm
        if made.learner != "ours":
            return {}
        return {"command": self.row.command(made.settings, gpu=made.gpu)}

    @property
    def over(self) -> bool:
        return not self.times

    def at(self, decisions: int, policy: Callable[[], Judged], *, last: bool = False) -> None:
        """Look if it is time, or if this is the last chance."""
        seconds = self.clock.seconds
        if not self.times or (seconds < self.times[0] and not last):
            return
        self.times = [] if last else [moment for moment in self.times if moment > seconds]
        with self.clock.paused():
            line: dict[str, Any] = {
                **self.arm.described,
                **self._command,
                self.arm.unit: round(seconds, 3),
                "decisions": decisions,
                "metrics": self.judge.look(policy()),
            }
            print(json.dumps(line), file=self.out, flush=True)


def read_arm(text: str) -> Arm:
    """Return the arm that a line of JSON describes."""
    values = json.loads(text)
    return Arm(**values | {"settings": tuple(values.get("settings", ()))})


def main(learn: Callable[[Curve], None]) -> None:
    """Make the curve of the arm that the only argument describes.

    Whatever a learner prints goes to the errors.
    """
    arm = read_arm(sys.argv[1])
    torch.set_num_threads(1)  # For small networks more are slower; workers have the other cores.
    sys.stdout.flush()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="ascii")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    learn(Curve(arm, out))
