"""Deals battles: a seed and a deal fix the simulator's dice and both teams.

Teams belong to seats: whoever sits there plays them, so that players who swap seats swap teams.
Knows nothing of slots, matches and players.
"""

from __future__ import annotations

import hashlib
import logging
from functools import cache

from lanista.games.contract import GameError
from lanista.games.showdown.formats import Format
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.sim.battles import Battles, Setup, simulator_seed
from lanista.games.showdown.teams.pool import MODES, Pool, load_pools
from lanista.games.streams import Stream

_log = logging.getLogger("lanista.games")


class Dealer:
    """Makes the battles of a game."""

    def __init__(self, format: Format, team_pool_path: str, mode: str, battles: Battles) -> None:
        if mode not in MODES:
            raise GameError(f"mode is {mode!r}; choose from {', '.join(MODES)}.")
        self.format, self.mode = format, mode
        self.pool = _read_pool(format, team_pool_path, battles)
        packed = [team.packed for team in self.pool.teams] if self.pool else []
        # Everybody knows which teams there are, and nobody which of them the opponent has.
        self.belief = Belief.of_teams(packed) if packed else None
        self.version = battles.simulator_version
        """What the matches of a deal are made of: the simulator, and which teams."""
        if packed:
            digest = hashlib.sha256("\n".join(packed).encode()).hexdigest()
            self.version += f" teams {digest[:12]}"

    def setup(self, number: int, seed: int, deal: int) -> Setup:
        """Return a battle as its deal fixes it."""
        stream = Stream.keyed(seed, deal, 0, "chance")
        own = simulator_seed(stream)
        if self.pool is not None:
            first, second = self.pool.draw(stream, self.mode)
            return Setup(number, self.format.name, own, teams=(first.packed, second.packed))
        seeds = (simulator_seed(stream), simulator_seed(stream))
        if self.mode == "mirror" or (self.mode == "mixed" and stream.below(2) == 0):
            seeds = (seeds[0], seeds[0])
        return Setup(number, self.format.name, own, team_seeds=seeds)


def _read_pool(format: Format, path: str, battles: Battles) -> Pool | None:
    if not format.brings_team:
        if path:
            raise GameError(f"Nobody brings a team to {format.name}; leave the team pool out.")
        return None
    pool = load_pools(path, format.name, battles)
    for name, why in pool.left_out.items():
        _warn(f"{name} is left out: no legal team of {format.name}: {why}")
    return pool


@cache
def _warn(sentence: str) -> None:
    """Say a sentence once: a run makes its game several times."""
    _log.warning("%s", sentence)
