"""The pool as a matrix game: what its players gain from each other, and how to mix them (PSRO).

Policy-space response oracles (Lanctot et al. 2017) train against an equilibrium of the pool's
payoff matrix, and that mixture is also what they end with. Owns the matrix and the matchmaker of
that name. Knows nothing of how pairs are played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lanista.evaluation.score import Estimate
from lanista.league.matchmaking import Candidate, Meeting, floored
from lanista.league.matrix_game import Matrix, equilibrium
from lanista.league.payoff import Payoff
from lanista.runs.league_settings import Matchmaking

META_GAME = "meta_game"
"""Why two frozen players were played: their entry of the matrix was not known."""
META_STRATEGY = "meta_strategy"
"""Why a learner meets somebody: the equilibrium has it."""
PSRO = "psro"
"""The matchmaker that goes by the matrix."""


@dataclass(frozen=True)
class MetaGame:
    """What every two players of a pool gain from each other."""

    names: tuple[str, ...]
    gain: Matrix
    """`[players, players]`: of the row's player against the column's; 0 is an equal."""
    margin: Matrix
    """Half the width of each entry's 95 % interval; unknown pairs: the largest gain there is."""
    unknown: float
    """The share of pairs of which too little is known; they count as equals."""

    def mixture(self) -> Matrix:
        """Return how an equilibrium of the matrix mixes the players."""
        return equilibrium(self.gain).rows

    def most_gained(self, shares: Matrix) -> float:
        """Return what a single player may gain from a mixture, by the upper ends of intervals.

        Against one drawn from the mixture; margins of independent pairs add up by squares.
        """
        doubt = np.sqrt(self.margin**2 @ shares**2)
        return float((self.gain @ shares + doubt).max())


def meta_game(settings: Matchmaking, names: Sequence[str], payoff: Payoff) -> MetaGame:
    """Return the matrix of a pool from what was played, in the unit that the settings name.

    With scores an entry is from -1 to 1, twice the score less 1.
    """
    count = len(names)
    gain, half = np.zeros((count, count)), np.zeros((count, count))
    unknown = []
    for a, b in combinations(range(count), 2):
        entry = _entry(settings, names[a], names[b], payoff)
        if entry is None:
            unknown.append((a, b))
            continue
        gain[a, b], half[a, b] = entry.value, _half(entry)
        gain[b, a], half[b, a] = -gain[a, b], half[a, b]
    largest = float(np.abs(gain).max()) if settings.matrix_unit == "gain" else 1.0
    for a, b in unknown:
        half[a, b] = half[b, a] = largest
    pairs = count * (count - 1) // 2
    return MetaGame(tuple(names), gain, half, len(unknown) / pairs if pairs else 0.0)


def _entry(settings: Matchmaking, a: str, b: str, payoff: Payoff) -> Estimate | None:
    """Return what `a` gains from `b`; None where too few games tell."""
    if settings.matrix_unit == "gain":
        gain = payoff.gain(a, b)
        return gain if gain is not None and gain.n >= settings.minimum_games else None
    score = payoff.interval(a, b)
    if score is None or score.n < settings.minimum_games:
        return None
    rate = payoff.rate(a, b, settings.smoothing)
    low, high = (None if end is None else 2 * end - 1 for end in (score.low, score.high))
    return Estimate(2 * rate - 1, low, high, score.n)


def _half(entry: Estimate) -> float:
    if entry.low is None or entry.high is None:
        return 0.0
    return (entry.high - entry.low) / 2


def psro(
    settings: Matchmaking,
    learner: str,
    candidates: Sequence[Candidate],
    payoff: Payoff,
    previous: Mapping[str, float],
) -> list[Meeting]:
    """Return self-play, and for the rest the equilibrium of everybody frozen, none below the floor.

    Without anybody frozen all of it is self-play; without self-play all of it is the equilibrium.
    """
    live = [one for one in candidates if one.category == "self"]
    frozen = [one for one in candidates if one.category != "self"]
    self_part = (settings.self_play if frozen else 1.0) if live else 0.0
    planned = [Meeting(one.name, self_part / len(live), "self_play") for one in live]
    if frozen:
        names = [one.name for one in frozen]
        shares = floored(meta_game(settings, names, payoff).mixture().tolist(), settings.floor)
        planned += [
            Meeting(name, (1 - self_part) * share, META_STRATEGY)
            for name, share in zip(names, shares, strict=True)
        ]
    return planned
