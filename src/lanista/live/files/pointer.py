"""Which policies play, and whose game a game is.

A value; the policy folder reads and writes it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Pointer:
    """Which policies play."""

    stable: str
    """Digest of the policy that is trusted."""
    candidate: str | None = None
    """Digest of the one that is tried, if any."""
    share: float = 0.0
    """Of games that the candidate plays, from 0 to 1; of several, all together."""
    serial: int = 0
    """Grows with every change."""
    others: tuple[str, ...] = ()
    """Digests of further candidates, which play as many games as the first."""

    @property
    def candidates(self) -> tuple[str, ...]:
        """All that are tried, the one that came first before the others."""
        return () if self.candidate is None else (self.candidate, *self.others)

    def chosen(self, game_id: str) -> str | None:
        """Return the candidate whose game it is, None: the stable policy's.

        The same for all who ask, and drawn again where the candidates are others. The draw is a
        number from 0 to 1 by the SHA-256 of the candidates and the game's id; what is below the
        share is cut into equal parts, one for each.
        """
        names = self.candidates
        drawn = hashlib.sha256(f"{','.join(names)}/{game_id}".encode()).digest()
        number, limit = int.from_bytes(drawn[:8], "big"), self.share * 2.0**64
        if not names or number >= limit:
            return None
        return names[min(int(number / limit * len(names)), len(names) - 1)]
