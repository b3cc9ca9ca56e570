"""Plays the pairs of frozen players whose entry of the pool's payoff matrix is not known.

The matches belong to the coming update, as all of a round does, and their CPU time counts as the
run's. Knows nothing of what the matrix is used for.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from lanista.evaluation.evaluator import Evaluator
from lanista.league.meta_game import META_GAME, META_STRATEGY
from lanista.league.population import Population
from lanista.nets.files.policy_file import load_policy
from lanista.runs.folder import policy_path
from lanista.runs.schema import LineupRow, MatchRow


@dataclass
class PoolMatches:
    """Matches among frozen players of a pool, for the record."""

    next_match: int
    """The first match id that is not used yet."""
    lineups: list[LineupRow] = field(default_factory=list)
    matches: list[MatchRow] = field(default_factory=list)
    cpu_seconds: float = 0.0

    @property
    def values(self) -> dict[str, float]:
        """What they cost, as numbers of the run."""
        return {
            f"{META_GAME}/matches": float(len(self.matches)),
            f"{META_GAME}/cpu_seconds": self.cpu_seconds,
        }


def play_missing_pairs(
    population: Population, evaluator: Evaluator, next_match: int
) -> PoolMatches:
    """Play every pair that a matchmaker needs and that has not met yet."""
    played, began = PoolMatches(next_match), time.process_time()
    for name, others, games in population.missing_pairs():
        players = {other: population.find(other) for other in others}
        series = evaluator.series(
            (name, population.find(name)), players, games, played.next_match,
            population.update + 1, META_GAME,
        )  # fmt: skip
        played.lineups += series.lineups
        played.matches += series.matches
        played.next_match += len(series.matches)
    played.cpu_seconds = time.process_time() - began
    return played


def mixture_values(population: Population, evaluator: Evaluator) -> dict[str, float]:
    """Return numbers of the mixture over the pool that the main trains against, if it does.

    How many players it spreads over (the exponential of its entropy), the share of pairs that are
    not known, what one player may gain from it by the upper ends of intervals, and, where NashConv
    is exact and nobody in it is scripted, NashConv of drawing one of them before each match.
    """
    game = population.meta_game()
    if game is None:
        return {}
    shares = game.mixture()
    some = shares[shares > 0]
    values = {
        f"{META_STRATEGY}/players": float(np.exp(-(some * np.log(some)).sum())),
        f"{META_STRATEGY}/unknown_pairs": game.unknown,
        f"{META_STRATEGY}/most_gained": game.most_gained(shares),
    }
    rows = [
        population.roster[name] for name, share in zip(game.names, shares, strict=True) if share > 0
    ]
    if evaluator.exact and all(row.kind == "policy" for row in rows):
        files = [policy_path(population.folder, row.digest) for row in rows]
        policies = [load_policy(file).policy for file in files]
        values[f"{META_STRATEGY}/nash_conv"] = evaluator.mixture_nash_conv(policies, some.tolist())
    return values
