"""Players as a run's tables have them, and what rows of games say of them.

Pure translations between rows and the league's own terms, and a learner as somebody's opponent.
Knows nothing of rounds, rules and files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lanista.games.contract import Decisions, Ints
from lanista.league.payoff import Gains, Outcome
from lanista.rollout.inference.actor import Actor
from lanista.rollout.outcome_counts import pair_results
from lanista.runs.schema import LineupRow, MatchRow, PlayerRow, TrainingGamesRow

if TYPE_CHECKING:
    from lanista.training.loops import AnyLoop


@dataclass(frozen=True)
class Frozen:
    """A policy that joins the run's players, with the file that holds it."""

    row: PlayerRow
    data: bytes


class LivePlayer:
    """A learner of the run as somebody else's opponent, with the weights it has now."""

    def __init__(self, training: AnyLoop) -> None:
        self.name, self.digest = training.name, f"learner:{training.name}"
        self._training = training
        self.actors = (Actor(training.learner.policy, training.settings.seed),)

    def act(self, decisions: Decisions, rows: Any) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        self.actors[0].policy = self._training.learner.policy  # A reset gives it another one.
        return self.actors[0].choose(decisions, rows).action


def outcomes(
    games: Sequence[TrainingGamesRow], lineups: Sequence[LineupRow], matches: Sequence[MatchRow]
) -> Iterator[Outcome]:
    """Give what rows of games came to: an outcome for each seating and each line-up.

    Matches of one seat have none.
    """
    for row in games:
        if row.pairs:
            yield Outcome(row.seating, row.pairs)
    ended_by_lineup: dict[int, list[MatchRow]] = {}
    for match in matches:
        if not match.cut_off:
            ended_by_lineup.setdefault(match.lineup, []).append(match)
    for lineup in lineups:
        if len(lineup.names) > 1 and (ended := ended_by_lineup.get(lineup.lineup)):
            places = np.array([match.places for match in ended], np.int32)
            yield Outcome(lineup.names, pair_results(places), _gains(ended))


def _gains(ended: Sequence[MatchRow]) -> Gains | None:
    """Return what the first of two seats won more than the other did, halved, over matches."""
    if len(ended[0].returns) != 2:
        return None
    won = [(match.returns[0] - match.returns[1]) / 2 for match in ended]
    return float(len(won)), math.fsum(won), math.fsum(amount**2 for amount in won)
