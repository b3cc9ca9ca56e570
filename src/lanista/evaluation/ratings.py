"""How strong players are, in one number each, and how much of the results such numbers miss.

A Bradley–Terry fit of all results at once with intervals; beside it Elo and openskill, which go
match by match. Matches of more than two seats count as the pairwise results of their places.
Players are names only; knows nothing of where results come from or which of them may be used.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.evaluation.score import Z

Floats = NDArray[np.float64]
Finish = tuple[Sequence[str], Sequence[int]]
"""One match: who sat where, and each seat's place (1 is first, equal places are a draw)."""

ELO_POINTS = 400 / math.log(10)
"""Elo points to one unit of log odds: 400 points are odds of 10 to 1."""
ELO_K, ELO_START = 16.0, 1500.0
PRIOR = 1.0
_STEPS = 100


@dataclass(frozen=True)
class PairCount:
    """What two players' games came to, seen from the first."""

    first: str
    second: str
    wins: float
    draws: float
    losses: float

    @property
    def games(self) -> float:
        return self.wins + self.draws + self.losses


@dataclass(frozen=True)
class Rating:
    """A player's strength on the Elo scale with its 95 % interval."""

    name: str
    value: float
    low: float
    high: float
    games: float
    """How many results it rests on."""


@dataclass(frozen=True)
class Skill:
    """What openskill believes of a player: a normal distribution of its skill."""

    name: str
    mu: float
    sigma: float
    games: int

    @property
    def ordinal(self) -> float:
        """A skill the player has almost surely: mu less three sigma."""
        return self.mu - 3 * self.sigma


def pairwise(names: Sequence[str], places: Sequence[int]) -> Iterator[tuple[str, str, float]]:
    """Give each two players of a match and the first one's result: 1 ahead, ½ level, 0 behind.

    A player that sits in several seats has no result against itself.
    """
    if len(names) < 2 or len(places) != len(names):
        raise LanistaError(
            f"A match of {len(names)} seats with {len(places)} places has no pairwise results; "
            "ratings need matches of two seats or more and a place for each."
        )
    for a, b in combinations(range(len(names)), 2):
        if names[a] != names[b]:
            ahead, level = places[a] < places[b], places[a] == places[b]
            yield names[a], names[b], 1.0 if ahead else 0.5 if level else 0.0


def elo(
    finishes: Iterable[Finish], *, k: float = ELO_K, start: float = ELO_START
) -> dict[str, float]:
    """Return Elo ratings: everybody starts at `start`, and each match moves its players in turn.

    After a match, r += k (result − expected), expected = 1 / (1 + 10^((other − r)/400)), with the
    ratings from before the match; with more than two seats k is shared among the others. The
    order of matches matters, and the newest weigh most: see `in_any_order`.
    """
    ratings: dict[str, float] = {}
    for names, places in finishes:
        share = k / max(1, len(names) - 1)
        moves = dict.fromkeys(names, 0.0)
        for a, b, result in pairwise(names, places):
            expected = 1 / (1 + 10 ** ((ratings.get(b, start) - ratings.get(a, start)) / 400))
            moves[a] += share * (result - expected)
            moves[b] -= share * (result - expected)
        for name, move in moves.items():
            ratings[name] = ratings.get(name, start) + move
    return ratings


def in_any_order(finishes: Iterable[Finish], number: int = 0) -> list[Finish]:
    """Return matches mixed by `number`: the same list whatever order they were played in.

    Evaluations play one opponent after another, and whoever comes last would weigh most.
    """
    mixed = sorted((tuple(names), tuple(places)) for names, places in finishes)
    random.Random(number).shuffle(mixed)
    return list(mixed)


def mean_elo(finishes: Sequence[Finish], orders: int = 5) -> dict[str, float]:
    """Return each player's mean Elo rating over several mixed orders of the same matches."""
    total: dict[str, float] = {}
    for number in range(orders):
        for name, rating in elo(in_any_order(finishes, number)).items():
            total[name] = total.get(name, 0.0) + rating
    return {name: rating / orders for name, rating in sorted(total.items())}


