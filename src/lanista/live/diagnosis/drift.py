"""Whether recorded games show other features than the games a policy was trained on.

One distance for each feature, and a chance that is right for all features together. Decisions of
one game depend on each other, so games are exchanged, never decisions. Pure functions on arrays;
knows nothing of files or of what a feature means.

Reference: P. Westfall and S. Young, "Resampling-based multiple testing" (1993), single-step maxT.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError

Values = NDArray[np.float64]

_AT_ONCE = 16
"""Exchanges worked on together, to bound the memory."""


@dataclass(frozen=True)
class Feature:
    """One feature in training data and in recorded games."""

    name: str
    distance: float
    """Largest difference of the two distribution functions (Kolmogorov and Smirnov): 0 to 1."""
    chance: float
    """Chance that any feature at all would differ this much if nothing had changed."""
    drifted: bool
    """`chance` is at most the level, and `distance` is large enough to matter."""
    median: tuple[float, float]
    """In training data and in recorded games."""
    spread: tuple[float, float]
    """From the first quartile to the third, in both."""
    constant: bool
    """It has one value in the recorded games and had several in training."""
    outside: float
    """Share of the recorded values beyond all that training showed."""


@dataclass(frozen=True)
class Drift:
    """All features, in the order given."""

    features: tuple[Feature, ...]
    games: tuple[int, int]
    """Of training data, recorded."""
    smallest_chance: float
    """The smallest chance that so few games could show."""
    level: float

    @property
    def can_tell(self) -> bool:
        """Whether there were games enough to find any drift."""
        return self.smallest_chance <= self.level

    @property
    def drifted(self) -> tuple[Feature, ...]:
        """The features that drifted, the farthest first."""
        drifted_features = [feature for feature in self.features if feature.drifted]
        return tuple(sorted(drifted_features, key=lambda feature: -feature.distance))


def drift(
    training: NDArray[Any],
    training_game: NDArray[Any],
    recorded: NDArray[Any],
    recorded_game: NDArray[Any],
    *,
    names: Sequence[str] | None = None,
    level: float = 0.05,
    least: float = 0.1,
    exchanges: int = 999,
    bins: int = 32,
    seed: int = 0,
) -> Drift:
    """Compare features `[decisions, features]`; the other arrays number each decision's game.

    Under "nothing changed" games could be exchanged between the two sides. Each feature's
    distance is standardised by its mean and deviation over the exchanges, and its chance is the
    share of exchanges in which the largest of all features is as large. So the chance that any
    feature is called drifted by error is at most `level`, for any number of features and however
    they depend on each other. Few games are exchanged in every possible way, many `exchanges`
    times at random. `least` is the distance below which a difference does not matter.
    """
    training, recorded = np.asarray(training, np.float64), np.asarray(recorded, np.float64)
    labels = _labels(training, recorded, names)
    old, new = _members(training, training_game), _members(recorded, recorded_game)
    games = (int(old.max()) + 1, int(new.max()) + 1)
    counts = _histograms(np.concatenate([training, recorded]), np.append(old, new + games[0]), bins)
    sides = _sides(games, exchanges, seed)
    distance = np.concatenate([
        _distances(counts, sides[i : i + _AT_ONCE]) for i in range(0, len(sides), _AT_ONCE)
    ])  # fmt: skip
    chance = _chances(distance)
    features = tuple(
        _feature(name, training[:, i], recorded[:, i], float(distance[0, i]), float(chance[i]),
                 (level, least))
        for i, name in enumerate(labels)
    )  # fmt: skip
    return Drift(features, games, 1 / len(sides), level)


def _sides(games: tuple[int, int], exchanges: int, seed: int) -> Values:
    """Return who is "recorded", `[1 + exchanges, games]`, the truth first.

    Fewer rows where there are no more ways than that.
    """
    total, new = sum(games), games[1]
    ways = math.comb(total, new)
    truth = np.zeros((1, total))
    truth[0, games[0] :] = 1
    if ways <= exchanges + 1:
        every = np.zeros((ways, total))
        for row, chosen in zip(every, combinations(range(total), new), strict=True):
            row[list(chosen)] = 1
        # The truth is the last of them.
        return every[::-1]
    mixed = np.random.default_rng(seed).permuted(np.repeat(truth, exchanges, axis=0), axis=1)
    return np.concatenate([truth, mixed])


def _histograms(values: Values, member: NDArray[np.int64], bins: int) -> Values:
    """Return how often each game showed values up to each edge, `[games, features, edges]`.

    Edges are quantiles of both sides together, so they do not depend on who is on which side.
    """
    games, features = int(member.max()) + 1, values.shape[1]
    counts = np.zeros((games, features, bins))
    for i in range(features):
        column = values[:, i]
        edges = np.unique(column)
        if len(edges) > bins:
            edges = np.unique(np.quantile(column, np.arange(1, bins + 1) / bins, method="lower"))
        place = np.minimum(np.searchsorted(edges, column), bins - 1)
        counts[:, i] = np.bincount(member * bins + place, minlength=games * bins).reshape(games, -1)
    summed: Values = np.cumsum(counts, axis=2)
    return summed


def _distances(counts: Values, sides: Values) -> Values:
    """Return each feature's distance for each way of taking sides, `[ways, features]`."""
    flat = counts.reshape(len(counts), -1)
    new = (sides @ flat).reshape(len(sides), *counts.shape[1:])
    old = counts.sum(axis=0) - new
    gap = np.abs(new / new[..., -1:] - old / old[..., -1:])
    largest: Values = gap.max(axis=2)
    return largest


