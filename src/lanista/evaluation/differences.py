"""How often two players choose differently on the same decisions.

Every player is asked about every decision met in play between all of them; forced decisions, in
which nothing can be chosen, do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.evaluation.score import Estimate, mean_score
from lanista.games.bots import Player
from lanista.games.contract import Decisions, Game, Ints
from lanista.rollout.match_runner import Progress, RolloutError, Table, play
from lanista.rollout.schedule import Schedule, rotations


@dataclass(frozen=True)
class Differences:
    """How often each two players chose differently."""

    names: tuple[str, ...]
    decisions: int
    """How many decisions with a choice all of them were asked about."""
    rate: tuple[tuple[Estimate | None, ...], ...]
    """`rate[i][j]`: the mean over deals of the share of decisions in which i and j differed."""


def disagreement(
    game: Game, bots: Sequence[Player], *, matches: int = 100, progress: Progress | None = None
) -> Differences:
    """Let every two of `bots` meet `matches` times and ask all of them about every decision.

    What is random in a bot is drawn from the stream of the decision, as in play.
    """
    schedule = everyone_meets(game.spec.seats, len(bots), matches)
    tally = _Tally(game, bots, schedule)
    play(
        [Table(game, tuple(_Asked(bot, tally) for bot in bots))],
        schedule,
        progress=progress,
    )
    return tally.differences()


def everyone_meets(seats: int, players: int, matches: int) -> Schedule:
    """Return `matches` matches, in whole units, of every choice of `seats` players."""
    tables = list(combinations(range(players), seats))
    if not tables:
        raise RolloutError(f"{players} players do not fill {seats} seats.")
    schedules: list[Schedule] = []
    for table in tables:
        schedules.append(
            rotations(table, matches, first_match=sum(len(schedule) for schedule in schedules))
        )
    return Schedule(
        np.concatenate([schedule.match for schedule in schedules]),
        np.concatenate([schedule.deal for schedule in schedules]),
        np.concatenate([schedule.seating for schedule in schedules]),
    )


class _Tally:
    """Counts, per deal, decisions with a choice and those in which two players differed."""

    def __init__(self, game: Game, bots: Sequence[Player], schedule: Schedule) -> None:
        self.bots, self.heads = bots, len(game.spec.heads)
        self.deal_of = schedule.deal  # Match ids count from 0, so they index it.
        units = int(schedule.deal.max()) + 1
        self.decisions_per_unit = np.zeros(units, np.int64)
        self.differed = np.zeros((len(bots), len(bots), units), np.int64)

    def ask(self, decisions: Decisions, rows: NDArray[Any]) -> list[Ints]:
        """Return every player's answers to `rows`, counted."""
        answers = [bot.act(decisions, rows) for bot in self.bots]
        open_rows = decisions.mask[rows].sum(axis=1) > self.heads
        units, deal = len(self.decisions_per_unit), self.deal_of[decisions.match[rows]]
        self.decisions_per_unit += np.bincount(deal[open_rows], minlength=units)
        for a, b in combinations(range(len(answers)), 2):
            other = (answers[a] != answers[b]).any(axis=1) & open_rows
            self.differed[a, b] += np.bincount(deal[other], minlength=units)
        return answers

    def differences(self) -> Differences:
        count, some = len(self.bots), self.decisions_per_unit > 0
        rate: list[list[Estimate | None]] = [[None] * count for _ in range(count)]
        for a, b in combinations(range(count), 2):
            rate[a][b] = rate[b][a] = mean_score(
                self.differed[a, b, some] / self.decisions_per_unit[some]
            )
        names = tuple(bot.name for bot in self.bots)
        return Differences(
            names, int(self.decisions_per_unit.sum()), tuple(tuple(row) for row in rate)
        )


class _Asked:
    """A player that plays as it would, while all the others are asked too."""

    def __init__(self, bot: Player, tally: _Tally) -> None:
        self.name, self.digest = bot.name, bot.digest
        self._number, self._tally = next(i for i, b in enumerate(tally.bots) if b is bot), tally

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the bot's own answers to `rows` of `decisions`."""
        return self._tally.ask(decisions, rows)[self._number]
