"""`solve`: from a game to a policy file near its equilibrium, with progress and resuming.

The state between two iterations lies beside the policy in FILE.state. How many iterations are done
before the exploitability is looked at depends on their number alone, so that a solve that was
interrupted comes to the same file.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.games.contract import Spec
from lanista.games.trees.exact import information_tree
from lanista.games.trees.tree import InformationTree, Report
from lanista.nets.files.policy_file import save_policy
from lanista.nets.table import table_policy
from lanista.solving.state import load_state, save_state, state_path
from lanista.solving.tabular import Method, TabularSolver

MOST_HISTORIES = 5_000_000
SAVE_EVERY = 30.0
"""Seconds between two saves."""
_LOOK_EVERY = 0.5
"""Seconds of work after which an interrupt or the end of the time is noticed, about."""
SOLVER = "solver"
"""The remark that says how a policy was solved."""


@dataclass(frozen=True)
class SolveSettings:
    """What to solve, and until when."""

    game: str
    game_settings: Mapping[str, Any] = field(default_factory=dict)
    method: Method = "cfr+"
    target: float = 0.001
    """NashConv at which it is enough; 0: goes on until something else ends it."""
    iterations: int | None = None
    """The most iterations."""
    minutes: float | None = None
    """The most time, of this call."""
    most_histories: int = MOST_HISTORIES

    def __post_init__(self) -> None:
        if not 0 <= self.target < math.inf:
            raise LanistaError(f"The target is {self.target}; give a NashConv of 0 or above.")
        if self.iterations is not None and self.iterations < 1:
            raise LanistaError(f"iterations is {self.iterations}; give a number of 1 or above.")
        if self.minutes is not None and not self.minutes > 0:
            raise LanistaError(f"minutes is {self.minutes}; give a number above 0.")
        if self.target == 0 and self.iterations is None and self.minutes is None:
            raise LanistaError(
                "The target is 0, which no number of iterations reaches; give iterations or "
                "minutes too."
            )


@dataclass(frozen=True)
class Solution:
    """What a solve came to."""

    iterations: int
    nash_conv: float
    value: float
    """What seat 0 earns at the average policy."""
    digest: str
    """Of the policy file."""
    tree: InformationTree
    interrupted: bool = False


@dataclass(frozen=True)
class Look:
    """The state of a solve at one moment."""

    iterations: int
    nash_conv: float
    seconds: float


def solve(
    settings: SolveSettings,
    output: Path,
    *,
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    looked: Callable[[Look], None] = lambda look: None,
    walked: Report | None = None,
) -> Solution:
    """Solve a game and write its policy to `output`; `looked` and `walked` are told of progress."""
    spec = registry.spec_of(settings.game, **settings.game_settings)
    tree = information_tree(settings.game, settings.game_settings, settings.most_histories, walked)
    if resume:
        solver = load_state(state_path(output), tree, settings.method)
    else:
        solver = TabularSolver(tree, settings.method)
    work = _Work(settings, solver, output, stop, looked)
    work.run()
    return work.finish(spec)


class _Work:
    def __init__(
        self,
        settings: SolveSettings,
        solver: TabularSolver,
        output: Path,
        stop: Callable[[], bool],
        looked: Callable[[Look], None],
    ) -> None:
        self.settings, self.solver, self.output = settings, solver, output
        self.stop, self.looked = stop, looked
        self.began = self.saved = time.monotonic()
        self.pace = 0.0
        self.nash_conv = solver.nash_conv()

    def run(self) -> None:
        """Iterate until the target, or what else ends it."""
        while not self._enough():
            until = next_look(self.solver.iterations)
            if self.settings.iterations is not None:
                until = min(until, self.settings.iterations)
            if not self._iterate(until):
                break
            self.nash_conv = self.solver.nash_conv()
            seconds = time.monotonic() - self.began
            self.looked(Look(self.solver.iterations, self.nash_conv, seconds))

    def _enough(self) -> bool:
        done, most = self.solver.iterations, self.settings.iterations
        reached = done > 0 and self.nash_conv <= self.settings.target
        return reached or (most is not None and done >= most) or self._over()

    def _over(self) -> bool:
        minutes = self.settings.minutes
        late = minutes is not None and time.monotonic() - self.began > 60 * minutes
        return late or self.stop()

    def _iterate(self, until: int) -> bool:
        """Iterate up to a number; say whether it was reached."""
        while self.solver.iterations < until:
            began = time.monotonic()
            count = max(1, int(_LOOK_EVERY / self.pace)) if self.pace else 1
            count = min(count, until - self.solver.iterations)
            self.solver.iterate(count)
            now = time.monotonic()
            self.pace = (now - began) / count
            if now - self.saved > SAVE_EVERY:
                self._save()
            if self.solver.iterations < until and self._over():
                return False
        return True

    def _save(self) -> None:
        save_state(state_path(self.output), self.solver)
        self.saved = time.monotonic()

    def finish(self, spec: Spec) -> Solution:
        """Write state and policy."""
        self._save()
        solver, nash_conv = self.solver, self.solver.nash_conv()
        remark = f"{solver.method}, {solver.iterations} iterations, NashConv {nash_conv:.6g}"
        policy = table_policy(spec, *solver.table())
        digest = save_policy(
            self.output, policy, spec, step=solver.iterations, extra={SOLVER: remark}
        )
        interrupted = self.stop()
        return Solution(
            solver.iterations, nash_conv, solver.value(), digest, solver.tree, interrupted
        )


def next_look(iterations: int) -> int:
    """Return the number of iterations after which NashConv is looked at next.

    Looks lie about a tenth apart, at the same numbers wherever a solve began or went on.
    """
    look = 0
    while look <= iterations:
        look += max(1, look // 10)
    return look
