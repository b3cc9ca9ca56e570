"""Which loop a run's learners have, by what its settings say. Owns that choice alone."""

from __future__ import annotations

from lanista.runs.settings import RunSettings
from lanista.training.learner_loop import LearnerLoop
from lanista.training.regret_loop import RegretLoop

AnyLoop = LearnerLoop | RegretLoop


def loop_of(settings: RunSettings) -> type[LearnerLoop] | type[RegretLoop]:
    """Return the loop of every learner of a run."""
    return RegretLoop if settings.learning.policy == "regret" else LearnerLoop
