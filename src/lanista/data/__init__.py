"""What was played: replays on disk, their checks, and what the players saw in them."""

from lanista.data.replays import (
    Columns,
    Header,
    PlayerInfo,
    Record,
    ReplayError,
    Replays,
    expand,
    read_replays,
    resimulate,
    write_replays,
)

__all__ = [
    "Columns",
    "Header",
    "PlayerInfo",
    "Record",
    "ReplayError",
    "Replays",
    "expand",
    "read_replays",
    "resimulate",
    "write_replays",
]
