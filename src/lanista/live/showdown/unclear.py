"""Takes a server's words that are not known for a refusal when no battle comes of asking.

Knows nothing of connections and battles.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds after such words in which a battle may still begin."""


class UnclearWords(str):
    """Words after which nothing came."""


class UnclearAnswer:
    """Watches the time from the first unknown words after a battle was asked for."""

    def __init__(self, patience: float, give_up: Callable[[UnclearWords], None]) -> None:
        self.patience, self._give_up = patience, give_up
        self._awaiting_answer = False
        self._timer: asyncio.TimerHandle | None = None

    def asked(self) -> None:
        """From now on words may be the answer."""
        self.settled()
        self._awaiting_answer = True

    def heard(self, words: str) -> None:
        """Hear words; those that follow the first do not prolong the wait."""
        if self._awaiting_answer and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self.patience, self._give_up, UnclearWords(words))

    def settled(self) -> None:
        """Forget what was heard: a battle began, or a clear answer came."""
        self._awaiting_answer = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
