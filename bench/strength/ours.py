"""Our arm: what `lanista rl` does with the row's game or recipe, in as many updates as fit.

Like `rl --minutes`, a short rehearsal says how many that are, so that schedules end with the
budget. Choosing the settings and the rehearsal count as time spent.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import closing
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
from lanista.games.compiled import CompiledGame
from lanista.league.matchmaking import Meeting
from lanista.nets.policy import Policy
from lanista.pipeline.defaults import default_settings
from lanista.pipeline.recipes import settings_of
from lanista.pipeline.regret_rule import leaves_regrets
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.policy_players import PolicyPlayer
from lanista.rollout.inference.row_blocks import BLOCK
from lanista.runs.league_settings import MAIN
from lanista.runs.serialise import overridden
from lanista.runs.settings import SELF, RunSettings
from lanista.training.loops import AnyLoop
from lanista.training.loops import loop_of as kind_of_loop

_REHEARSAL = 0.005
"""Share of the budget that the rehearsal takes, and at least so many iterations:"""
_REHEARSED = 4


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


def settings_for(
    row: Row, seed: int, *, cores: int = 1, gpu: bool = False, words: Sequence[str] = ()
) -> RunSettings:
    """Return the row's settings, without a number of iterations of their own."""
    if row.recipe:
        settings = settings_of(row.recipe)
    else:
        # Regrets are learned in one process, as the command would choose them.
        regrets = cores == 1 and not gpu and leaves_regrets([*row.told, *words])
        settings = default_settings(row.game, row.game_settings, seed=seed, regrets=regrets)
    settings = replace(settings, seed=seed, device="cuda" if gpu else "cpu")
    if cores > 1:
        settings = _on_cores(settings, cores)
    return overridden(settings, [*row.told, *(row.on_gpu if gpu else ()), *words])


def _on_cores(settings: RunSettings, cores: int) -> RunSettings:
    """Return settings by which a worker plays on each core, and as many threads learn."""
    with closing(
        registry.make(settings.game, slots=1, seed=settings.seed, **settings.game_settings)
    ) as game:
        launcher = "threads" if isinstance(game, CompiledGame) else "processes"
    rollouts = settings.rollouts
    # Where matches go on across updates, play goes on while the learner learns.
    lag = 1 if rollouts.streaming else 0
    return replace(
        settings,
        rollouts=replace(rollouts, workers=cores, launcher=launcher, lag=lag),
        learning=replace(settings.learning, shards=cores),
    )


def loop_of(settings: RunSettings) -> AnyLoop:
    """Return a learner with its opponents seated, as a run has it."""
    spec = registry.spec_of(settings.game, seed=settings.seed, **settings.game_settings)
    loop: AnyLoop = kind_of_loop(settings)(
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


def iterations_within(settings: RunSettings, seconds: float, unit: str = "cpu_seconds") -> int:
    """Return how many iterations take so many seconds of the CPU or the clock, by trying some."""
    loop, first = loop_of(settings), 0.0
    while loop.iteration < _REHEARSED or getattr(loop, unit) < _REHEARSAL * seconds:
        list(loop.iterate())
        # The first one makes what later ones use.
        first = first or getattr(loop, unit)
    spent = getattr(loop, unit)
    each = (spent - first) / (loop.iteration - 1)
    loop.close()
    return max(1, int((seconds - spent) / each))


def learn(curve: arm.Curve) -> None:
    """Train for the budget, and be looked at on the way."""
    made = curve.arm
    settings = settings_for(
        curve.row, made.seed, cores=made.cores, gpu=made.gpu, words=made.settings
    )
    iterations = iterations_within(settings, made.budget - curve.clock.seconds, made.unit)
    loop = loop_of(replace(settings, iterations=iterations))
    policy = partial(_best, loop)
    while loop.iteration < iterations and not curve.over:
        list(loop.iterate())
        curve.at(loop.decisions, policy)
    curve.at(loop.decisions, policy, last=True)
    loop.close()


def _best(loop: AnyLoop) -> OurPolicy:
    policy = loop.learner.best
    # The judge plays on the CPU, and what learns stays where it is.
    return OurPolicy(copy.deepcopy(policy).to("cpu") if loop.settings.device == "cuda" else policy)


if __name__ == "__main__":
    arm.main(learn)
