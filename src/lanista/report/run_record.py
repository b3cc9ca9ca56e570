"""What a report is made of, wherever it was read from.

`RunRecord` is the one thing that summary, exports and page are made from. Knows nothing of files,
ratings or how anything looks, and nothing of how runs are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanista.runs.metric_names import Series as Series
from lanista.runs.metric_names import owner as owner
from lanista.runs.schema import EventRow, MatchmakingRow, TrainingGamesRow


@dataclass(frozen=True)
class Member:
    """A player of the run."""

    name: str
    """As `main`, `main/000120`, `imitation`, `random`."""
    digest: str
    """Of its policy file; empty for bots, and for learners, whose weights change."""
    kind: str
    """learner, policy or bot."""
    category: str
    """self, imitation, start, past, exploiter, bot; empty for policies met in evaluation alone."""
    role: str
    """main, main_exploiter, league_exploiter, exploiter or nothing."""
    parents: tuple[str, ...]
    """Names of the players it came from."""
    weight: float
    """Its share among those of its category."""
    update: int
    """When it entered."""
    body: Mapping[str, Any]
    """More about it: an exploiter's victim, budget and result, a snapshot's decisions."""


@dataclass(frozen=True, slots=True)
class Lineup:
    """Who sat where in a series of matches, exactly."""

    update: int
    reason: str
    """evaluation, pool, exploiter or live."""
    names: tuple[str, ...]
    """By seat."""
    digests: tuple[str, ...]
    """By seat; each one stayed for the whole match."""
    seed: int
    rules_version: int
    observation_version: int


@dataclass(frozen=True, slots=True)
class Match:
    """One match of fixed digests."""

    update: int
    match: int
    """Its id, unique in the run."""
    lineup: Lineup
    deal: int
    """Matches of the same players, seed and deal with the seats swapped are one unit."""
    returns: tuple[float, ...]
    """By seat."""
    places: tuple[int, ...]
    """By seat; 1 is first, equal places are a draw."""
    cut_off: bool
    """It was broken off and has no result."""


@dataclass(frozen=True)
class RunRecord:
    """All that is known of a run."""

    name: str
    """The run folder's name, for headings."""
    game: str
    """From the settings; empty where they do not say."""
    players: tuple[Member, ...]
    """By the update they entered at; everybody whom a match names is among them."""
    matches: tuple[Match, ...]
    """Matches of fixed digests in the order they were played: what ratings are made from."""
    training: tuple[TrainingGamesRow, ...]
    """By update. Learners change within them, so no rating is made from them."""
    metrics: Mapping[str, Series]
    """By name, as `policy/loss`, `exact/nash_conv`, `win_rate/past`, `decisions`."""
    events: tuple[EventRow, ...]
    """By update."""
    matchmaking: tuple[MatchmakingRow, ...]
    """By update: what opponents were drawn from."""
    notices: tuple[tuple[int, str], ...]
    """(update, sentence): what the user was told."""
    settings: str
    """config.yaml as it lies in the run's folder."""
    compute: Mapping[str, float]
    """The newest totals of the whole run: `decisions`, `matches`, `cpu_seconds`, `wall_seconds`;
    and their parts, as `cpu_seconds/LEARNER` and `cpu_seconds/exploiter`."""

    @property
    def learners(self) -> tuple[str, ...]:
        """The names of those who learn; losses without a learner's name are the first one's."""
        return tuple(player.name for player in self.players if player.kind == "learner")

    @property
    def updates(self) -> int:
        """The newest update that anything is known of."""
        newest = [series[-1][0] for series in self.metrics.values() if series]
        rows = (self.players, self.matches, self.training, self.events)
        return max([*newest, *(row.update for group in rows for row in group)], default=0)


TOTALS = ("decisions", "matches", "cpu_seconds", "wall_seconds")
BESIDE_LEARNERS = ("exploiter", "meta_game")
"""What the numbers of exploiters in runs of their own begin with, and those of matches among frozen
players for a payoff matrix."""


def compute_of(metrics: Mapping[str, Series], learners: Sequence[str]) -> dict[str, float]:
    """Return the newest totals of a run and their parts, as `RunRecord.compute` has them."""
    totals: dict[str, float] = {}
    for metric, series in metrics.items():
        total = metric.partition("/")[0]
        if not series:
            continue
        if total in TOTALS:
            totals[metric] = series[-1][1]
            continue
        whose, _, total = metric.rpartition("/")
        if total in TOTALS and whose in learners:
            totals[f"{total}/{whose}"] = series[-1][1]
        elif total in TOTALS and whose in BESIDE_LEARNERS:
            # Each value is what one exploiter, or one round's matches, cost.
            totals[f"{total}/{whose}"] = sum(value for _, value in series)
    return totals
