"""How strong a policy file is, by fresh matches and exactly where its tree is small.

Deals are those of a seed that no run has. Knows nothing of how the policy was trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.untuned.rows import Row
from lanista.evaluation.evaluator import probabilities, uniform
from lanista.evaluation.gauntlet import FIRST_MATCH, everybody, gauntlet_of
from lanista.evaluation.score import Estimate, mean_value
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Game, GameError
from lanista.games.trees.exact import exact_nash_conv
from lanista.nets.files.policy_file import LoadedPolicy, load_policy
from lanista.rollout.inference.policy_players import policy_player
from lanista.rollout.inference.row_blocks import one_thread
from lanista.rollout.match_runner import Results, Table, play
from lanista.rollout.schedule import Schedule

Measured = dict[str, Any]
_SEED = 7_919
_DECISIONS = 40_000
"""Of a measurement, about; a match of a long game is not played as often."""
_FEWEST, _MOST = 40, 800
_SEARCHED = 40
"""Matches against a search, which takes long."""
_LONGEST_SEARCHED = 40.0
"""Decisions of a match beyond which no search is met."""
_SLOTS = 256
_HISTORIES = 300_000


@dataclass(frozen=True)
class Judge:
    """Measures policies of one row's game."""

    row: Row
    settings: Mapping[str, Any]
    """Of the game, as the run chose them."""

    def look(self, file: Path) -> Measured:
        """Return all that is measured of a policy file."""
        policy = load_policy(file)
        with closing(self._game()) as game, one_thread():
            mine = policy_player(file, game.spec, _SEED)
            random = registry.make_bot(self.row.game, "random", game.spec, _SEED)
            # Random play's own results say how long a match is, and what is to be beaten.
            base = _together(game, random, _FEWEST)
            matches = int(np.clip(_DECISIONS / base.decisions.mean(), _FEWEST, _MOST))
            values = self._against(game, mine, random, matches)
            if base.decisions.mean() <= _LONGEST_SEARCHED:
                values |= self._searched(game, mine)
        return values | self._exact(policy)

    def _game(self) -> Game:
        slots = registry.slots_for(self.row.game, _SLOTS)
        return registry.make(self.row.game, slots=slots, seed=_SEED, **self.settings)

    def _against(self, game: Game, mine: Player, random: Player, matches: int) -> Measured:
        if self.row.measure == "together":
            own, others = (_together(game, player, matches) for player in (mine, random))
            return {
                "together": _plain(mean_value(own.returns.mean(1))),
                "random_together": _plain(mean_value(others.returns.mean(1))),
            }
        seats = game.spec.seats
        schedule = _seatings(seats, matches)
        results = play([Table(game, (mine, random))], schedule)
        score = gauntlet_of(results, ("policy", "random")).scores.get("random")
        base = play([Table(game, (random, random))], schedule)
        gained = _paid(results, schedule) - _paid(base, schedule)
        gain = mean_value(gained.reshape(-1, seats).mean(1))
        return {"random": _plain(score), "gain": _plain(gain)}

    def _searched(self, game: Game, mine: Player) -> Measured:
        bots = registry.bot_names(registry.entry(self.row.game))
        bots = [name for name in bots if name.startswith("mcts")]
        if not bots or self.row.measure != "score":
            return {}
        search = registry.make_bot(self.row.game, bots[0], game.spec, _SEED)
        results = play([Table(game, (mine, search))], _seatings(game.spec.seats, _SEARCHED))
        return {bots[0]: _plain(gauntlet_of(results, ("policy", bots[0])).scores.get(bots[0]))}

    def _exact(self, policy: LoadedPolicy) -> Measured:
        """Return NashConv and that of uniform play; nothing where the tree is too large."""
        if self.row.measure == "together" or any(self.settings.values()):
            return {}
        try:
            functions = {"nash_conv": probabilities(policy.policy), "uniform_nash_conv": uniform}
            return {
                name: exact_nash_conv(self.row.game, function, _HISTORIES, boards=False)
                for name, function in functions.items()
            }
        except GameError:
            return {}


def _seatings(seats: int, matches: int) -> Schedule:
    deals = -(-matches // seats)
    return everybody(seats, 1, deals, first_match=FIRST_MATCH, first_deal=FIRST_MATCH)


def _together(game: Game, player: Player, matches: int) -> Results:
    ids = FIRST_MATCH + np.arange(matches, dtype=np.int64)
    seating = np.zeros((matches, game.spec.seats), np.int32)
    return play([Table(game, (player,))], Schedule(ids, ids, seating))


def _paid(results: Results, schedule: Schedule) -> NDArray[np.float64]:
    """Return what player 0 was paid in each match."""
    seat = (schedule.seating == 0).argmax(1)
    return results.returns[np.arange(len(seat)), seat].astype(np.float64)


def _plain(estimate: Estimate | None) -> Measured | None:
    if estimate is None:
        return None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
