"""What recorded games say about a policy that did not play them. It may only veto.

Games are weighed by how much likelier the policy would have been to act as was acted
(self-normalised importance sampling over whole games). Where few games carry the weight the
answer is "cannot tell". Pure functions on log-probabilities; knows nothing of networks or files.

References: D. Precup, R. Sutton and S. Singh, "Eligibility traces for off-policy policy
evaluation" (2000); A. Kong, "A note on importance sampling using standardized weights" (1992), for
the effective sample; T. Hesterberg, "Weighted average importance sampling" (1995), for the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError

Values = NDArray[np.float64]

LEAST = 50.0
"""Below so many games of effective sample nothing is said."""
LEVEL = 0.01
"""About the chance that a candidate as good as the stable policy is vetoed."""


@dataclass(frozen=True)
class Opinion:
    """What the recorded games say about a candidate."""

    verdict: str
    """`veto`, `no_veto` or `cannot_tell`; never a reason to publish."""
    reason: str
    """One sentence."""
    games: int
    effective: float
    """How many games the weights are worth: (Σw)² / Σw², the smaller of the two policies'."""
    candidate: float | None
    """The candidate's score by the weighed games; None without games."""
    stable: float | None
    """The stable policy's score, by the same games."""
    high: float | None
    """The candidate's score less the stable policy's is at most this, at error LEVEL."""


@dataclass(frozen=True)
class Weighed:
    """Outcomes weighed for one policy."""

    value: float
    """Σ w x / Σ w."""
    effective: float
    mean_weight: float
    """Has the mean 1 if the games are as likely as they say; far from 1, they cannot tell."""
    weight_error: float
    """Standard error of the mean weight."""
    influence: Values
    """What each game adds to the error of `value`, `[games]`, with mean 0."""


def per_game(log_prob: NDArray[Any], game: NDArray[Any], games: int) -> Values:
    """Return the log-probability of all decisions of each game, `[games]`.

    `game` numbers each decision's game from 0. Decisions that the bot overruled are left out by
    the caller: they are environment.
    """
    log_prob, game = np.asarray(log_prob, np.float64), np.asarray(game, np.int64)
    if log_prob.shape != game.shape or log_prob.ndim != 1:
        raise LanistaError(
            f"{log_prob.shape} log-probabilities lie with {game.shape} game numbers."
        )
    if len(game) and not 0 <= game.min() <= game.max() < games:
        raise LanistaError(
            f"Games are numbered {game.min()} to {game.max()}, not 0 to {games - 1}."
        )
    sums: Values = np.bincount(game, log_prob, minlength=games).astype(np.float64)
    return sums


def weigh(outcome: NDArray[Any], log_ratio: NDArray[Any]) -> Weighed | None:
    """Return the mean of `outcome` under weights exp(log_ratio), both `[games]`.

    None if no weight is left.
    """
    outcome, log_ratio = np.asarray(outcome, np.float64), np.asarray(log_ratio, np.float64)
    if not len(log_ratio) or not math.isfinite(top := float(log_ratio.max())):
        return None
    weight = np.exp(log_ratio - top)
    total, games = float(weight.sum()), len(weight)
    value = float(weight @ outcome) / total
    scale = math.exp(min(top, 700.0))
    error = float(weight.std()) * scale / math.sqrt(games)
    return Weighed(
        value=value,
        effective=total * total / float(weight @ weight),
        mean_weight=total / games * scale,
        weight_error=error,
        influence=weight / (total / games) * (outcome - value),
    )


def opinion(
    outcome: NDArray[Any],
    behaviour: NDArray[Any],
    candidate: NDArray[Any],
    stable: NDArray[Any],
) -> Opinion:
    """Return what games say about a candidate against the stable policy, all arrays `[games]`.

    `outcome` is each game's score; the others are log-probabilities of all its decisions
    (`per_game`), under what played, under the candidate and under the stable policy. Where the
    stable policy played, `stable` equals `behaviour`.
    """
    outcome, behaviour, candidate, stable = (
        np.asarray(array, np.float64) for array in (outcome, behaviour, candidate, stable)
    )
    _check(outcome, behaviour, candidate, stable)
    games = len(outcome)
    new, old = weigh(outcome, candidate - behaviour), weigh(outcome, stable - behaviour)
    if new is None or old is None:
        reason = "No recorded game could have been played by both policies."
        return Opinion("cannot_tell", reason, games, 0.0, None, None, None)
    effective = min(new.effective, old.effective)
    spread = float((new.influence - old.influence).std())
    error = spread / math.sqrt(max(games - 1, 1))
    high = new.value - old.value + NormalDist().inv_cdf(1 - LEVEL) * error
    verdict, reason = _judge(new, old, effective, high)
    return Opinion(verdict, reason, games, effective, new.value, old.value, high)


def _judge(new: Weighed, old: Weighed, effective: float, high: float) -> tuple[str, str]:
    if effective < LEAST:
        return "cannot_tell", (
            f"The recorded games are worth {effective:.0f} of a policy that plays otherwise; "
            f"{LEAST:.0f} are needed."
        )
    for name, weighed in (("candidate", new), ("stable policy", old)):
        # `not <=`, since a weight beyond all bounds is far from 1 too.
        if not abs(weighed.mean_weight - 1) <= 3 * weighed.weight_error + 1e-9:
            return "cannot_tell", (
                f"The mean weight of the {name} is {weighed.mean_weight:.3g} and should be 1: it "
                "plays what was never recorded, or log-probabilities are wrong."
            )
    if high < 0:
        return "veto", (
            f"The candidate scores {new.value:.3f} on the recorded games, the stable policy "
            f"{old.value:.3f}; the difference is surely below {high:.3f}."
        )
    return "no_veto", "The recorded games do not speak against the candidate."


def _check(outcome: Values, behaviour: Values, *policies: Values) -> None:
    if any(array.shape != (len(outcome),) for array in (outcome, behaviour, *policies)):
        raise LanistaError("Outcomes and log-probabilities of games have different lengths.")
    if not (np.isfinite(outcome).all() and np.isfinite(behaviour).all()):
        raise LanistaError("An outcome or a behaviour log-probability is not a finite number.")
    if any(np.isnan(array).any() or (array == np.inf).any() for array in policies):
        raise LanistaError("A policy's log-probability of a recorded game is not a number.")
