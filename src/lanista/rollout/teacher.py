"""A scripted bot that says what it would do at a learner's decisions, for the learner to imitate.

The learner's own play decides which positions are labelled (DAgger, Ross et al. 2011), so that it
learns what to do where its own faults lead. Knows nothing of losses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games.bots import Plans, Player, SeatsMatches
from lanista.games.contract import Decisions, Spec
from lanista.games.streams import uniforms


class Teacher:
    """A player whose choices are labels."""

    def __init__(self, player: Player, spec: Spec, *, beta: float = 0.0, seed: int = 0) -> None:
        """With the chance `beta`, drawn by `seed`, it also decides in the learner's place."""
        if isinstance(player, SeatsMatches | Plans):
            raise LanistaError(
                f"{player.name} follows or plans the matches that it plays, so it cannot say what "
                "it would do in another's place; name a teacher that goes by what it sees."
            )
        self.player, self.beta, self.seed = player, beta, seed
        self._conditions = spec.conditions()

    def labels(self, decisions: Decisions, rows: NDArray[Any]) -> NDArray[np.int32]:
        """Return what it would do at `rows`, `[rows, heads]`; -1 where a head changes nothing."""
        action = np.array(self.player.act(decisions, rows), np.int32)
        for head, other, choice in self._conditions:
            action[action[:, other] != choice, head] = -1
        return action

    def mixed(
        self,
        decisions: Decisions,
        rows: NDArray[Any],
        action: NDArray[np.int32],
        labels: NDArray[np.int32],
    ) -> NDArray[np.int32]:
        """Return the learner's `action` with the teacher's `labels` where its turn was drawn."""
        if not self.beta:
            return action
        where = (decisions.match[rows], decisions.seat[rows], decisions.turn[rows])
        decides = uniforms(self.seed, *where, 1) < self.beta
        return np.where(decides & (labels >= 0), labels, action)
