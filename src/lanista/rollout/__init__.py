"""How matches are played fast: schedules, batched play, shards over threads, recording."""

from lanista.rollout.match_runner import Results, RolloutError, Table, join, play, play_blocks
from lanista.rollout.schedule import Schedule, rotations

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
