"""The last word on a search: the winner and the recipe as it is, on seeds that chose neither.

Owns the rank test and the sentence that says whether the winner is faster. The test is exact and
one-sided: of all ways to share out the costs among the two, the share that is at least as good for
the winner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from lanista.pipeline.timed_run import TimedRun, finish
from lanista.report.curves import median_interval
from lanista.runs.marks import Outcome
from lanista.tuning.plan import Plan
from lanista.tuning.study import Record

CONFIRM = "confirm"
DEFAULTS = "defaults"
LEVEL = 0.05
"""The largest chance of a luck like this at which the winner is called faster."""


@dataclass(frozen=True)
class Arm:
    """Some settings on fresh seeds."""

    name: str
    seeds: tuple[int, ...]
    outcomes: tuple[Outcome, ...]
    failures: tuple[str, ...] = ()
    """Of runs that broke off: which, and why."""

    @property
    def costs(self) -> list[float]:
        return [outcome.cost for outcome in self.outcomes]

    @property
    def reached(self) -> int:
        """How many runs reached the mark."""
        return sum(outcome.seconds is not None for outcome in self.outcomes)

    @property
    def median(self) -> float:
        return median(self.costs)

    @property
    def interval(self) -> tuple[float, float, float]:
        """Two of the costs that hold the true median, and the chance that they do."""
        return median_interval(self.costs)


def confirm(
    plan: Plan,
    winner: Record,
    folder: Path,
    lock: int,
    *,
    at_once: int,
    watch: Callable[[Sequence[TimedRun]], None] = lambda runs: None,
) -> dict[str, Arm]:
    """Run the winner and the defaults with fresh seeds, a seed of both before the next.

    A winner that is the recipe itself is not run beside itself.
    """
    values_by_arm: dict[str, dict[str, Any]] = {DEFAULTS: {}}
    if winner.values != plan.defaults:
        values_by_arm[f"trial-{winner.number:03}"] = dict(winner.values)
    runs = [
        plan.timed_run(arm, values, seed, folder / CONFIRM / arm)
        for seed in plan.fresh_seeds
        for arm, values in values_by_arm.items()
    ]
    finish(runs, lock, at_once=at_once, watch=lambda: watch(runs))
    return {arm: _arm(arm, [run for run in runs if run.job.arm == arm]) for arm in values_by_arm}


def _arm(name: str, runs: Sequence[TimedRun]) -> Arm:
    failures = [f"{run.job.name}: {run.job.why}" for run in runs if run.job.state == "failed"]
    seeds = tuple(run.job.seed for run in runs)
    return Arm(name, seeds, tuple(run.outcome for run in runs), tuple(failures))


def rank_test(faster: Sequence[float], slower: Sequence[float]) -> float:
    """Return the chance of a rank sum of `faster` this low if both were drawn alike.

    The permutation form of the test of Wilcoxon, Mann and Whitney; equal costs share their ranks.
    """
    costs = [*faster, *slower]
    ranks = [_rank(cost, costs) for cost in costs]
    seen = sum(ranks[: len(faster)])
    sums = [sum(chosen) for chosen in combinations(ranks, len(faster))]
    return sum(total <= seen for total in sums) / len(sums)


def _rank(cost: float, costs: Sequence[float]) -> float:
    below, equal = sum(other < cost for other in costs), costs.count(cost)
    return below + (equal + 1) / 2


def beats(winner: Arm, defaults: Arm) -> bool:
    """Whether the winner reaches the mark, and significantly sooner."""
    reaches = 2 * winner.reached > len(winner.outcomes)
    return reaches and rank_test(winner.costs, defaults.costs) <= LEVEL


def verdict(plan: Plan, winner: Arm | None, defaults: Arm) -> str:
    """Return whether the winner beats the defaults, in a sentence."""
    if winner is None and not defaults.reached:
        return (
            f"No: of {plan.trials} settings the recipe's own came nearest to {plan.mark}, and on "
            "fresh seeds they did not reach it; give a larger --budget or an easier --mark."
        )
    if winner is None:
        return (
            f"No: of {plan.trials} settings the recipe's own were the fastest to {plan.mark}; keep "
            "them."
        )
    medians = f"{shown(winner.median, plan)} CPU s, the defaults {shown(defaults.median, plan)}"
    luck = rank_test(winner.costs, defaults.costs)
    if beats(winner, defaults):
        ratio = defaults.median / winner.median
        least = "at least " if defaults.median > plan.budget else ""
        times = min(defaults.median, plan.budget) / winner.median if least else ratio
        return (
            f"Yes: the winner beats the defaults: to {plan.mark} it takes {medians} (medians of "
            f"{plan.confirm} fresh seeds), {least}{times:.2g} times as fast (p = {luck:.3g})."
        )
    if not winner.reached and not defaults.reached:
        return (
            f"No: neither the winner nor the defaults reach {plan.mark} in {plan.budget:g} CPU s; "
            "give a larger --budget or an easier --mark."
        )
    return (
        f"No: the winner does not significantly beat the defaults: to {plan.mark} it takes "
        f"{medians} (medians of {plan.confirm} fresh seeds, p = {luck:.3g}); keep the defaults."
    )


def shown(cost: float, plan: Plan) -> str:
    """Return a time to the mark; of one that lies beyond the budget only that."""
    return f"> {plan.budget:g}" if cost > plan.budget else f"{cost:.3g}"
