"""The engine's own bots as players of ours.

The engine does the thinking; a player here only says which bot sits where. It answers at the
game's own decisions, since the engine needs the match itself, in which nothing is hidden.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import bot_digest
from lanista.games.contract import Decisions, GameError, Ints, Spec
from lanista.games.microrts.engine_bots import SCRIPTS
from lanista.games.microrts.game import Sight


class EngineBot:
    """A bot that the MicroRTS engine brings along."""

    def __init__(self, name: str, spec: Spec, seed: int) -> None:
        self.name, self.spec, self.seed = name, spec, seed
        self.digest = bot_digest(spec.name, name, SCRIPTS[name].version)

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        if not isinstance(decisions, Sight):
            raise GameError(
                f"The bot {self.name!r} thinks inside the MicroRTS engine; give it what the "
                "game's decisions() returned, not a copy."
            )
        actions = np.empty((len(rows), len(self.spec.heads)), np.int32)
        for number, row in enumerate(rows):
            slot, seat = int(decisions.slot[row]), int(decisions.seat[row])
            actions[number] = decisions.game.consult(slot, seat, self.name, self.seed)
        return actions
