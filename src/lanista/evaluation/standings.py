"""Turns the results of a schedule into what is said about each player.

Matches that were broken off have no result: their whole unit is left out and counted. Knows
nothing of how matches were played or how a table looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.evaluation.score import (
    Estimate,
    against_all,
    first_places,
    margins,
    mean_score,
    mean_value,
    pair_scores,
    smallest_difference,
    unit_means,
    wilson,
)
from lanista.rollout.match_runner import Results


@dataclass(frozen=True)
class Standing:
    """How one player did."""

    name: str
    digest: str
    matches: int
    wins: int
    """Alone in first place."""
    draws: int
    """First place shared."""
    losses: int
    score: Estimate | None
    """(wins + ½ draws) / matches; with more than two seats, the mean over the others of the same
    counted from places pair by pair."""
    win_rate: Estimate | None
    """Wins / matches, with Wilson's interval."""
    first_place: Estimate | None
    """First places / matches, one that k share as 1/k, with an interval over units; None with two
    seats, where it is the score."""
    margin: Estimate | None
    """Own points less the mean of the others'."""
    place: Estimate | None
    smallest_difference: float | None
    """The smallest true difference of the score that this many units would show."""


@dataclass(frozen=True)
class Versus:
    """One player against another, over the matches in which both sat."""

    name: str
    other: str
    score: Estimate | None


@dataclass(frozen=True)
class Summary:
    """What the results of one schedule say."""

    matches: int
    """Those that count."""
    units: int
    left_out: int
    """Matches of units in which one was broken off."""
    standings: tuple[Standing, ...]
    versus: tuple[Versus, ...]
    """Pair by pair; empty with two seats, where the standings say it already."""
    first_seat: Estimate | None
    """The score of whoever sat in seat 0; ½ is no advantage."""
    decisions: int
    wall_seconds: float
    cpu_seconds: float


def decided(results: Results) -> NDArray[np.bool_]:
    """Say of each match whether it counts: no match of its unit was broken off."""
    deal = results.schedule.deal
    counts: NDArray[np.bool_] = ~np.isin(deal, deal[results.cut_off])
    return counts


def summarise(results: Results, names: Sequence[str]) -> Summary:
    """Return what `results` say of the players `names`, in their order."""
    counts = decided(results)
    seating, deal = results.schedule.seating[counts], results.schedule.deal[counts]
    place, points = results.place[counts], results.score[counts]
    players = range(len(names))
    result = against_all(place)
    margin = margins(points)
    pairs = [(a, b) for a in players for b in players if a < b] if place.shape[1] > 2 else []
    return Summary(
        matches=len(deal),
        units=len(np.unique(deal)),
        left_out=int((~counts).sum()),
        standings=tuple(
            _standing(names[i], results.digests[i], seating == i, deal, place, result, margin)
            for i in players
        ),
        versus=tuple(
            Versus(names[a], names[b], _versus(a, b, seating, deal, place)) for a, b in pairs
        ),
        first_seat=mean_score(unit_means(result[:, 0], deal)),
        decisions=results.total_decisions,
        wall_seconds=results.wall_seconds,
        cpu_seconds=results.cpu_seconds,
    )


def _standing(
    name: str,
    digest: str,
    mine: NDArray[np.bool_],
    deal: NDArray[Any],
    place: NDArray[Any],
    result: NDArray[Any],
    margin: NDArray[Any],
) -> Standing:
    rows = np.nonzero(mine)[0]
    unit = deal[rows]
    firsts = (place[rows] == 1).sum(axis=1)
    first = place[mine] == 1
    wins, draws = int((first & (firsts == 1)).sum()), int((first & (firsts > 1)).sum())
    scores = unit_means(result[mine], unit)
    return Standing(
        name=name,
        digest=digest,
        matches=len(rows),
        wins=wins,
        draws=draws,
        losses=len(rows) - wins - draws,
        score=mean_score(scores),
        win_rate=wilson(wins, len(rows)),
        first_place=mean_score(unit_means(first_places(place)[mine], unit))
        if place.shape[1] > 2
        else None,
        margin=mean_value(unit_means(margin[mine], unit)),
        place=mean_value(unit_means(place[mine], unit)),
        smallest_difference=smallest_difference(scores),
    )


def _versus(
    a: int, b: int, seating: NDArray[Any], deal: NDArray[Any], place: NDArray[Any]
) -> Estimate | None:
    both = (seating == a).any(axis=1) & (seating == b).any(axis=1)
    seating, place, deal = seating[both], place[both], deal[both]
    rows = np.arange(len(seating))
    place_a = place[rows, (seating == a).argmax(axis=1)]
    place_b = place[rows, (seating == b).argmax(axis=1)]
    return mean_score(unit_means(pair_scores(place_a, place_b), deal))
