"""Arms once more, with as many iterations as take the CPU time of one of them.

Equal iterations compare arms by what their main learned from; leagues then spend more time. This
adds the other comparison. Pure functions of an experiment and of what its runs took.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from lanista.errors import LanistaError
from lanista.pipeline.experiment import Experiment, Job

SUFFIX = ", equal CPU"
"""What the second run of an arm is called, after the arm."""


def with_equal_cpu(experiment: Experiment, jobs: Sequence[Job]) -> Experiment:
    """Return the experiment with a further arm for each but the one that others are held against.

    Every run of `jobs` must be done. Iterations and the evaluations between them are scaled by CPU
    seconds, median over seeds, so that schedules end with the run; the rest stays.
    """
    seconds = {arm: _cpu_seconds(arm, jobs) for arm in experiment.arms}
    reference = experiment.equal_cpu
    arms = dict(experiment.arms)
    for arm, overrides in experiment.arms.items():
        if arm != reference:
            share = seconds[reference] / seconds[arm]
            settings = experiment.settings_of(arm, experiment.seeds[0])
            arms[arm + SUFFIX] = {
                **overrides,
                "iterations": max(1, round(settings.iterations * share)),
                "evaluation.every": max(1, round(settings.evaluation.every * share)),
            }
    return replace(experiment, arms=arms)


def _cpu_seconds(arm: str, jobs: Sequence[Job]) -> float:
    spent = []
    for job in jobs:
        if job.arm == arm:
            numbers = job.numbers("cpu_seconds")
            spent.append(max((values["cpu_seconds"] for values in numbers.values()), default=0.0))
    if not spent or min(spent) <= 0:
        raise LanistaError(
            f"Arm {arm!r} has a run that did not count its CPU seconds, so equal_cpu cannot hold "
            "others against it; leave equal_cpu out."
        )
    return statistics.median(spent)
