"""Plays matches of MicroRTS for the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lanista.games.bots import Player
from lanista.games.microrts import ENTRY, MicroRTS
from lanista.games.random_bot import RandomBot

needs_engine = pytest.mark.usefixtures("engine")


def player(game: MicroRTS, name: str, seed: int = 1) -> Player:
    return RandomBot(game.spec, seed) if name == "random" else ENTRY.bots[name](game.spec, seed)


def step(game: MicroRTS, players: tuple[Player, ...]) -> Any:
    """Answer everything that is ready once; return decisions and actions."""
    decisions = game.decisions()
    actions = np.zeros((len(decisions), len(game.spec.heads)), np.int32)
    for seat, who in enumerate(players):
        rows = np.flatnonzero(decisions.seat == seat)
        if len(rows):
            actions[rows] = who.act(decisions, rows)
    game.act(np.arange(len(decisions)), actions)
    return decisions, actions


def play(
    names: tuple[str, str],
    *,
    slots: int = 1,
    turns: int = 100_000,
    look: Callable[[MicroRTS], None] | None = None,
    **settings: Any,
) -> MicroRTS:
    """Play a match in each slot to its end, or for so many turns."""
    game = MicroRTS(slots, **settings)
    players = tuple(player(game, name) for name in names)
    game.start(range(slots), range(slots))
    for _ in range(turns):
        if game.done.all():
            break
        if look:
            look(game)
        step(game, players)
    return game


def fingerprint(game: MicroRTS) -> list[Any]:
    """Return every order of every match, and how the matches ended."""
    orders = [match and match.orders for match in game._matches]
    return [orders, game.returns.tolist(), game.boards.time.tolist()]
