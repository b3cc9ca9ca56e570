"""One iteration of regret learning: every seat traverses the game, and what comes of it is learned.

Has what a run asks of a learner's loop; a run with it is saved, resumed and evaluated as any other.
Nothing that affects learning reads the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lanista.data.traversals import ChoiceRows, Traversals, joined
from lanista.errors import LanistaError
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Game
from lanista.league.matchmaking import Meeting
from lanista.learn.regret.learner import RegretLearner
from lanista.learn.update.optimiser_step import BrokenLossError
from lanista.nets.policy import Policy
from lanista.rollout.outcome_traversals import OutcomeTraverser
from lanista.rollout.timing import LEARN, SIMULATE, Phases
from lanista.rollout.traversals import Branching, Traverser
from lanista.runs.database import Values
from lanista.runs.league_settings import MAIN
from lanista.runs.schema import TrainingGamesRow
from lanista.runs.settings import RunSettings
from lanista.training.collector_factory import device_of, prepare_torch


class RegretLoop:
    """A learner of regrets with its traversals, and the counters of a run."""

    anchor: Policy | None = None

    def __init__(
        self,
        settings: RunSettings,
        folder: Path,
        find: Callable[[str, str], Player],
        *,
        name: str = MAIN,
        number: int = 0,
    ) -> None:
        """A run has one such learner, which plays only itself: `find` is not asked."""
        self.settings, self.name, self.folder = settings, name, folder
        prepare_torch(settings)
        self.spec = registry.spec_of(settings.game, seed=settings.seed, **settings.game_settings)
        self.learner = RegretLearner(
            self.spec,
            settings.network,
            settings.learning,
            updates=settings.updates,
            seed=settings.seed,
            device=device_of(settings),
        )
        self.traverser = self._traverser()
        self.rng = np.random.Generator(np.random.PCG64([settings.seed, number]))
        """Draws choices."""
        self.phases = Phases()
        self.warm_up = 0
        self.iteration = 0
        self.decisions = 0
        self.matches = 0
        self.cpu_seconds = 0.0
        self.wall_seconds = 0.0

    def _traverser(self) -> Traverser | OutcomeTraverser:
        regret, make = self.learner.regret, partial(_table, self.settings)
        if regret.sampling == "outcome":
            guess, clip = self.learner.guess, regret.importance_clip
            return OutcomeTraverser(make, self.spec, regret.explore, guess, clip)
        branching = Branching(regret.sampling, regret.branch_share, regret.explore)
        return Traverser(make, self.spec, branching)

    def meet(self, meetings: Sequence[Meeting]) -> None:
        """Hear of its opponents: itself alone."""

    def reset(self, start: Policy | None, times: int) -> None:
        """Refuse: only leagues reset their learners."""
        raise LanistaError("A learner of regrets is in no league and cannot be reset.")

    def iterate(self) -> Iterator[tuple[int, Values]]:
        """Traverse and learn; give the number and the log of the update."""
        cpu, wall = time.process_time(), time.perf_counter()
        log: dict[str, float] = {}
        strategies: list[ChoiceRows] = []
        for seat in range(self.spec.seats):
            with self.phases(SIMULATE):
                traversals = self._traversals(seat)
            strategies.append(traversals.strategies)
            with self.phases(LEARN):
                log |= self.learner.learn_regrets(traversals.regrets)
                if traversals.outcomes is not None:
                    log |= self.learner.learn_baseline(traversals.outcomes)
        with self.phases(LEARN):
            view, choices = self.spec.observation, self.spec.choices
            together = joined(strategies, view.length, choices, view.dtype)
            log |= self.learner.learn_average(together)
        self.cpu_seconds += time.process_time() - cpu
        self.wall_seconds += time.perf_counter() - wall
        self.iteration += 1
        yield self.learner.update_count, log | self._spent()

    def _traversals(self, seat: int) -> Traversals:
        matches = self.settings.rollouts.matches
        arguments = (seat, self.matches, matches, self.learner.strategy, self.rng)
        traversals = self.traverser.traverse(*arguments)
        self.matches += traversals.matches
        self.decisions += traversals.decisions
        return traversals

    def rest(self) -> Iterator[tuple[int, Values]]:
        """Let an iteration of the others pass, of whom there are none."""
        yield self.learner.update_count, self._spent()
        self.iteration += 1

    def _spent(self) -> Values:
        return {
            "decisions": self.decisions,
            "matches": self.matches,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
        }

    def notices(self) -> list[str]:
        """Return what the user should know of those who play: nothing."""
        return []

    def games(self, update: int) -> list[TrainingGamesRow]:
        """Return the training games for the record: a traversal is none, it has many ends."""
        return []

    def state(self) -> dict[str, Any]:
        """Return everything the run depends on from here, and nothing that it does not."""
        return {
            "iteration": self.iteration,
            **self._spent(),
            "learner": self.learner.state(),
            "collector": {"next_match": self.matches},
            "rng": self.rng.bit_generator.state,
        }

    def rested_state(self) -> dict[str, Any] | None:
        """Return nothing: a traversal that failed may have been learned from in part."""
        return None

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore what `state` gave."""
        for name in ("iteration", "decisions", "matches"):
            setattr(self, name, int(state[name]))
        self.cpu_seconds, self.wall_seconds = state["cpu_seconds"], state["wall_seconds"]
        self.learner.load_state(state["learner"])
        self.rng.bit_generator.state = state["rng"]

    def close(self) -> None:
        """End whatever the game started."""
        self.traverser.close()

    def refuse_broken(self) -> None:
        """Refuse weights that are no numbers, before they are saved as good ones."""
        for _, module in self.learner.modules():
            for name, parameter in module.named_parameters():
                if not bool(torch.isfinite(parameter).all()):
                    raise BrokenLossError(
                        f"The weights {name} are no longer finite at update "
                        f"{self.learner.update_count}; lower the learning rate."
                    )


def _table(settings: RunSettings, slots: int) -> Game:
    """Return a game with so many slots."""
    return registry.make(settings.game, slots=slots, seed=settings.seed, **settings.game_settings)
