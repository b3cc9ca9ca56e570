"""Training statistics of a learner's matches: numbers for the log, and rows for the record.

A tally knows players by their numbers; here they have names. Knows nothing of how matches are
played and learned from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations

from lanista.rollout.collector import LEARNER
from lanista.rollout.outcome_counts import Count
from lanista.runs.schema import TrainingGamesRow

Chair = tuple[str, str]
"""An opponent, and why it is in the opponent mix."""


def fared(
    counts: Iterable[Count], name: str, chairs: Sequence[Chair], categories: Mapping[str, str]
) -> dict[str, float]:
    """Return mean returns by opponent, and scores by category of opponent, of the learner `name`.

    For matches against itself the score is that of the first seat: ½ is no advantage.
    """
    returns: dict[str, list[float]] = {}
    scores: dict[str, list[float]] = {}
    for count in counts:
        for seat, number in enumerate(count.seating):
            if number != LEARNER:
                continue
            for other, met in enumerate(count.seating):
                if other == seat or (met == LEARNER and seat):
                    continue
                opponent = name if met == LEARNER else chairs[met - 1][0]
                won, drawn, _ = _pair(count, seat, other)
                category = scores.setdefault(categories.get(opponent, "past"), [0.0, 0.0])
                category[0] += won + drawn / 2
                category[1] += count.matches
                if met != LEARNER:
                    mine = returns.setdefault(opponent, [0.0, 0.0])
                    mine[0] += count.returns[seat]
                    mine[1] += count.matches
    return {f"return/{who}": total / n for who, (total, n) in returns.items()} | {
        f"win_rate/{who}": total / n for who, (total, n) in scores.items()
    }


def points_by_opponent(
    counts: Iterable[Count], chairs: Sequence[Chair]
) -> dict[str, tuple[float, float]]:
    """Return the points of the learner's seats against each opponent, and their matches.

    A seat has a point for each match in which its place is better, half of one at an equal place.
    """
    results: dict[str, tuple[float, float]] = {}
    for count in counts:
        for seat, number in enumerate(count.seating):
            for other, met in enumerate(count.seating):
                if number != LEARNER or met == LEARNER:
                    continue
                won, drawn, _ = _pair(count, seat, other)
                points, matches = results.get(chairs[met - 1][0], (0.0, 0.0))
                points, matches = points + won + drawn / 2, matches + count.matches
                results[chairs[met - 1][0]] = points, matches
    return results


def game_rows(
    counts: Iterable[Count],
    name: str,
    chairs: Sequence[Chair],
    digests: Mapping[str, str],
    own_reason: str,
    earlier: int,
    update: int,
) -> list[TrainingGamesRow]:
    """Return the training games of an update, in the order of their table.

    `digests` are the opponents' by name; `own_reason` is why the learner meets itself; `earlier`
    updates are not in the learner's own count.
    """
    rows: list[TrainingGamesRow] = []
    for count in counts:
        seated = [chairs[number - 1] for number in count.seating if number != LEARNER]
        others = iter(seated)
        names = tuple(name if number == LEARNER else next(others)[0] for number in count.seating)
        by_seat = tuple(
            f"learner:{name}" if number == LEARNER else digests[who]
            for number, who in zip(count.seating, names, strict=True)
        )
        rows.append(
            TrainingGamesRow(
                update,
                learner=name,
                seating=names,
                reason="+".join(reason for _, reason in seated) or own_reason,
                digests=by_seat,
                matches=count.matches,
                pairs=count.pairs,
                returns=count.returns,
                first_match=count.first_match,
                last_match=count.last_match,
                first_update=earlier + count.first_update,
            )
        )
    return sorted(rows, key=lambda row: row.key)


def _pair(count: Count, seat: int, other: int) -> tuple[int, int, int]:
    """Return wins, draws and losses of one seat against another."""
    places = _places(len(count.seating))
    if seat < other:
        return count.pairs[places[seat, other]]
    won, drawn, lost = count.pairs[places[other, seat]]
    return lost, drawn, won


@cache
def _places(seats: int) -> dict[tuple[int, int], int]:
    """Return where in `Count.pairs` each two seats are."""
    return {pair: at for at, pair in enumerate(combinations(range(seats), 2))}
