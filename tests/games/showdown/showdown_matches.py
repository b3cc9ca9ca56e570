"""Plays matches of Showdown through the contract, for the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanista.games.bots import Player
from lanista.games.random_bot import RandomBot
from lanista.games.showdown.entry import ENTRY
from lanista.games.showdown.game import Showdown


def player(game: Showdown, name: str, seed: int = 1) -> Player:
    return RandomBot(game.spec, seed) if name == "random" else ENTRY.bots[name](game.spec, seed)


def step(game: Showdown, players: Sequence[Player]) -> tuple[Any, Any, Any]:
    """Answer everything that is ready; return decisions, actions and the slots that ended."""
    decisions = game.decisions()
    actions = np.zeros((len(decisions), len(game.spec.heads)), np.int32)
    for seat, who in enumerate(players):
        rows = np.flatnonzero(decisions.seat == seat)
        if len(rows):
            actions[rows] = who.act(decisions, rows)
    return decisions, actions, game.act(np.arange(len(decisions)), actions)


def finish(
    game: Showdown, players: Sequence[Player], look: Callable[[Any], None] | None = None
) -> None:
    """Play what stands in the slots to its end."""
    while len(game.decisions()):
        decisions, _, _ = step(game, players)
        if look is not None:
            look(decisions)


def fingerprint(game: Showdown) -> list[Any]:
    """Return every answer of every match and how the matches ended."""
    answers = [match and match.history for match in game._matches]
    return [answers, game.returns.tolist(), game.score.tolist(), game.place.tolist()]
