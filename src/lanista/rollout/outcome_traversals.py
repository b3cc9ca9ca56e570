"""Traverses games for regrets without copies: one match, one choice at a time (outcome sampling).

What the choices that were not taken would have earned is a baseline's guess; the one that was taken
is corrected by what came of it, divided by its chance, so that the mean is right whatever the
baseline says (VR-MCCFR, Schmid et al., 2019; DREAM, Steinberger et al., 2020). In long matches
these factors multiply; clipped, the mean leans to the baseline and the noise is bearable. Knows
nothing of networks and of how regrets are learned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.traversals import ChoiceRows, Outcomes, Traversals, joined
from lanista.games.contract import Decisions, Game, Spec
from lanista.rollout.traversals import Strategy, exploring, refuse_game, sampled

Baseline = Callable[[NDArray[Any]], NDArray[np.float64]]
"""From views of a position to a guess of what each choice earns, `[rows, choices]`."""


@dataclass
class _Step:
    """What one step of all matches leaves for the way back."""

    decided: ChoiceRows
    """Decisions of the seat that looks, with the probabilities of the strategy."""
    view: NDArray[Any]
    """What the baseline sees of them."""
    slot: NDArray[np.int32]
    action: NDArray[np.intp]
    chance: NDArray[np.float64]
    """With which the choice was drawn."""
    guess: NDArray[np.float64]
    """The baseline's."""
    ended: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    returns: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


class OutcomeTraverser:
    """A game whose matches are played once each, by the strategy and with some exploration."""

    def __init__(
        self,
        make: Callable[[int], Game],
        spec: Spec,
        explore: float,
        baseline: Baseline,
        clip: float | None = None,
    ) -> None:
        """`clip`: the most by which what came of a choice is multiplied; none: 1 / its chance."""
        refuse_game(spec, copies=False)
        self.spec, self.explore, self.baseline, self._make = spec, explore, baseline, make
        self.clip = math.inf if clip is None else clip
        self.game = make(1)

    def traverse(
        self,
        seat: int,
        first_match: int,
        matches: int,
        strategy: Strategy,
        rng: np.random.Generator,
    ) -> Traversals:
        """Play so many matches for `seat`; the others play `strategy`, the seat explores too."""
        if self.game.slots != matches:
            self.game.close()
            self.game = self._make(matches)
        self.game.start(np.arange(matches), np.arange(first_match, first_match + matches))
        steps: list[_Step] = []
        strategies: list[ChoiceRows] = []
        count = 0
        while len(decisions := self.game.decisions()):
            count += len(decisions)
            steps.append(self._step(decisions, seat, strategy, rng, strategies))
        regrets, outcomes = self._back(steps)
        spec = self.spec
        shape = (spec.observation.length, spec.choices, spec.observation.dtype)
        return Traversals(
            joined(regrets, *shape), joined(strategies, *shape), count, matches, outcomes
        )

    def close(self) -> None:
        """End whatever the game started outside this process."""
        self.game.close()

    def _step(
        self,
        decisions: Decisions,
        seat: int,
        strategy: Strategy,
        rng: np.random.Generator,
        strategies: list[ChoiceRows],
    ) -> _Step:
        observation, mask = decisions.observation.copy(), decisions.mask.copy()
        probability, slots = strategy(observation, mask), decisions.slot.copy()
        mine, free = decisions.seat == seat, mask.sum(1) > 1
        chances = exploring(probability, mask, mine, self.explore)
        actions = sampled(chances, rng.random(len(slots)))
        others, own = ~mine & free, np.flatnonzero(mine & free)
        strategies.append(ChoiceRows(observation[others], mask[others], probability[others]))
        view = self.game.privileged()[own] if self.spec.privileged else observation[own]
        step = _Step(
            ChoiceRows(observation[own], mask[own], probability[own]),
            view,
            slots[own],
            actions[own],
            chances[own, actions[own]],
            self.baseline(view),
        )
        step.ended = self.game.act(np.arange(len(slots)), actions[:, None].astype(np.int32))
        step.returns = self.game.returns[step.ended, seat].astype(np.float64)
        return step

    def _back(self, steps: list[_Step]) -> tuple[list[ChoiceRows], Outcomes]:
        """Return the regrets of all decisions, and what came of their choices."""
        value = np.zeros(self.game.slots)
        regrets, came_to = [], []
        for step in reversed(steps):
            value[step.ended] = step.returns
            came_to.append(value[step.slot])
            earned, rows = step.guess.copy(), np.arange(len(step.slot))
            error = came_to[-1] - earned[rows, step.action]
            earned[rows, step.action] += error * np.minimum(1 / step.chance, self.clip)
            mean = (earned * step.decided.values).sum(1)
            value[step.slot] = mean
            regret = np.where(step.decided.mask, earned - mean[:, None], 0.0)
            regrets.append(ChoiceRows(step.decided.observation, step.decided.mask, regret))
        back = steps[::-1]
        outcomes = Outcomes(
            np.concatenate([step.view for step in back]),
            np.concatenate([step.action for step in back]),
            np.concatenate(came_to),
        )
        return regrets, outcomes
