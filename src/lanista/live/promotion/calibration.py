"""How well a predicted outcome agrees with what came: by bins, with an interval.

Predictions of one game share its outcome, so games are the units. Pure functions on arrays; knows
nothing of critics, of files or of what the numbers are used for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError

Values = NDArray[np.float64]

_DRAWS = 4000


@dataclass(frozen=True)
class Bin:
    """The predictions from `low` to `high` (the last bin holds its upper end too)."""

    low: float
    high: float
    count: int
    predicted: float | None
    """Their mean; None without any."""
    outcome: float | None
    """The mean of what came."""


@dataclass(frozen=True)
class Calibration:
    """Expected calibration error: the mean over predictions of |mean outcome − mean prediction|
    of their bin."""

    error: float
    low: float
    high: float
    """With `low`, an interval that holds the true error with a chance of at least 95 %."""
    noise: float
    """What a perfectly calibrated prediction would stay below with a chance of 95 %."""
    games: int
    predictions: int
    bins: tuple[Bin, ...]

    @property
    def calibrated(self) -> bool:
        """Whether the error could be chance alone."""
        return self.error <= self.noise


def calibration(
    predicted: NDArray[Any],
    outcome: NDArray[Any],
    game: NDArray[Any] | None = None,
    *,
    bins: int = 10,
    seed: int = 0,
) -> Calibration | None:
    """Compare predictions in [0, 1] with outcomes in [0, 1], all `[predictions]`.

    `game` numbers the game of each prediction; without it each is a game of its own. None without
    predictions.

    With gaps g_b (mean outcome − mean prediction) of true value γ_b and weights w_b (share of the
    predictions), the triangle inequality gives |Σ w|g| − Σ w|γ|| ≤ Σ w|g − γ|. The right side is
    drawn from a normal distribution with the covariance of the games' sums, taken about 0 rather
    than about the gap: that errs to the wide side, also where a bin holds one game. Its 95 %
    quantile is `noise`, and the interval is error ± noise. The plain error is never 0, even of
    perfect predictions, which is why it is not shown without `noise`.
    """
    predicted, outcome = np.asarray(predicted, np.float64), np.asarray(outcome, np.float64)
    _check(predicted, outcome, bins)
    if not len(predicted):
        return None
    unit = np.arange(len(predicted)) if game is None else np.asarray(game)
    if unit.shape != predicted.shape:
        raise LanistaError(f"{predicted.shape} predictions have {unit.shape} game numbers.")
    _, member = np.unique(unit, return_inverse=True)
    place = np.minimum((predicted * bins).astype(np.int64), bins - 1)
    games, sums = int(member.max()) + 1, np.zeros((int(member.max()) + 1, bins))
    np.add.at(sums, (member, place), (outcome - predicted) / len(predicted))
    error = float(np.abs(sums.sum(axis=0)).sum())
    noise = _noise(sums, seed)
    return Calibration(
        error, max(0.0, error - noise), min(1.0, error + noise), noise, games, len(predicted),
        tuple(_bin(b, bins, predicted[place == b], outcome[place == b]) for b in range(bins)),
    )  # fmt: skip


def _noise(sums: Values, seed: int) -> float:
    """Return the 95 % quantile of Σ |noise of a bin|, from games' sums `[games, bins]`."""
    games, bins = sums.shape
    covariance = sums.T @ sums * games / max(games - 1, 1)
    root, turn = np.linalg.eigh(covariance)
    normal = np.random.default_rng(seed).standard_normal((_DRAWS, bins))
    drawn = normal * np.sqrt(np.maximum(root, 0.0)) @ turn.T
    return float(np.quantile(np.abs(drawn).sum(axis=1), 0.95))


def _bin(number: int, bins: int, predicted: Values, outcome: Values) -> Bin:
    low, high, count = number / bins, (number + 1) / bins, len(predicted)
    if not count:
        return Bin(low, high, 0, None, None)
    return Bin(low, high, count, float(predicted.mean()), float(outcome.mean()))


def _check(predicted: Values, outcome: Values, bins: int) -> None:
    if predicted.ndim != 1 or predicted.shape != outcome.shape:
        raise LanistaError(f"{predicted.shape} predictions came with {outcome.shape} outcomes.")
    if bins < 1:
        raise LanistaError(f"Calibration was asked for in {bins} bins; give 1 or more.")
    for name, values in (("prediction", predicted), ("outcome", outcome)):
        if not ((values >= 0) & (values <= 1)).all():
            raise LanistaError(f"A {name} lies outside 0 to 1; scale it to a score first.")