def openskill(finishes: Iterable[Finish]) -> list[Skill]:
    """Return skills by openskill's Plackett–Luce model with its defaults, best ordinal first.

    Matches count in their order, with any number of seats. A player in several seats of one match
    moves by the mean of what its seats would; a match of a player with itself says nothing.
    """
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    rating_by_player: dict[str, Any] = {}
    games: dict[str, int] = {}
    for names, places in finishes:
        if len(set(names)) < 2:
            continue
        for name in names:
            if name not in rating_by_player:
                rating_by_player[name] = model.rating()
        # Rating moves what it is given: each seat has a rating of its own.
        seats = [
            [model.rating(rating_by_player[name].mu, rating_by_player[name].sigma)]
            for name in names
        ]
        teams = model.rate(seats, ranks=list(places))
        moved: dict[str, list[Any]] = {}
        for name, (rating,) in zip(names, teams, strict=True):
            moved.setdefault(name, []).append(rating)
        for name, mine in moved.items():
            rating_by_player[name] = mine[0] if len(mine) == 1 else _mean_rating(model, mine)
            games[name] = games.get(name, 0) + 1
    skills = [
        Skill(name, skill.mu, skill.sigma, games[name]) for name, skill in rating_by_player.items()
    ]
    return sorted(skills, key=lambda skill: (-skill.ordinal, skill.name))


def _mean_rating(model: Any, ratings: Sequence[Any]) -> Any:
    count = len(ratings)
    mu, sigma = (
        sum(getattr(r, parameter) for r in ratings) / count for parameter in ("mu", "sigma")
    )
    return model.rating(mu=mu, sigma=sigma)


@dataclass(frozen=True, eq=False)
class Fit:
    """A Bradley–Terry fit: P(a beats b) = 1 / (1 + e^(θ_b − θ_a))."""

    ratings: tuple[Rating, ...]
    """Best first."""
    anchor: str
    """The player whose rating is 0 by choice; empty: the mean of all is 0."""
    prior: float
    """How many draws with a player of middling strength everybody was given."""
    theta: Floats = field(repr=False)
    """In log odds, by the players' numbers in `number`, not moved to the fixed point."""
    covariance: Floats = field(repr=False)
    """Of theta: the inverse of the observed information, prior included."""
    number: dict[str, int] = field(repr=False)

    def expected(self, first: str, second: str) -> float:
        """Return the score that `first` should have against `second`."""
        return float(_chance(self.theta[self.number[first]] - self.theta[self.number[second]]))


def bradley_terry(
    pairs: Sequence[PairCount], *, anchor: str | None = None, prior: float = PRIOR
) -> Fit:
    """Return the most likely ratings, a draw being half a win for each.

    Everybody also has `prior` draws with a player that stands at the middle, so that those who
    never lost and those who never met the rest have finite ratings. Intervals are ±1.96 standard
    errors of the distance to the fixed point, from the observed information; they take games to
    be independent.
    """
    names = sorted({name for pair in pairs if pair.games for name in (pair.first, pair.second)})
    if len(names) < 2:
        raise LanistaError("No two players met in these matches, so there is nothing to rate.")
    if anchor is not None and anchor not in names:
        raise LanistaError(f"The fixed point {anchor!r} played no match that counts; name another.")
    if not prior > 0:
        raise LanistaError(f"The prior is {prior}; give a number of draws above 0.")
    number = {name: i for i, name in enumerate(names)}
    theta, covariance = _most_likely(_Table.of(pairs, number), prior)
    fixed = np.full(len(names), 1 / len(names))
    if anchor is not None:
        fixed = np.eye(len(names))[number[anchor]]
    ratings = _ratings(pairs, names, theta, covariance, fixed)
    return Fit(ratings, anchor or "", prior, theta, covariance, number)


def _ratings(
    pairs: Sequence[PairCount],
    names: Sequence[str],
    theta: Floats,
    covariance: Floats,
    fixed: Floats,
) -> tuple[Rating, ...]:
    """Return each player's distance to the fixed point, a weighted mean of all, best first."""
    distance = np.eye(len(names)) - fixed
    error = np.sqrt(np.maximum(((distance @ covariance) * distance).sum(axis=1), 0.0))
    value, half = ELO_POINTS * (distance @ theta), ELO_POINTS * Z * error
    games = dict.fromkeys(names, 0.0)
    for pair in (pair for pair in pairs if pair.games):
        games[pair.first] += pair.games
        games[pair.second] += pair.games
    ratings = [
        Rating(name, float(v), float(v - h), float(v + h), games[name])
        for name, v, h in zip(names, value, half, strict=True)
    ]
    return tuple(sorted(ratings, key=lambda rating: (-rating.value, rating.name)))


