"""Which loop a run's learners have, by what its settings say. Owns that choice alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lanista.learn.update.ranks import Ranks
from lanista.runs.settings import RunSettings
from lanista.training.learner_loop import LearnerLoop
from lanista.training.regret_loop import RegretLoop

AnyLoop = LearnerLoop | RegretLoop


def loop_of(settings: RunSettings, ranks: Ranks | None = None) -> Callable[..., AnyLoop]:
    """Return what makes the loop of every learner of a run."""
    if settings.learning.policy == "regret":
        return RegretLoop
    return partial(LearnerLoop, ranks=ranks)
