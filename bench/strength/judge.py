"""How strong a policy is, whoever trained it: NashConv, or its score against bots.

The same deals at every look, each in all seatings, and none of them is trained on.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.strength.rows import NASH_CONV, Row
from lanista.evaluation.gauntlet import FIRST_MATCH, everybody, gauntlet_of
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.trees.exact import exact_nash_conv
from lanista.rollout.inference.row_blocks import one_thread
from lanista.rollout.match_runner import Table, play

Measured = dict[str, Any]
"""By metric: its value, and the interval of a score."""
_SLOTS = 256


class Judged(Protocol):
    """What is judged: as a player, and as probabilities."""

    def player(self, greedy: bool) -> Player: ...

    def probabilities(
        self, observation: NDArray[Any], mask: NDArray[np.bool_]
    ) -> NDArray[np.floating[Any]]: ...


class Judge:
    """Measures policies of one row's game."""

    def __init__(self, row: Row, matches: int | None = None, seed: int = 0) -> None:
        self.row, self.matches, self.seed = row, matches or row.matches, seed

    def look(self, policy: Judged) -> Measured:
        """Return the row's metrics of a policy."""
        values: Measured = {}
        if self.row.exact:
            values[NASH_CONV] = {"value": exact_nash_conv(self.row.game, policy.probabilities)}
        return values | self._scores(policy)

    def _scores(self, policy: Judged) -> Measured:
        bots = self.row.bots
        if not bots:
            return {}
        row, slots = self.row, min(self.matches * len(bots), _SLOTS)
        slots = registry.slots_for(row.game, slots)
        with closing(
            registry.make(row.game, slots=slots, seed=self.seed, **row.game_settings)
        ) as game:
            spec = game.spec
            others = [registry.make_bot(row.game, bot, spec, self.seed) for bot in bots]
            schedule = everybody(
                spec.seats,
                len(bots),
                -(-self.matches // spec.seats),
                first_match=FIRST_MATCH,
                first_deal=FIRST_MATCH,
            )
            player = policy.player(row.greedy)
            with one_thread():
                results = play([Table(game, (player, *others))], schedule)
        scores = gauntlet_of(results, ("policy", *bots)).scores
        return {
            bot: {"value": score.value, "low": score.low, "high": score.high, "n": score.n}
            for bot, score in scores.items()
        }
