"""One seat of a game for a peer to learn on, the seats by turns, against bots or its snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from bench.strength.snapshots import Encoder, Layer, Mixture, Snapshot
from lanista.games.adapters.to_gymnasium import SeatEnv


class LearningSeat(SeatEnv):
    """Shows what our encoder makes of a view, and pays the shaping that our learner is paid."""

    def __init__(
        self,
        game: str,
        opponent: Mixture,
        seed: int,
        game_settings: Mapping[str, Any],
        shaping: float = 0.0,
        illegal: str = "refuse",
    ) -> None:
        super().__init__(game, opponent, None, seed=seed, illegal=illegal, **game_settings)
        self._mixture = opponent
        self._encoder, self._shaping = Encoder(self.game.spec), shaping
        self.observation_space = Box(-np.inf, np.inf, (self._encoder.width,), np.float32)

    def meet(self, layers: Sequence[Layer], seed: int, kept: int) -> None:
        """Add a snapshot to this environment's own opponents, of which the newest are kept."""
        self._mixture.snapshots.append(Snapshot(self.game.spec, layers, seed=seed))
        del self._mixture.snapshots[:-kept]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        observation, info = super().reset(seed=seed, options=options)
        return self._encoder(observation), info

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        observation, reward, over, cut, info = super().step(action)
        if self._shaping:
            reward += self._shaping * float(self.game.shaping[0, self.seat])
        return self._encoder(observation), reward, over, cut, info
