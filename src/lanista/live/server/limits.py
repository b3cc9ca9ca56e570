"""What bots may cost a server: uploads at once, their sizes, the room on its disk.

Values alone; the reception and the application hold to them.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanista.live.files.game_file import MOST_BYTES
from lanista.web.listening import PATIENCE


@dataclass(frozen=True)
class Limits:
    """What a server of live games takes on."""

    game_bytes: int = MOST_BYTES
    """Of one game file."""
    uploads: int = 256
    """Games that come in at once."""
    upload_bytes: int = 1 << 28
    """Of all games that come in at once; this is what uploads may hold of the memory."""
    waiting_bytes: int = 10 << 30
    """Of games that wait for the learner in `spool/new`."""
    waiting_games: int = 1_000_000
    """Games that wait for the learner."""
    free_bytes: int = 1 << 30
    """Of the disk that are left free, whoever fills it."""
    connections: int = 4096
    """Open at once, over all bots."""
    patience: float = PATIENCE
    """Seconds in which a bot must send the next part of its request."""
