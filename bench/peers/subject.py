"""What every peer learns on, and how it answers the bench: one environment, one network, one loop.

A peer reads numbers from its input, learns from at least so many decisions each time, and prints
one JSON line. Knows nothing of any peer.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, ClassVar, TextIO

import numpy as np
import torch

from lanista.games.adapters.to_gymnasium import SeatEnv
from lanista.nets.settings import Network
from lanista.nets.torsos import MLP

GAME, WIDTH = "beastybar", 256
LEARNING_RATE = 1e-3
"""So that a short run shows whether a peer learns; it costs and saves no time."""
LATEST = 2048
"""Matches that a score is taken from."""


class WatchedSeat(SeatEnv):
    """One seat of the game, both seats by turns, against the random bot; keeps how matches ended.

    The bot's moves cost next to nothing, and its decisions are nobody's to learn from. The peers do
    not mask, and of 33 choices about four are legal: each choice stands for a legal one, counted
    round. Left to the environment, which draws one instead, they learn next to nothing.
    """

    ended: ClassVar[deque[float]] = deque(maxlen=LATEST)
    """Returns of the latest matches, of all environments in this process."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(GAME, "random", None, seed=seed)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        legal = np.flatnonzero(self.action_masks())
        transition = super().step(legal[int(action) % len(legal)])
        if transition[2]:
            self.ended.append(transition[1])
        return transition


def torso(width: int = WIDTH) -> MLP:
    """Return our encoder with our two layers, on which a peer puts its linear heads."""
    return MLP(SeatEnv(GAME).game.spec.observation, Network(width=width, layers=2))


def sizes() -> dict[str, Any]:
    """Return the sizes that the bench asks for, which it gives as the only argument."""
    values: dict[str, Any] = json.loads(sys.argv[1])
    return values


def voice() -> TextIO:
    """Return what the bench listens to; whatever a peer prints goes to the errors instead."""
    sys.stdout.flush()
    handle = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(handle, "w", encoding="ascii")


def about(package: str) -> dict[str, str]:
    """Return the versions that a rate belongs to."""
    return {"version": version(package), "torch": torch.__version__}


def reply(out: TextIO, decisions: int, returns: Sequence[float]) -> None:
    """Say how many decisions were learned from, and how the latest matches ended."""
    line = {
        "decisions": decisions,
        "matches": len(returns),
        # A return is 1, 0 or -1; a score counts a draw as half a win.
        "score": (1 + float(np.mean(returns))) / 2 if returns else None,
    }
    print(json.dumps(line), file=out, flush=True)


def serve(out: TextIO, learn: Callable[[int], int], versions: dict[str, str]) -> None:
    """Learn as often and as much as the bench asks, until it asks no more."""
    print(json.dumps(versions), file=out, flush=True)
    for line in sys.stdin:
        reply(out, learn(int(line)), WatchedSeat.ended)
