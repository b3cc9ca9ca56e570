"""Lets slow compiled bots think in threads beside a worker, a part of their rows in each.

A bot answers a row alike alone and among others, so no number depends on it. Only our own compiled
bots are asked so: they keep nothing between two calls, and leave the interpreter to others while
they think. Knows nothing of networks and of who sits where.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import Player
from lanista.games.contract import Decisions, Ints

_SLOW = 3e-4
"""Seconds that an answer takes before threads share in it: asking one costs a tenth of that."""


class BotThreads:
    """Threads that all workers of a process share."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count, "bots")

    def ask(self, pace: Pace, decisions: Decisions, rows: NDArray[np.int64]) -> Callable[[], Ints]:
        """Let a bot begin to answer `rows`; return what waits for its actions."""
        parts = np.array_split(rows, min(self.count, len(rows)))
        futures = [self._pool.submit(pace.act, decisions, part) for part in parts]
        return lambda: np.concatenate([future.result() for future in futures])


class Pace:
    """A bot, and how long it takes over a row."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.seconds = 0.0
        """A row, when it was last asked."""

    def act(self, decisions: Decisions, rows: NDArray[np.int64]) -> Ints:
        """Return what the bot answers, and remember how long that took."""
        began = time.perf_counter()
        actions = self.player.act(decisions, rows)
        self.seconds = (time.perf_counter() - began) / len(rows)
        return actions

    def slow(self, rows: int) -> bool:
        """Whether so many rows would keep a worker for long."""
        return rows > 1 and rows * self.seconds > _SLOW


@cache
def bot_threads(count: int) -> BotThreads:
    """Return the threads of this process for so many."""
    return BotThreads(count)


def paces_of(players: Sequence[Player]) -> list[Pace | None]:
    """Return the pace of each bot that several threads may ask at once; None for the others."""
    return [Pace(player) if _compiled(player) else None for player in players]


def _compiled(player: Player) -> bool:
    name = type(player).__module__
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return name.startswith("lanista.games.") and not file.endswith((".py", ".pyc"))
