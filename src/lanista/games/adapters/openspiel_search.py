"""OpenSpiel's Monte Carlo tree search as bots, for its games that hide nothing.

Simulations are random matches to the end, and what is proved won or lost is kept (its solver).
What is random in an answer comes from our streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import PlanningBot, stream_of
from lanista.games.contract import Decisions, Ints, Spec

SIMULATIONS = 100
EXPLORATION = 2.0
"""UCT's weight of what was seldom tried; OpenSpiel's own examples have 2."""
MEMORY = 64
"""Megabytes that a search may fill."""


class TreeSearch(PlanningBot):
    """Searches from the position of each decision, afresh."""

    name = f"mcts-{SIMULATIONS}"

    def __init__(self, spec: Spec, seed: int, game: Any) -> None:
        super().__init__(spec, seed)
        self._game = game

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the move that was visited most, or one that is proved to win."""
        planner = self.planner
        moves = np.empty((len(rows), 1), np.int32)
        for i, row in enumerate(rows):
            seed = stream_of(self.seed, decisions, row).below(2**31 - 1)
            state = planner.position(decisions, row).state
            moves[i] = self._search(seed).step(state)
        return moves

    def _search(self, seed: int) -> Any:
        import pyspiel

        rollouts = pyspiel.RandomRolloutEvaluator(1, seed)
        return pyspiel.MCTSBot(
            self._game, rollouts, EXPLORATION, SIMULATIONS, MEMORY, True, seed, False
        )


def search_bots(game: Any) -> Mapping[str, Any]:
    """Return the bots of a game by name: none where moves are made unseen or pay on the way."""
    kind = game.get_type()
    searchable = (
        kind.information == kind.Information.PERFECT_INFORMATION
        and kind.chance_mode == kind.ChanceMode.DETERMINISTIC
        and kind.dynamics == kind.Dynamics.SEQUENTIAL
        and kind.reward_model == kind.RewardModel.TERMINAL
        and game.num_players() > 1
    )
    if not searchable:
        return {}
    return {TreeSearch.name: partial(TreeSearch, game=game)}
