"""With which probability an opponent does what it does, where that is known.

Policies that sample know it, and so does the bot that plays evenly at random. Knows nothing of who
asks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import Player
from lanista.games.contract import Decisions, Ints
from lanista.games.random_bot import RandomBot
from lanista.rollout.inference.policy_players import PolicyPlayer


def act_with_log_prob(
    player: Player, decisions: Decisions, rows: NDArray[Any]
) -> tuple[Ints, NDArray[np.float32] | None]:
    """Return a player's actions at `rows` and their log-probabilities `[rows]`; None: unknown."""
    if isinstance(player, RandomBot):
        return player.act(decisions, rows), _evenly(player, decisions.mask.take(rows, 0))
    if type(player) is PolicyPlayer and not player.actor.greedy:
        choice = player.actor.choose(decisions, rows)
        return choice.action, choice.log_prob
    return player.act(decisions, rows), None


def _evenly(bot: RandomBot, mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the log-probability of any legal action of a bot that draws each head evenly."""
    first = np.concatenate([[0], np.cumsum(bot.head_sizes)[:-1]])
    legal = np.add.reduceat(mask, first, axis=1, dtype=np.int64)
    log_prob: NDArray[np.float32] = -np.log(np.maximum(legal, 1)).sum(1).astype(np.float32)
    return log_prob
