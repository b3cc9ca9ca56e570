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


class Teacher:
    """A player whose choices are labels."""

    def __init__(self, player: Player, spec: Spec) -> None:
        if isinstance(player, SeatsMatches | Plans):
            raise LanistaError(
                f"{player.name} follows or plans the matches that it plays, so it cannot say what "
                "it would do in another's place; name a teacher that goes by what it sees."
            )
        self.player = player
        names = [head.name for head in spec.heads]
        self._conditions = [
            (at, names.index(head.only_with[0]), head.only_with[1])
            for at, head in enumerate(spec.heads)
            if head.only_with is not None
        ]

    def labels(self, decisions: Decisions, rows: NDArray[Any]) -> NDArray[np.int32]:
        """Return what it would do at `rows`, `[rows, heads]`; -1 where a head changes nothing."""
        action = np.array(self.player.act(decisions, rows), np.int32)
        for head, other, choice in self._conditions:
            action[action[:, other] != choice, head] = -1
        return action
