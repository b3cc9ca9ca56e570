"""Our arm: what `lanista rl` does with the row's game or recipe, in as many updates as fit.

Like `rl --minutes`, a short rehearsal says how many that are, so that schedules end with the
budget. Choosing the settings and the rehearsal count as time spent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.strength import arm
from bench.strength.rows import Row
from lanista.evaluation.evaluator import probabilities
from lanista.games import registry
from lanista.league.matchmaking import Meeting
from lanista.nets.policy import Policy
from lanista.pipeline.defaults import default_settings
from lanista.pipeline.recipes import settings_of
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.policy_players import PolicyPlayer
from lanista.rollout.inference.row_blocks import BLOCK
from lanista.runs.league_settings import MAIN
from lanista.runs.settings import SELF, RunSettings
from lanista.training.learner_loop import LearnerLoop

_REHEARSAL = 0.02
"""Share of the budget that the rehearsal takes, and at least so many iterations:"""
_REHEARSED = 3


@dataclass(frozen=True)
class OurPolicy:
    """One of our policies, as it is judged."""

    policy: Policy

    def player(self, greedy: bool) -> PolicyPlayer:
        return PolicyPlayer("ours", "ours", Actor(self.policy, 0, greedy=greedy, block=BLOCK))

    def probabilities(
        self, observation: NDArray[Any], mask: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        return probabilities(self.policy)(observation, mask)


def settings_for(row: Row, seed: int) -> RunSettings:
    """Return the row's settings, without a number of iterations of their own."""
    if row.recipe:
        settings = settings_of(row.recipe)
    else:
        settings = default_settings(row.game, row.game_settings, seed=seed)
    return replace(settings, seed=seed, device="cpu")


def loop_of(settings: RunSettings) -> LearnerLoop:
    """Return a learner with its opponents seated, as a run has it."""
    spec = registry.spec_of(settings.game, seed=settings.seed, **settings.game_settings)
    loop = LearnerLoop(
        settings,
        Path(),
        lambda name, device: registry.make_bot(settings.game, name, spec, settings.seed),
    )
    opponents = settings.rollouts.opponents
    whole = sum(one.weight for one in opponents)
    loop.meet([
        Meeting(MAIN if one.player == SELF else one.player, one.weight / whole, "")
        for one in opponents
    ])  # fmt: skip
    return loop


def iterations_within(settings: RunSettings, seconds: float) -> int:
    """Return how many iterations take so many CPU seconds, by trying some."""
    loop, first = loop_of(settings), 0.0
    while loop.iteration < _REHEARSED or loop.cpu_seconds < _REHEARSAL * seconds:
        list(loop.iterate())
        # The first one makes what later ones use.
        first = first or loop.cpu_seconds
    each = (loop.cpu_seconds - first) / (loop.iteration - 1)
    loop.collector.close()
    loop.learner.close()
    return max(1, int((seconds - loop.cpu_seconds) / each))


def learn(curve: arm.Curve) -> None:
    """Train for the budget, and be looked at on the way."""
    settings = settings_for(curve.row, curve.arm.seed)
    iterations = iterations_within(settings, curve.arm.budget - curve.clock.seconds)
    loop = loop_of(replace(settings, iterations=iterations))
    policy = partial(_best, loop)
    while loop.iteration < iterations and not curve.over:
        list(loop.iterate())
        curve.at(loop.decisions, policy)
    curve.at(loop.decisions, policy, last=True)


def _best(loop: LearnerLoop) -> OurPolicy:
    return OurPolicy(loop.learner.best)


if __name__ == "__main__":
    arm.main(learn)
