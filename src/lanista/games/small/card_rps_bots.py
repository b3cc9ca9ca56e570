"""Bots of card_rps: the three habits that beat each other in a circle, and one that reads throws.

Each sees what its seat sees. Knows nothing of the rules' code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import Player, bot_digest
from lanista.games.contract import Decisions, Ints, Spec

THROWS = 3
CARD = slice(2, 2 + THROWS)
"""Where a view has the own card; before it stands the seat, after it the rounds."""


class Habit:
    """Throws the same way around from its card, in every round."""

    version = 1

    def __init__(self, name: str, steps: int, spec: Spec, seed: int) -> None:
        """`steps` from the own card, each to what beats the one before."""
        self.name, self.steps, self.spec = name, steps, spec

    @property
    def digest(self) -> str:
        return bot_digest(self.spec.name, self.name, self.version)

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        card = decisions.observation[rows][:, CARD].argmax(1)
        action: Ints = ((card + self.steps) % THROWS).astype(np.int32)[:, None]
        return action


class Reader(Habit):
    """Throws what beats the other's last throw; in the first round, its card."""

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        view = decisions.observation[rows]
        action = super().act(decisions, rows)
        for start in range(CARD.stop + THROWS, view.shape[1], 2 * THROWS):
            throws = view[:, start : start + THROWS]
            seen = throws.any(1)
            action[seen, 0] = (throws[seen].argmax(1) + 1) % THROWS
        return action


BOTS: Mapping[str, Callable[[Spec, int], Player]] = {
    "own": partial(Habit, "own", 0),
    "guard": partial(Habit, "guard", 1),
    "trap": partial(Habit, "trap", 2),
    "reader": partial(Reader, "reader", 0),
}
"""own throws its card, guard what beats it, trap what it beats, reader what beats the last one."""
