"""How matches are played fast: schedules, batched play, shards over threads, recording."""

from lanista.rollout.play import Results, RolloutError, Table, join, play, play_blocks
from lanista.rollout.seating import Schedule, rotations

__all__ = [
    "Results",
    "RolloutError",
    "Schedule",
    "Table",
    "join",
    "play",
    "play_blocks",
    "rotations",
]
