"""Players that a person meets: as a line-up names them, made weaker where that is wished.

Owns the person as a name in records and the handicap. Knows nothing of how a match is played.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.evaluation.lineup import Lineup, is_policy
from lanista.games.bots import Plans, Player, SeatsMatches, stream_of
from lanista.games.contract import Decisions, Ints, Spec
from lanista.games.planning import Planner
from lanista.games.random_bot import RandomBot

HUMAN = "human"
_WHETHER, _WHICH = 0x5EA7, 0xC401CE
"""Keep the draws of a handicap apart from each other and from those of the player that has it."""


class Person:
    """Whoever chooses by hand, as records name them."""

    name = HUMAN
    digest = hashlib.sha256(b"human").hexdigest()

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Refuse: nobody can say beforehand what a person does."""
        raise LanistaError("A person is asked for a move, and no program answers for one.")


class Handicapped:
    """A player of whose moves a share is drawn evenly from the legal ones instead."""

    def __init__(self, player: Player, share: float, spec: Spec, seed: int) -> None:
        self.player, self.share, self.seed = player, share, seed
        self.name = player.name
        self.digest = f"{player.digest}:random={share:g}"
        self._random = RandomBot(spec, seed ^ _WHICH)

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the player's actions with a share of them replaced."""
        actions = np.array(self.player.act(decisions, rows), np.int32)
        streams = [stream_of(self.seed ^ _WHETHER, decisions, int(row)) for row in rows]
        replaced = np.flatnonzero([stream.uniform() < self.share for stream in streams])
        if len(replaced):
            actions[replaced] = self._random.act(decisions, np.asarray(rows)[replaced])
        return actions

    def match_started(self, slot: int, seat: int, match: int) -> None:
        """Hand on that a match begins."""
        if isinstance(self.player, SeatsMatches):
            self.player.match_started(slot, seat, match)

    def match_ended(self, slot: int, seat: int, match: int) -> None:
        """Hand on that a match is over."""
        if isinstance(self.player, SeatsMatches):
            self.player.match_ended(slot, seat, match)


class HandicappedPlanner(Handicapped):
    """The same of a player that plans."""

    def plan_with(self, planner: Planner) -> None:
        """Hand on what gives copies of positions."""
        assert isinstance(self.player, Plans)
        self.player.plan_with(planner)


def refuse_handicap(share: float) -> None:
    """Refuse a share of random moves that is none."""
    if not 0 <= share <= 1:
        raise LanistaError(f"The share of random moves is {share}; give a number from 0 to 1.")


def seat_everybody(lineup: Lineup, handicap: float = 0.0) -> tuple[Player, ...]:
    """Return who sits in each seat; the word `human` is the person."""
    refuse_handicap(handicap)
    players: list[Player] = []
    for word in lineup.players:
        if word == HUMAN:
            players.append(Person())
            continue
        player = lineup.player(word)
        if handicap:
            kind = HandicappedPlanner if isinstance(player, Plans) else Handicapped
            player = kind(player, handicap, lineup.spec, lineup.seed)
        players.append(player)
    return tuple(players)


def manner_for(game: str, word: str, temperature: float, greedy: bool) -> tuple[float, bool]:
    """Return temperature and greed as a policy takes them; a bot plays as its program says."""
    return (temperature, greedy) if is_policy(game, word) else (1.0, False)
