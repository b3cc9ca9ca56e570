"""One run on its way to the mark: started, looked at while it goes on, ended when it is decided.

A run is `lanista rl` in a process of its own. What it cost is read from its database, so a run
that was ended earlier says the same again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lanista.pipeline.experiment import POLL_SECONDS, Job
from lanista.tuning.marks import Look, Outcome, outcome_of
from lanista.tuning.plan import Plan

_SPENT = "cpu_seconds"


class TimedRun:
    """A job, and what is known of its way."""

    def __init__(self, plan: Plan, arm: str, values: Mapping[str, Any], seed: int, folder: Path):
        self.plan, self.mark, self.bots = plan, plan.target, plan.bots
        self.job = Job(arm, seed, plan.run_settings(values, seed), folder)
        self.job.prepare()
        self.looks: list[Look] = []
        self.spent = 0.0
        """CPU seconds of training so far."""
        self._newest = 0
        self._read()
        if self._decided and not self.ended:
            self.job.stop()  # A kill came between the look and the note of it.

    @property
    def ended(self) -> bool:
        return self.job.state in ("done", "failed")

    @property
    def outcome(self) -> Outcome:
        """What it comes to if it ends now."""
        return outcome_of(self.looks, self.mark, self.plan.budget, self.plan.untrained)

    def cost_by(self, seconds: float) -> float:
        """Return what it would have cost to end after so many CPU seconds, or the first look."""
        looks = [look for look in self.looks if look.seconds <= seconds] or self.looks[:1]
        return outcome_of(looks, self.mark, self.plan.budget, self.plan.untrained).cost

    def look(self) -> None:
        """Read what is new; end the run once the mark is reached or the budget spent."""
        self.job.look()
        self._read()
        if self._decided and self.job.state == "running":
            self.job.stop()

    @property
    def _decided(self) -> bool:
        return self.outcome.seconds is not None or self.spent >= self.plan.budget

    def _read(self) -> None:
        names = self.mark.metrics(self.bots)
        for update, numbers in self.job.numbers(*names, _SPENT, since=self._newest + 1).items():
            self._newest = update
            self.spent = numbers.get(_SPENT, self.spent)
            value = self.mark.value(numbers, self.bots)
            if value is not None:
                self.looks.append(Look(self.spent, value))

    def summary(self) -> dict[str, Any]:
        """Return what is kept of it."""
        outcome = self.outcome
        return {
            "seed": self.job.seed, "seconds": outcome.seconds, "best": outcome.best,
            "cost": outcome.cost, "spent": self.spent,
        }  # fmt: skip


def finish(runs: Sequence[TimedRun], lock: int, *, at_once: int, watch: Callable[[], None]) -> None:
    """Bring all runs to their ends, `at_once` side by side; `watch` is called in between."""
    waiting, going = [run for run in runs if not run.ended], list[TimedRun]()
    try:
        while waiting or going:
            while waiting and len(going) < at_once:
                going.append(waiting.pop(0))
                going[-1].job.start(lock)
            time.sleep(POLL_SECONDS)
            for run in going:
                run.look()
            going = [run for run in going if not run.ended]
            watch()
    finally:
        for run in going:
            run.job.kill()
