"""When a shard that owes an answer is taken for hung: by how long it kept its driver waiting.

Only time in which the driver waited and heard nothing counts, so a driver that learns for long, or
was stopped itself, blames nobody. Looks at no clock. Knows nothing of machines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

HANG_SECONDS = 120.0
"""Unless the settings say otherwise."""
TIMES_SLOWEST = 10.0
"""Nor is anybody hung that takes less than so many times the slowest of the last chunks."""
LAST, ROUNDS = 50, 20
"""How many these are, and for each shard where there are many: what a killed worker once took to be
replaced is forgotten."""


class HangWatch:
    """How long each shard has kept the driver waiting since it last answered."""

    def __init__(self, seconds: float = HANG_SECONDS, shards: int = 1) -> None:
        self._seconds = seconds
        # Of many shards, the fast ones must not push out what the slow ones took.
        self._took: deque[float] = deque(maxlen=max(LAST, ROUNDS * shards))
        self._waited: dict[int, float] = {}

    @property
    def limit(self) -> float:
        """Seconds from which on a shard is hung; much longer until the first chunk has come."""
        slowest = max(self._took, default=self._seconds)
        return max(self._seconds, TIMES_SLOWEST * slowest)

    def answered(self, shard: int) -> None:
        """Note that a shard answered, or was asked again elsewhere."""
        self._waited.pop(shard, None)

    def played(self, seconds: float) -> None:
        """Note how long a chunk took."""
        self._took.append(seconds)

    def waited(self, seconds: float, owing: Iterable[int]) -> list[int]:
        """Note that nothing came for so long; return those of the `owing` shards that are hung."""
        self._waited = {shard: self._waited.get(shard, 0.0) + seconds for shard in owing}
        return [shard for shard, waited in self._waited.items() if waited >= self.limit]