def _chances(distance: Values) -> Values:
    """Return the adjusted chance of each feature; the first row is the truth."""
    deviation = distance.std(axis=0)
    centred = distance - distance.mean(axis=0)
    standard = np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 1e-12)
    largest = standard.max(axis=1)
    chances: Values = (largest[:, None] >= standard[:1] - 1e-9).mean(axis=0)
    return chances


def _feature(
    name: str,
    training: Values,
    recorded: Values,
    distance: float,
    chance: float,
    limits: tuple[float, float],
) -> Feature:
    before, now = (np.quantile(side, [0.25, 0.5, 0.75]) for side in (training, recorded))
    low, high = training.min(), training.max()
    return Feature(
        name=name,
        distance=distance,
        chance=chance,
        drifted=chance <= limits[0] and distance >= limits[1],
        median=(float(before[1]), float(now[1])),
        spread=(float(before[2] - before[0]), float(now[2] - now[0])),
        constant=bool(np.ptp(recorded) == 0 and np.ptp(training) > 0),
        outside=float(((recorded < low) | (recorded > high)).mean()),
    )


def _members(values: Values, game: NDArray[Any]) -> NDArray[np.int64]:
    if len(values) != len(game):
        raise LanistaError(f"{len(values)} decisions came with {len(game)} game numbers.")
    return np.asarray(np.unique(np.asarray(game), return_inverse=True)[1], np.int64)


def _labels(training: Values, recorded: Values, names: Sequence[str] | None) -> list[str]:
    if training.ndim != 2 or recorded.ndim != 2 or training.shape[1] != recorded.shape[1]:
        raise LanistaError(
            f"Training data of shape {training.shape} and recorded games of shape "
            f"{recorded.shape} do not have the same features."
        )
    if not len(training) or not len(recorded):
        raise LanistaError("Drift needs training data and recorded games; one of them is empty.")
    labels = [str(i) for i in range(training.shape[1])] if names is None else list(names)
    if len(labels) != training.shape[1]:
        raise LanistaError(f"{training.shape[1]} features have {len(labels)} names.")
    for side, values in (("training data", training), ("recorded games", recorded)):
        bad = ~np.isfinite(values).all(axis=0)
        if bad.any():
            raise LanistaError(
                f"Feature {labels[int(bad.argmax())]!r} of the {side} is not a finite number "
                "everywhere; leave such decisions out."
            )
    return labels
