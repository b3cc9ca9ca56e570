"""Times the way of settings to the recipe's mark: `lanista rl` in turns, each pair with its seed.

Owns what such a run is given and which of its clocks counts. Knows nothing of which settings to
try.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count, tee
from math import inf
from pathlib import Path

from lanista.errors import LanistaError
from lanista.pipeline.experiment import Job, held
from lanista.pipeline.timed_run import (
    CLOCKS,
    LOOKS,
    Clock,
    Goal,
    TimedRun,
    finish,
    goal_of,
    judged_by,
    size_beside,
)
from lanista.profile.changes import needed
from lanista.profile.machine import idle, reading, used
from lanista.profile.subject import Subject, with_stand_ins
from lanista.profile.sweep import Pairs, take_turns
from lanista.runs.marks import parse_mark
from lanista.runs.settings import RunSettings

PATIENCE = 4.0
"""A run may take so many times as long as the recipe's first."""
_FIRST_LOOKS = 100
"""How often the recipe's first run is evaluated on all its way, where it says nothing itself."""
_WORDS: dict[Clock, str] = {"cpu_seconds": "CPU seconds", "wall_seconds": "seconds"}


@dataclass
class MarkMeter:
    """Measures settings by how soon they reach the mark: one by the seconds, so more is better."""

    subject: Subject
    device: str
    pairs: int
    measured: Callable[[], None] = lambda: None
    """Called after every run."""
    goal: Goal = field(init=False)
    """Of the recipe as it is; its first run may take as long as it likes."""
    budgets: dict[Clock, float] = field(default_factory=lambda: dict.fromkeys(CLOCKS, inf))
    """Seconds that a later run may take, by each clock."""
    every: float = field(init=False)
    """Iterations of the recipe between two looks at its strength."""

    def __post_init__(self) -> None:
        settings = self.subject.settings
        assert settings.mark is not None
        self.goal = goal_of(
            parse_mark(settings.mark, "mark"), settings, inf, by="mark",
            called=self.subject.recipe, clock=self._clock(settings),
        )  # fmt: skip
        self.every = settings.evaluation.every or settings.iterations / _FIRST_LOOKS
        # No seed decides twice: a luck that kept a change says nothing for it afterwards.
        self._seeds = count(settings.seed)

    def __call__(
        self, old: RunSettings, new: RunSettings | None, *, give_up: bool = False
    ) -> Pairs:
        """Return rates in pairs; `give_up` stops at what is plainly slower."""
        assert new is not None, "a mark compares settings"
        clock = self._clock(old, new)
        goal = replace(self.goal, clock=clock, budget=self.budgets[clock])
        pairs = Pairs(timed=_timed(goal))
        before, seeds = reading(), tee(self._seeds)
        rates = [self._rates(*both, goal) for both in zip((old, new), seeds, strict=True)]
        take_turns(pairs, self.pairs, *(rate.__next__ for rate in rates), give_up=give_up)
        if clock == "wall_seconds":  # CPU seconds are the same on a busy machine.
            pairs.idle = idle(used(before, reading()).others)
        return pairs

    @property
    def unit(self) -> str:
        """In what the recipe is timed, as `CPU seconds to nash_conv<=0.05`."""
        return _timed(self.goal)

    def first_way(self) -> float:
        """Run the recipe to its mark, and look at all others as often; return its seconds."""
        settings = self.subject.settings
        run = self._run(settings, next(self._seeds), self.goal)
        seconds = run.outcome.seconds
        if seconds is None:
            best = "nothing" if run.outcome.best is None else f"{run.outcome.best:.4g}"
            raise LanistaError(
                f"mark is '{self.goal.mark}', and {self.subject.recipe} came to {best} in its "
                f"{settings.iterations} iterations; give more, an easier mark or none "
                "(--set mark=null)."
            )
        for clock, spent in run.spent_by.items():
            self.budgets[clock] = PATIENCE * seconds * spent / run.spent
        self.every = run.updates / settings.learner_updates / LOOKS
        return seconds

    def _rates(self, settings: RunSettings, seeds: Iterator[int], goal: Goal) -> Iterator[float]:
        for seed in seeds:
            yield 1 / self._run(settings, seed, goal).outcome.cost

    def _run(self, settings: RunSettings, seed: int, goal: Goal) -> TimedRun:
        """Bring a run to the mark, or to the end of its budget."""
        with tempfile.TemporaryDirectory(prefix="lanista-profile-") as name:
            folder = Path(name)
            settings, made_up = with_stand_ins(self.subject, settings, folder)
            if made_up:
                raise LanistaError(
                    f"mark is '{goal.mark}', and nothing is known of the way to it from a policy "
                    f"that is not there yet; do the earlier stages with lanista run and give its "
                    "folder, or leave the mark out (--set mark=null)."
                )
            every = round(self.every / size_beside(settings, self.subject.settings))
            settings = replace(judged_by(goal.mark, settings, every), seed=seed)
            with held(folder) as lock:
                run = TimedRun(Job("run", seed, settings, folder), goal)
                finish([run], lock, at_once=1, watch=lambda: None)
        if run.job.state == "failed":
            raise LanistaError(f"The run to the mark broke off: {run.job.why}")
        self.measured()
        return run

    def _clock(self, *both: RunSettings) -> Clock:
        """Return CPU seconds, unless a device or several cores at once are to save time."""
        alone = self.device == "cpu" and all(needed(settings) == 1 for settings in both)
        return "cpu_seconds" if alone else "wall_seconds"


def _timed(goal: Goal) -> str:
    return f"{_WORDS[goal.clock]} to {goal.mark}"
