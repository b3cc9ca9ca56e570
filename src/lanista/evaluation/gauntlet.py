"""One player meets many, in the same batches, and what each of these bouts says.

Every deal is played in all seatings against every opponent; all meet the player on the same deals.
Also makes the rows from which such matches can be played again. Knows nothing of learning and of
where players come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from lanista.evaluation.meter import pool_reading
from lanista.evaluation.score import Estimate, against_all, mean_score, unit_means
from lanista.evaluation.standings import Standing, decided, summarise
from lanista.games.contract import Spec
from lanista.rollout.inference.row_blocks import one_thread
from lanista.rollout.match_runner import Progress, Results, Table, play
from lanista.rollout.schedule import Schedule, rotations
from lanista.runs.schema import LineupRow, MatchRow

FIRST_MATCH = 1 << 40
"""The first match and deal of fixed players; training counts from 0 and never comes here."""
LAST_WORD = 1 << 43
"""The same for an evaluation that stands alone: no run goes by these deals, and none is chosen by
them."""
FIRST_BLOCK = 1000
"""Matches of the first part; match ids, and with them all that is random, depend on it."""
_MOST_BLOCK = 20_000
"""Matches that are played between two moments at which a user can stop without a loss."""


@dataclass(frozen=True)
class Bout:
    """How the player did against one opponent."""

    opponent: str
    digest: str
    """Of the opponent."""
    standing: Standing
    """The player's."""
    first_seat: Estimate | None
    """The score of whoever sat in seat 0 in these matches."""
    left_out: int
    """Matches of deals of which one was broken off."""


@dataclass(frozen=True)
class Gauntlet:
    """How the player did against everybody."""

    name: str
    digest: str
    bouts: tuple[Bout, ...]
    mean: Estimate | None
    """The mean score over opponents, with an interval over deals."""
    first_seat: Estimate | None
    """The score of whoever sat in seat 0, over all bouts; ½ is no advantage. None where each has
    matches of its own."""
    matches: int
    """Those that count."""
    left_out: int
    decisions: int
    wall_seconds: float
    cpu_seconds: float

    @property
    def scores(self) -> dict[str, Estimate]:
        """The player's score by opponent, where there is one."""
        pairs = ((bout.opponent, bout.standing.score) for bout in self.bouts)
        return {name: score for name, score in pairs if score is not None}


def apart(spec: Spec) -> bool:
    """Whether players are compared by matches of their own: nobody can be beaten in a match."""
    return spec.seats == 1 or spec.facts.paid_alike


def matches_of_deal(spec: Spec) -> int:
    """Return how many matches against one opponent a deal is played in."""
    return 2 if apart(spec) else spec.seats


def everybody(
    seats: int,
    opponents: int,
    deals: int,
    *,
    first_match: int,
    first_deal: int,
    apart: bool = False,
) -> Schedule:
    """Return matches of player 0 against players 1 to `opponents`, each on the same `deals`.

    In games of more than two seats the opponent has all the others. Matches of one opponent come
    one after another, so that those played side by side share as few networks as they can. With
    `apart`, and with one seat, each of two has all seats of a match of its own.
    """
    schedules = []
    for number in range(1, opponents + 1):
        if apart or seats == 1:
            schedules.append(_in_turn(seats, number, deals, first_match, first_deal))
        else:
            seating = [0, *[number] * (seats - 1)]
            schedules.append(
                rotations(seating, deals * seats, first_match=first_match, first_deal=first_deal)
            )
        first_match += len(schedules[-1])
    return Schedule(
        np.concatenate([schedule.match for schedule in schedules]),
        np.concatenate([schedule.deal for schedule in schedules]),
        np.concatenate([schedule.seating for schedule in schedules]),
    )


def _in_turn(seats: int, number: int, deals: int, first_match: int, first_deal: int) -> Schedule:
    """Return each deal twice: with player 0 in all seats, and with player `number`."""
    deal = first_deal + np.repeat(np.arange(deals, dtype=np.int64), 2)
    match = first_match + np.arange(2 * deals, dtype=np.int64)
    player = np.tile(np.array([0, number], np.int32), deals)
    return Schedule(match, deal, np.repeat(player[:, None], seats, axis=1))


