"""Every pair of players meets equally often in both seats, and one cross table says the rest.

All pairs play the same deals, so a player's mean over its opponents is taken deal by deal and
its interval is honest about what the deals have in common. For games of two seats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.evaluation.score import (
    Estimate,
    against_all,
    mean_score,
    smallest_difference,
    unit_means,
)
from lanista.evaluation.standings import decided
from lanista.rollout.match_runner import Progress, Results, RolloutError, Table, play
from lanista.rollout.schedule import rotations

Pair = tuple[int, int]


@dataclass(frozen=True)
class CrossTable:
    """Scores of each against each, best mean first."""

    names: tuple[str, ...]
    """Ordered by mean score, best first; players without a match last."""
    digests: tuple[str, ...]
    against: tuple[tuple[Estimate | None, ...], ...]
    """`against[i][j]`: the score of i against j; None on the diagonal and where none was played."""
    mean: tuple[Estimate | None, ...]
    """The mean of a player's scores over the opponents it met."""
    first_seat: Estimate | None
    """The score of whoever sat in seat 0, over all pairs; ½ is no advantage."""
    matches: int
    left_out: int
    """Matches of units in which one was broken off."""
    pairs_played: int
    pairs: int
    smallest_difference: float | None
    """The largest over the pairs of the smallest difference a pair's matches would show."""
    decisions: int
    wall_seconds: float
    cpu_seconds: float


def meetings(
    tables: Sequence[Table],
    matches: int,
    *,
    options: Mapping[str, int] | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Pair, Results]]:
    """Play `matches` matches (whole pairs of seats) of every two players, a pair at a time."""
    players, spec = tables[0].players, tables[0].game.spec
    if spec.seats != 2:
        raise RolloutError(
            f"{spec.name} has {spec.seats} seats; a round robin is for games of two seats."
        )
    if len(players) < 2:
        raise RolloutError(
            f"A round robin needs two players; {spec.name} was given {len(players)}."
        )
    first = 0
    for pair in combinations(range(len(players)), 2):
        schedule = rotations(pair, matches, first_match=first)
        first += len(schedule)
        yield pair, play(tables, schedule, options=options, progress=progress)


def cross_table(played: Mapping[Pair, Results], names: Sequence[str]) -> CrossTable:
    """Return the cross table of the pairs that were `played`."""
    count = len(names)
    scores: dict[Pair, tuple[NDArray[Any], NDArray[Any]]] = {}
    first_seat: list[tuple[NDArray[Any], NDArray[Any]]] = []
    left_out = 0
    for (a, b), results in played.items():
        counts = decided(results)
        left_out += int((~counts).sum())
        deal, seating = results.schedule.deal[counts], results.schedule.seating[counts]
        result = against_all(results.place[counts])
        mine = result[seating == a]
        scores[a, b], scores[b, a] = (mine, deal), (1 - mine, deal)
        first_seat.append((result[:, 0], deal))
    means = [
        _joined([scores[i, j] for j in range(count) if (i, j) in scores]) for i in range(count)
    ]
    order = sorted(range(count), key=lambda i: _by_mean(means[i], i))
    digests = next(iter(played.values())).digests if played else ("",) * count
    against = {pair: mean_score(unit_means(*score)) for pair, score in scores.items()}
    smallest = [smallest_difference(unit_means(*scores[pair])) for pair in played]
    return CrossTable(
        names=tuple(names[i] for i in order),
        digests=tuple(digests[i] for i in order),
        against=tuple(tuple(against.get((i, j)) for j in order) for i in order),
        mean=tuple(means[i] for i in order),
        first_seat=_joined(first_seat),
        matches=sum(len(results) for results in played.values()),
        left_out=left_out,
        pairs_played=len(played),
        pairs=count * (count - 1) // 2,
        smallest_difference=max((s for s in smallest if s is not None), default=None),
        decisions=sum(results.total_decisions for results in played.values()),
        wall_seconds=sum(results.wall_seconds for results in played.values()),
        cpu_seconds=sum(results.cpu_seconds for results in played.values()),
    )


def _joined(samples: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> Estimate | None:
    if not samples:
        return None
    values = np.concatenate([value for value, _ in samples])
    return mean_score(unit_means(values, np.concatenate([deal for _, deal in samples])))


def _by_mean(mean: Estimate | None, number: int) -> tuple[float, int]:
    return (2.0 if mean is None else -mean.value, number)
