"""Counts over the matches of one game: outcomes, lengths and choices.

Only adds up what it is shown; whether a match is sound was decided before.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.records import Header, PlayerInfo, Record
from lanista.games import Decisions, Game, Head, Spec


@dataclass
class Outcomes:
    """How matches ended for a seat or a player."""

    wins: int = 0
    """First place, alone."""
    draws: int = 0
    """First place, shared."""
    losses: int = 0
    cut_off: int = 0
    """Broken off, so without a result."""

    def add(self, other: Outcomes) -> None:
        self.wins += other.wins
        self.draws += other.draws
        self.losses += other.losses
        self.cut_off += other.cut_off

    def as_json(self) -> dict[str, int]:
        return {
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "cut_off": self.cut_off,
        }


@dataclass
class Lengths:
    """How long matches were, kept as counts so that any quantile is exact."""

    counts: Counter[int] = field(default_factory=Counter)

    @property
    def least(self) -> int | None:
        return min(self.counts, default=None)

    @property
    def most(self) -> int | None:
        return max(self.counts, default=None)

    @property
    def mean(self) -> float | None:
        total = self.counts.total()
        return sum(length * n for length, n in self.counts.items()) / total if total else None

    @property
    def median(self) -> float | None:
        total = self.counts.total()
        if not total:
            return None
        return (self._at((total - 1) // 2) + self._at(total // 2)) / 2

    def _at(self, place: int) -> int:
        for length in sorted(self.counts):
            place -= self.counts[length]
            if place < 0:
                return length
        raise IndexError(place)

    def as_json(self) -> dict[str, float | None]:
        return {"min": self.least, "median": self.median, "mean": self.mean, "max": self.most}


class GameTally:
    """The counts for one game in one setting. Looks on as matches are played again."""

    def __init__(self, game: str, settings: dict[str, Any], seats: int, heads: tuple[Head, ...]):
        self.game, self.settings, self.heads = game, settings, heads
        self.header_players: tuple[PlayerInfo, ...] = ()
        self.files = self.matches = self.decisions = 0
        self.seats = [Outcomes() for _ in range(seats)]
        self.players: dict[PlayerInfo, Outcomes] = {}
        self.turns, self.lengths = Lengths(), Lengths()
        self.chosen = [np.zeros(head.size, np.int64) for head in heads]
        self.forced = [0] * len(heads)

    @classmethod
    def of(cls, header: Header, spec: Spec) -> GameTally:
        """Return the tally of one file, with nothing counted but the file."""
        tally = cls(spec.name, dict(spec.settings), spec.seats, spec.heads)
        tally.header_players = header.players
        tally.files = 1
        return tally

    @property
    def key(self) -> str:
        """Two files are counted together when this is equal."""
        return json.dumps([self.game, sorted(self.settings.items())])

    def empty(self) -> GameTally:
        """Return a tally of the same game with nothing in it."""
        return GameTally(self.game, self.settings, len(self.seats), self.heads)

    def add(self, other: GameTally) -> None:
        """Count all that another tally of the same game has counted."""
        self.files += other.files
        self.matches += other.matches
        self.decisions += other.decisions
        for mine, theirs in zip(self.seats, other.seats, strict=True):
            mine.add(theirs)
        for player, outcomes in other.players.items():
            self.players.setdefault(player, Outcomes()).add(outcomes)
        self.turns.counts += other.turns.counts
        self.lengths.counts += other.lengths.counts
        for head in range(len(self.heads)):
            self.chosen[head] += other.chosen[head]
            self.forced[head] += other.forced[head]

    def count(self, records: Sequence[Record], turns: NDArray[np.int32]) -> None:
        """Count the ends of matches that went as recorded."""
        self.matches += len(records)
        self.turns.counts.update(turns.tolist())
        self.lengths.counts.update(len(record.actions) for record in records)
        for record in records:
            alone = record.place.count(1) == 1
            for seat, (player, place) in enumerate(zip(record.seating, record.place, strict=True)):
                one = _outcome(place, alone, record.cut_off)
                self.seats[seat].add(one)
                who = self.header_players[player]
                self.players.setdefault(who, Outcomes()).add(one)

    def decided(self, game: Game, row: Any, match: Any, decisions: Decisions, actions: Any) -> None:
        """Count choices; where a head leaves one only, it says nothing about the player."""
        self.decisions += len(decisions)
        start = 0
        for number, head in enumerate(self.heads):
            free = decisions.mask[:, start : start + head.size].sum(axis=1) > 1
            chosen = actions[free, number]
            self.chosen[number] += np.bincount(chosen, minlength=head.size)
            self.forced[number] += len(decisions) - len(chosen)
            start += head.size

    def ended(self, game: Game, slots: Any, matches: Any) -> None:
        """Ends are counted from the records, which equal them."""

    def as_json(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            "game": self.game,
            "settings": self.settings,
            "files": self.files,
            "matches": self.matches,
            "decisions": self.decisions,
            "seats": [outcomes.as_json() for outcomes in self.seats],
            "players": [
                {"name": player.name, "digest": player.digest, **outcomes.as_json()}
                for player, outcomes in self.players.items()
            ],
            "turns": self.turns.as_json(),
            "decisions_per_match": self.lengths.as_json(),
            "heads": [
                {
                    "name": head.name,
                    "labels": list(head.labels),
                    "counts": self.chosen[number].tolist(),
                    "forced": self.forced[number],
                }
                for number, head in enumerate(self.heads)
            ],
        }


def label(head: Head, choice: int) -> str:
    """Return what a choice is called: its label, or its number."""
    return head.labels[choice] if choice < len(head.labels) else str(choice)


def _outcome(place: int, alone: bool, cut_off: bool) -> Outcomes:
    if cut_off:
        return Outcomes(cut_off=1)
    if place == 1:
        return Outcomes(wins=1) if alone else Outcomes(draws=1)
    return Outcomes(losses=1)