def play_gauntlet(
    tables: Sequence[Table], deals: int, *, progress: Progress | None = None
) -> Iterator[Results]:
    """Play `deals` deals against everybody at the table; give them in parts that are whole.

    At each table the player comes first and its opponents after it. Parts are fixed beforehand,
    and each has as many deals against one opponent as against another.
    """
    spec, opponents = tables[0].game.spec, len(tables[0].players) - 1
    matches_per_deal = matches_of_deal(spec) * opponents
    done, block_size = 0, FIRST_BLOCK
    while done < deals:
        size = min(deals - done, max(1, min(block_size, _MOST_BLOCK) // matches_per_deal))
        schedule = everybody(
            spec.seats,
            opponents,
            size,
            first_match=LAST_WORD + done * matches_per_deal,
            first_deal=LAST_WORD + done,
            apart=apart(spec),
        )
        with one_thread():
            results = play(tables, schedule, progress=progress)
        yield results
        done, block_size = done + size, block_size * 2


def gauntlet_of(results: Results, names: Sequence[str]) -> Gauntlet:
    """Return what `results` say of player 0 against the others; `names` are all players'."""
    bouts, scores, first, unit = [], [], [], []
    own = bool((results.schedule.seating == results.schedule.seating[:, :1]).all())
    for number in range(1, len(names)):
        bout_results = against(results, number)
        counts = decided(bout_results)
        result, seating = (
            against_all(bout_results.place[counts]),
            bout_results.schedule.seating[counts],
        )
        scores.append(result[seating == 0])
        first.append(result[:, 0])
        unit.append(bout_results.schedule.deal[counts])
        summary = summarise(bout_results, (names[0], names[number]))
        bouts.append(
            Bout(
                names[number],
                results.digests[number],
                summary.standings[0],
                None if own else summary.first_seat,
                summary.left_out,
            )
        )
    deal = np.concatenate(unit)
    left_out = sum(bout.left_out for bout in bouts)
    return Gauntlet(
        name=names[0],
        digest=results.digests[0],
        bouts=tuple(bouts),
        mean=mean_score(unit_means(np.concatenate(scores), deal)),
        first_seat=None if own else mean_score(unit_means(np.concatenate(first), deal)),
        matches=len(results) - left_out,
        left_out=left_out,
        decisions=results.total_decisions,
        wall_seconds=results.wall_seconds,
        cpu_seconds=results.cpu_seconds,
    )


def against(results: Results, number: int) -> Results:
    """Return the matches against one opponent, in which it is player 1.

    Two matches of one deal that each has for itself are given as one of two seats.
    """
    seating = results.schedule.seating
    if (seating == seating[:, :1]).all():
        return _compared(results, number)
    rows = np.flatnonzero((seating == number).any(axis=1))
    schedule = Schedule(
        results.schedule.match[rows],
        results.schedule.deal[rows],
        (seating[rows] != 0).astype(np.int32),
    )
    return replace(
        results,
        schedule=schedule,
        returns=results.returns[rows],
        place=results.place[rows],
        score=results.score[rows],
        decisions=results.decisions[rows],
        cut_off=results.cut_off[rows],
        digests=(results.digests[0], results.digests[number]),
        actions=None,
    )


def _compared(results: Results, number: int) -> Results:
    """Return player 0's match and the other's of each deal as one, won by who was paid more."""
    # Every opponent comes with matches of player 0, just before its own.
    theirs = np.flatnonzero(results.schedule.seating[:, 0] == number)
    pairs = np.stack([theirs - 1, theirs], axis=1)
    paid = results.returns[pairs].mean(axis=2)
    schedule = Schedule(
        results.schedule.match[pairs[:, 0]],
        results.schedule.deal[pairs[:, 0]],
        np.tile(np.array([0, 1], np.int32), (len(pairs), 1)),
    )
    return replace(
        results,
        schedule=schedule,
        returns=paid,
        place=1 + (paid < paid[:, ::-1]).astype(np.int32),
        score=results.score[pairs].mean(axis=2),
        decisions=results.decisions[pairs].sum(axis=1, dtype=np.int32),
        cut_off=np.asarray(results.cut_off[pairs].any(axis=1)),
        digests=(results.digests[0], results.digests[number]),
        actions=None,
    )


def match_rows(
    results: Results,
    names: Sequence[str],
    reasons: Sequence[str],
    seed: int,
    spec: Spec,
    update: int,
) -> tuple[list[LineupRow], list[MatchRow]]:
    """Return the line-ups and matches of results, for the record of an update.

    `reasons` says why each opponent was played. A line-up has the id of its first match.
    """
    schedule, digests = results.schedule, results.digests
    number: dict[tuple[int, ...], int] = {}
    matches: list[MatchRow] = []
    for row, seating in enumerate(map(tuple, schedule.seating.tolist())):
        match = int(schedule.match[row])
        matches.append(
            MatchRow(
                update,
                match,
                lineup=number.setdefault(seating, match),
                deal=int(schedule.deal[row]),
                returns=tuple(results.returns[row].tolist()),
                places=tuple(results.place[row].tolist()),
                cut_off=bool(results.cut_off[row]),
            )
        )
    lineups = [
        LineupRow(
            update,
            lineup,
            # Of matches that player 0 has for itself, the reason is that of the first.
            reason=reasons[max(0, max(seating) - 1)],
            names=tuple(names[who] for who in seating),
            digests=tuple(digests[who] for who in seating),
            seed=seed,
            rules_version=spec.facts.rules_version,
            observation_version=spec.facts.observation_version,
        )
        for seating, lineup in number.items()
    ]
    return lineups, matches


def described(gauntlet: Gauntlet, spec: Spec, seed: int, manner: str) -> dict[str, Any]:
    """Return a gauntlet as plain values, with all it takes to play it again."""
    scores = gauntlet.scores
    return {
        "game": spec.name,
        "settings": dict(spec.settings),
        "rules_version": spec.facts.rules_version,
        "observation_version": spec.facts.observation_version,
        "seed": seed,
        "first_match": LAST_WORD,
        "manner": manner,
        **asdict(gauntlet),
        "lowest": asdict(pool_reading(gauntlet.name, gauntlet.digest, scores)) if scores else None,
    }
