"""One run on its way to a mark: started, looked at while it goes on, ended when it is decided.

A run is `lanista rl` in a process of its own. What it cost is read from its database, so a run
that was ended earlier says the same again. Knows nothing of why it is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from lanista.errors import LanistaError
from lanista.evaluation.evaluator import Evaluator
from lanista.evaluation.score import wilson
from lanista.games import registry
from lanista.pipeline.experiment import POLL_SECONDS, Job
from lanista.runs.marks import Look, Mark, Outcome, outcome_of
from lanista.runs.settings import RunSettings

LOOKS = 30
"""How often a run is evaluated within its budget, or on its way to the mark, about."""
Clock = Literal["cpu_seconds", "wall_seconds"]
CLOCKS: tuple[Clock, ...] = ("cpu_seconds", "wall_seconds")


@dataclass(frozen=True)
class Goal:
    """What runs are timed by."""

    mark: Mark
    bots: tuple[str, ...]
    """Whom they are evaluated against."""
    budget: float
    """Seconds of training that a run may take."""
    untrained: float = 0.0
    """Uniform play's NashConv where that is the mark; else 0."""
    clock: Clock = "cpu_seconds"
    """The number of a run that says what it took."""

    def outcome(self, looks: Sequence[Look]) -> Outcome:
        """Return what these looks come to."""
        return outcome_of(looks, self.mark, self.budget, self.untrained)


class TimedRun:
    """A job, and what is known of its way."""

    def __init__(self, job: Job, goal: Goal):
        self.job, self.goal = job, goal
        self.job.prepare()
        self.looks: list[Look] = []
        self.spent_by: dict[Clock, float] = dict.fromkeys(CLOCKS, 0.0)
        """Seconds of training so far, by each clock."""
        self.updates = 0
        """Updates so far."""
        self._read()
        if self._decided and not self.ended:
            self.job.stop()  # A kill came between the look and the note of it.

    @property
    def spent(self) -> float:
        """Seconds of training so far, by the goal's clock."""
        return self.spent_by[self.goal.clock]

    @property
    def ended(self) -> bool:
        return self.job.state in ("done", "failed")

    @property
    def outcome(self) -> Outcome:
        """What it comes to if it ends now."""
        return self.goal.outcome(self.looks)

    def cost_by(self, seconds: float) -> float:
        """Return what it would have cost to end after so many seconds, or the first look."""
        looks = [look for look in self.looks if look.seconds <= seconds] or self.looks[:1]
        return self.goal.outcome(looks).cost

    def look(self) -> None:
        """Read what is new; end the run once the mark is reached or the budget spent."""
        self.job.look()
        self._read()
        if self._decided and self.job.state == "running":
            self.job.stop()

    @property
    def _decided(self) -> bool:
        return self.outcome.seconds is not None or self.spent >= self.goal.budget

    def _read(self) -> None:
        mark, bots = self.goal.mark, self.goal.bots
        names = *mark.metrics(bots), *CLOCKS
        for update, numbers in self.job.numbers(*names, since=self.updates + 1).items():
            self.updates = update
            self.spent_by = {clock: numbers.get(clock, s) for clock, s in self.spent_by.items()}
            value = mark.value(numbers, bots)
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


def goal_of(
    mark: Mark,
    recipe: RunSettings,
    budget: float,
    *,
    by: str,
    called: str,
    clock: Clock = "cpu_seconds",
) -> Goal:
    """Return what runs of a recipe are timed by; refuse a mark that says nothing of its strength.

    `by` is what the mark was given as, `called` the user's word for the recipe.
    """
    bots = judges_of(mark, recipe)
    if not bots and not mark.exact:
        raise LanistaError(
            f"{by} is '{mark}', and {called} is evaluated against nobody; name a bot as in "
            "score:BOT>=0.6."
        )
    spec = registry.spec_of(recipe.game, seed=recipe.seed, **recipe.game_settings)
    refuse_too_few_matches(mark, recipe.evaluation.matches, spec.seats, by)
    if not mark.exact:
        return Goal(mark, bots, budget, clock=clock)
    untrained = Evaluator(judged_by(mark, recipe, 1), spec, Path()).uniform_nash_conv
    if mark.bound >= untrained:
        raise LanistaError(
            f"{by} is '{mark}', and uniform play has a NashConv of {untrained:.4g}: it is "
            "reached before anything is learned; give a lower number."
        )
    return Goal(mark, bots, budget, untrained, clock)


def judges_of(mark: Mark, settings: RunSettings) -> tuple[str, ...]:
    """Return whom a run of these settings is evaluated against on its way to the mark."""
    if mark.exact:
        return ()
    return (mark.bot,) if mark.bot else settings.evaluation.bots


def judged_by(mark: Mark, settings: RunSettings, every: int) -> RunSettings:
    """Return settings of a run that is evaluated by the mark alone, every so many iterations.

    The mark itself is no part of them: runs of a search begun before the recipe named one go on.
    """
    evaluation = replace(
        settings.evaluation,
        every=min(max(1, every), settings.iterations),
        exact="always" if mark.exact else "never",
        bots=judges_of(mark, settings),
        keep_best=False,
    )
    checkpoints = replace(settings.checkpoints, keep_last=1, keep_every=0)
    return replace(settings, evaluation=evaluation, checkpoints=checkpoints, mark=None)


def size_beside(settings: RunSettings, recipe: RunSettings) -> float:
    """Return how many times as much an iteration plays as one of the recipe."""
    rollouts, own = settings.rollouts, recipe.rollouts
    return rollouts.unrolls / own.unrolls if own.streaming else rollouts.matches / own.matches


def refuse_too_few_matches(mark: Mark, matches: int, seats: int, name: str = "--mark") -> None:
    """Refuse a score that not even a policy which wins every match would show."""
    deals = -(-matches // seats)
    best = wilson(deals, deals)
    if mark.exact or best is None or best.low is None or best.low >= mark.bound:
        return
    raise LanistaError(
        f"{name} is '{mark}', and with evaluation.matches {matches} the lower bound of a policy "
        f"that wins every match is {best.low:.3f}; give a lower mark, or more matches with "
        "--set evaluation.matches=N."
    )
