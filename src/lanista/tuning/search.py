"""Runs the trials of a search: several side by side, the hopeless ones stopped at a rung.

The seeds of a trial are run one after another, so that only settings which did well with one are
run with the next. A killed search loses what it was running and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from lanista.errors import LanistaError
from lanista.pipeline.experiment import POLL_SECONDS
from lanista.pipeline.timed_run import TimedRun
from lanista.tuning.plan import Plan
from lanista.tuning.study import RUNGS, WHOLE, Record, State, Study

TRIALS = "trials"


@dataclass(eq=False)
class Trial:
    """Settings that are tried, and their runs so far; the last one may go on."""

    number: int
    values: Mapping[str, Any]
    runs: list[TimedRun] = field(default_factory=list)
    rungs: list[int] = field(default_factory=lambda: [*RUNGS])
    """Rungs of the first run that lie ahead."""

    @property
    def cost(self) -> float:
        return fmean(run.outcome.cost for run in self.runs)

    def record(self, state: State, why: str = "") -> Record:
        """Return what is kept of it."""
        runs = tuple(run.summary() for run in self.runs)
        return Record(self.number, self.values, state, self.cost, runs, why)


class Search:
    """A search that goes on."""

    def __init__(
        self,
        plan: Plan,
        study: Study,
        folder: Path,
        *,
        at_once: int,
        ended: Callable[[Record], None] = lambda record: None,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        self.plan, self.study, self.folder, self.at_once = plan, study, folder, at_once
        self.ended, self.watch = ended, watch
        self.going: list[Trial] = []

    def run(self, lock: int) -> None:
        """Run trials until there are as many as planned."""
        if self.study.empty and self.plan.defaults is not None:
            self.study.enqueue(self.plan.defaults)
        self.study.try_lost_again()
        left = self.plan.trials - len(self.study.records())
        try:
            while left > 0 or self.going:
                while left > 0 and len(self.going) < self.at_once:
                    self._begin(lock)
                    left -= 1
                time.sleep(POLL_SECONDS)
                for trial in [*self.going]:
                    self._advance(trial, lock)
                self.watch()
        finally:
            for trial in self.going:
                trial.runs[-1].job.kill()

    def _begin(self, lock: int) -> None:
        trial = Trial(*self.study.ask())
        self._next_run(trial, lock)
        self.going.append(trial)

    def _next_run(self, trial: Trial, lock: int) -> None:
        seed = self.plan.search_seeds[len(trial.runs)]
        folder = self.folder / TRIALS / f"{trial.number:03}"
        trial.runs.append(self.plan.timed_run(f"trial {trial.number}", trial.values, seed, folder))
        trial.runs[-1].job.start(lock)

    def _advance(self, trial: Trial, lock: int) -> None:
        """Look at a trial's run; go on to the next seed, or end the trial, where that is due."""
        run = trial.runs[-1]
        run.look()
        if run.job.state == "failed":
            self._failed(trial, run)
        elif self._stops(trial, run):
            run.job.kill()
            self._end(trial.record("stopped"))
        elif run.ended and len(trial.runs) == self.plan.seeds:
            self._end(trial.record("done"))
        elif run.ended:
            self._next_run(trial, lock)

    def _stops(self, trial: Trial, run: TimedRun) -> bool:
        """Whether ASHA stops the trial at a rung that it has come to."""
        if len(trial.runs) == 1:
            step = self.plan.budget / WHOLE
            while trial.rungs and (run.ended or (run.looks and run.spent >= step * trial.rungs[0])):
                rung = trial.rungs.pop(0)
                if self.study.hopeless(trial.number, rung, run.cost_by(rung * step)):
                    return True
        whole = run.ended and len(trial.runs) < self.plan.seeds
        return whole and self.study.hopeless(trial.number, WHOLE * len(trial.runs), trial.cost)

    def _failed(self, trial: Trial, run: TimedRun) -> None:
        """Count a run that broke off as one that never came anywhere."""
        if trial.values == self.plan.defaults:
            raise LanistaError(
                f"The recipe's own settings do not run ({run.job.why}); see {run.job.log}."
            )
        self.study.hopeless(trial.number, WHOLE * len(trial.runs), 2 * self.plan.budget)
        self._end(trial.record("failed", run.job.why))

    def _end(self, record: Record) -> None:
        self.study.end(record)
        self.going = [trial for trial in self.going if trial.number != record.number]
        self.ended(record)
