"""A live learner's policy as the person's opponent; the game goes into its spool.

The agent's own writer writes it, as for any live bot. Knows nothing of pages.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import Decisions, Ints, Spec
from lanista.insight.opponents import HUMAN
from lanista.live.agent.agent import Agent


class LivePlayer:
    """One game of a live agent in one seat."""

    def __init__(self, folder: Path, name: str, spec: Spec) -> None:
        self.agent = Agent(folder / "policy", folder / "spool", spec=spec)
        self.game = self.agent.game(f"view-{secrets.token_hex(8)}", opponent=HUMAN)
        self.name, self.digest = name, self.game.policy
        self._open = True

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the policy's actions, `[rows, heads]`; each becomes a step of its game."""
        actions = [
            np.atleast_1d(self.game.act(decisions.observation[row], decisions.mask[row]))
            for row in rows
        ]
        return np.array(actions, np.int32)

    def end(self, outcome: float | None) -> int:
        """End the game, wait until it is written, and return how many games were."""
        if not self._open:
            return 0
        self._open = False
        self.game.end(outcome)
        return self.agent.close().games.written
