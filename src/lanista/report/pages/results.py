"""A summary's players and pairs as the page asks for them: from either side, by learner, in order.

Turns plain values back into estimates. Knows nothing of charts or of how matches were counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lanista.evaluation.meter import Reading, pool_reading
from lanista.evaluation.score import Estimate, wilson
from lanista.report.run_record import RunRecord

UNKNOWN = "—"
Summary = Mapping[str, Any]


@dataclass(frozen=True)
class Met:
    """What one player's matches against another came to."""

    other: str
    n: int
    wins: int
    draws: int
    losses: int
    score: Estimate | None
    smallest_difference: float | None

    @property
    def win_rate(self) -> Estimate | None:
        return wilson(self.wins, self.n)


@dataclass(frozen=True)
class Results:
    """Everybody who played fixed-digest matches, and what they came to."""

    players: Mapping[str, Mapping[str, Any]]
    """By label, in the order they came."""
    met: Mapping[str, Mapping[str, Met]]
    """By label, then by the other's label."""
    since: Mapping[str, int]
    """By label: the update at which it was made, or entered."""
    judged: frozenset[str] = frozenset()
    """Labels of those who played for more than an exploiter's test."""
    champion: str | None = None
    """The label of the policy that the run saved, where it was promoted."""

    @classmethod
    def of(cls, record: RunRecord, summary: Summary) -> Results:
        """Read them from a summary; one that has none gives none."""
        players = {row["player"]: row for row in summary.get("players", ())}
        met: dict[str, dict[str, Met]] = {name: {} for name in players}
        for row in summary.get("pairs", ()):
            first, second, small = row["first"], row["second"], row["smallest_difference"]
            counts = row["wins"], row["draws"], row["losses"]
            score = estimate(row["score"])
            met[first][second] = Met(second, row["n"], *counts, score, small)
            met[second][first] = Met(first, row["n"], *counts[::-1], turned(score), small)
        # A snapshot is older than the first match it is met in.
        entered = {member.name: member.update for member in record.players}
        since = {name: entered.get(name, int(row["update"])) for name, row in players.items()}
        judged = {
            digest
            for match in record.matches
            if match.lineup.reason != "exploiter"
            for digest in match.lineup.digests
        }
        there = frozenset(name for name, row in players.items() if row["digest"] in judged)
        return cls(players, met, since, there, _champion(record, players, met))

    def is_bot(self, name: str) -> bool:
        return bool(self.players[name]["kind"] == "bot")

    def states(self, learner: str) -> list[str]:
        """Return a learner's weights that played, oldest first: snapshots and evaluations."""
        mine = [name for name, row in self.players.items() if row["learner"] == learner]
        return sorted(mine, key=self.since.__getitem__)

    def newest(self, learner: str) -> str | None:
        """Return the newest weights of a learner that met a bot, or else that met anybody."""
        states = [name for name in self.states(learner) if self.met[name]]
        with_bots = [name for name in states if any(map(self.is_bot, self.met[name]))]
        return next(reversed(with_bots or states), None)

    def shown(self, learner: str) -> str | None:
        """Return the weights to speak of first: those that were saved, or else the newest."""
        mine = self.champion is not None and self.players[self.champion]["learner"] == learner
        return self.champion if mine else self.newest(learner)

    def worst(self, name: str, *, before: bool = False) -> Reading | None:
        """Return the lowest score over all whom a player met, by the worst-case meter.

        With `before`, only over those who were there when it was: a snapshot goes on meeting
        its successors.
        """
        scores = {
            other: met.score
            for other, met in self.met[name].items()
            if not before or self.since[other] <= self.since[name]
        }
        if not any(score is not None for score in scores.values()):
            return None
        return pool_reading(name, str(self.players[name]["digest"]), scores)


def _champion(
    record: RunRecord,
    players: Mapping[str, Mapping[str, Any]],
    met: Mapping[str, Mapping[str, Met]],
) -> str | None:
    """Return who is handed over: promoted last, or the best of a run that then became weaker.

    Of its manners of play the one that met most; None: the newest.
    """
    digest = ""
    for event in record.events:
        if event.kind in ("promotion", "output"):
            digest = str(event.body.get("digest", ""))
        elif event.kind == "best":
            digest = ""
    if not digest:
        return None
    mine = [n for n, row in players.items() if row["digest"].partition(":")[0] == digest]
    return max(mine, key=lambda name: len(met[name]), default=None)


def estimate(row: Mapping[str, Any] | None) -> Estimate | None:
    """Return an estimate from its plain values."""
    return None if row is None else Estimate(row["value"], row["low"], row["high"], row["n"])


def turned(score: Estimate | None) -> Estimate | None:
    """Return the same score as the other player sees it."""
    if score is None:
        return None
    low = None if score.high is None else 1 - score.high
    high = None if score.low is None else 1 - score.low
    return Estimate(1 - score.value, low, high, score.n)


def said(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Return a number with its interval, as far as they are known."""
    if value is None:
        return UNKNOWN
    if low is None or high is None:
        return f"{value:.3f}"
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def said_estimate(estimate: Estimate | None) -> str:
    """Return an estimate as text."""
    return UNKNOWN if estimate is None else said(estimate.value, estimate.low, estimate.high)