@dataclass(frozen=True, eq=False)
class _Table:
    """Pairs as columns."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    games: Floats
    score: Floats
    """Of the first."""
    drawn: Floats
    """The share of draws."""

    @classmethod
    def of(cls, pairs: Sequence[PairCount], number: dict[str, int]) -> _Table:
        played = [pair for pair in pairs if pair.games]
        if any(pair.first == pair.second for pair in played):
            raise LanistaError("A player has no result against itself; leave such games out.")
        games = np.array([pair.games for pair in played])
        draws = np.array([pair.draws for pair in played])
        return cls(
            np.array([number[pair.first] for pair in played]),
            np.array([number[pair.second] for pair in played]),
            games,
            (np.array([pair.wins for pair in played]) + draws / 2) / games,
            draws / games,
        )


def _most_likely(table: _Table, prior: float) -> tuple[Floats, Floats]:
    """Return θ and its covariance by Newton's method; the likelihood is strictly concave."""
    count = int(max(table.first.max(), table.second.max())) + 1
    theta = np.zeros(count)
    for _ in range(_STEPS):
        expected = _chance(theta[table.first] - theta[table.second])
        pull = table.games * (table.score - expected)
        slope = prior * (0.5 - _chance(theta))
        slope += np.bincount(table.first, pull, count) - np.bincount(table.second, pull, count)
        step = np.linalg.solve(_information(table, theta, prior), slope)
        size, here = 1.0, _likelihood(table, theta, prior)
        while _likelihood(table, theta + size * step, prior) < here - 1e-12 and size > 1e-9:
            size /= 2
        theta = theta + size * step
        if float(np.abs(size * step).max()) < 1e-10:
            break
    covariance = np.asarray(np.linalg.inv(_information(table, theta, prior)), np.float64)
    return theta, covariance


def _information(table: _Table, theta: Floats, prior: float) -> Floats:
    """Return minus the second derivatives of the log likelihood, `[players, players]`."""
    spread = table.games * _spread(theta[table.first] - theta[table.second])
    information = np.diag(prior * _spread(theta))
    np.add.at(information, (table.first, table.first), spread)
    np.add.at(information, (table.second, table.second), spread)
    np.add.at(information, (table.first, table.second), -spread)
    np.add.at(information, (table.second, table.first), -spread)
    return information


def _likelihood(table: _Table, theta: Floats, prior: float) -> float:
    apart = theta[table.first] - theta[table.second]
    won = table.score * -np.logaddexp(0.0, -apart)
    lost = (1 - table.score) * -np.logaddexp(0.0, apart)
    drawn = -np.logaddexp(0.0, theta) - np.logaddexp(0.0, -theta)
    return float((table.games * (won + lost)).sum() + prior / 2 * drawn.sum())


def _chance(apart: Any) -> Any:
    return 0.5 * (1 + np.tanh(np.asarray(apart) / 2))


def _spread(apart: Any) -> Any:
    chance = _chance(apart)
    return chance * (1 - chance)


@dataclass(frozen=True)
class Unexplained:
    """How many results one number a player cannot account for."""

    share: float
    """The share of games whose result would have to be another one for every pair's score to be
    what the ratings say: Σ games |score − expected| / Σ games. Pure rock, paper, scissors has ½."""
    by_chance: float
    """What that share would be on the average if the ratings were the whole truth."""
    games: float

    @property
    def beyond_chance(self) -> float:
        """The share beyond what chance explains; 0 if there is none."""
        return max(0.0, self.share - self.by_chance)


def unexplained(pairs: Sequence[PairCount], fit: Fit) -> Unexplained:
    """Return what the ratings of `fit` do not explain in the results they were fitted to.

    By chance a pair's score lies off by √(2/π · v (1 − h)) on the average, where v is its variance
    (p(1 − p) less a quarter of the share of draws, over the games) and h its leverage, the part of
    its own deviation that the fit follows. Where results make no circle, h is near 1.
    """
    table = _Table.of(pairs, fit.number)
    apart = fit.theta[table.first] - fit.theta[table.second]
    off = np.abs(table.score - _chance(apart))
    cov, a, b = fit.covariance, table.first, table.second
    reach = cov[a, a] + cov[b, b] - 2 * cov[a, b]
    leverage = np.clip(table.games * _spread(apart) * reach, 0.0, 1.0)
    variance = np.maximum(_spread(apart) - table.drawn / 4, 0.0) / table.games
    chance = np.sqrt(2 / math.pi * variance * (1 - leverage))
    total = float(table.games.sum())
    return Unexplained(
        float((table.games * off).sum() / total), float((table.games * chance).sum() / total), total
    )


def circles(edges: Iterable[tuple[str, str]], most: int = 20) -> list[tuple[str, str, str]]:
    """Return up to `most` triples a, b, c in which a beats b, b beats c and c beats a.

    `edges` are (winner, loser). Each circle begins with its alphabetically first player.
    """
    beats: dict[str, set[str]] = {}
    for winner, loser in edges:
        beats.setdefault(winner, set()).add(loser)
    triples: list[tuple[str, str, str]] = []
    for a in sorted(beats):
        for b in sorted(name for name in beats[a] if name > a):
            for c in sorted(name for name in beats.get(b, ()) if name > a):
                if a in beats.get(c, ()):
                    triples.append((a, b, c))
                    if len(triples) == most:
                        return triples
    return triples
