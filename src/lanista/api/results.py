"""What the functions of `lanista` return: frozen, with numbers as rows and as plain values.

A score is an `Estimate`: value, 95 % interval and how many units it rests on. Knows nothing of how
anything was played or trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanista.api.tables import Row, Table, estimate_columns
from lanista.evaluation.gauntlet import Bout, Gauntlet, described
from lanista.evaluation.meter import Reading, pool_reading
from lanista.evaluation.ratings import PairCount, Rating, bradley_terry
from lanista.evaluation.roundrobin import CrossTable
from lanista.evaluation.score import Estimate
from lanista.evaluation.standings import Standing, Summary
from lanista.games.contract import Spec
from lanista.report.run_record import RunRecord

if TYPE_CHECKING:
    from lanista.api.policies import Policy


@dataclass(frozen=True, repr=False)
class PlayResult(Table):
    """How the players of a schedule did."""

    game: str
    seed: int
    summary: Summary
    """All that the matches say."""
    replays: Path | None = None
    """Where the matches were recorded."""

    @property
    def standings(self) -> tuple[Standing, ...]:
        """How each player did, in seat order."""
        return self.summary.standings

    @property
    def score(self) -> Estimate | None:
        """The first player's score; None where no match counts."""
        return self.standings[0].score

    def headline(self) -> str:
        matches = self.summary.matches
        return f"{self.game}: {matches:,} matches, every deal in all seats, seed {self.seed}"

    def rows(self) -> list[Row]:
        """Return a row for each player."""
        return [standing_row(standing) for standing in self.standings]

    def pairs(self) -> list[PairCount]:
        """Return what the two players' games came to; of more seats there is no such count."""
        if len(self.standings) != 2:
            return []
        one, two = self.standings
        return [PairCount(one.name, two.name, one.wins, one.draws, one.losses)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as `lanista play --json` writes it."""
        return {"game": self.game, "seed": self.seed, **asdict(self.summary)}


@dataclass(frozen=True, repr=False)
class EvaluationResult(Table):
    """How one player did against others."""

    spec: Spec
    seed: int
    manner: str
    """How the player chose: greedy, sampled at a temperature, or as its program says."""
    gauntlet: Gauntlet
    """All that the matches say."""

    @property
    def game(self) -> str:
        return self.spec.name

    @property
    def score(self) -> Estimate | None:
        """The mean score over opponents, with an interval over deals."""
        return self.gauntlet.mean

    @property
    def lowest(self) -> Reading | None:
        """The lowest score and against whom; its interval holds for all opponents at once."""
        gauntlet = self.gauntlet
        return (
            pool_reading(gauntlet.name, gauntlet.digest, gauntlet.scores)
            if gauntlet.scores
            else None
        )

    def __getitem__(self, opponent: str) -> Standing:
        """Return how the player did against one opponent."""
        bouts = {bout.opponent: bout for bout in self.gauntlet.bouts}
        return bouts[opponent].standing

    def headline(self) -> str:
        gauntlet = self.gauntlet
        return f"{self.game}: {gauntlet.name} ({gauntlet.digest[:12]}) plays {self.manner}"

    def rows(self) -> list[Row]:
        """Return a row for each opponent; the numbers are the player's."""
        return [_bout_row(bout) for bout in self.gauntlet.bouts]

    def pairs(self) -> list[PairCount]:
        """Return what the games against each opponent came to."""
        return [
            PairCount(self.gauntlet.name, bout.opponent, s.wins, s.draws, s.losses)
            for bout in self.gauntlet.bouts
            for s in (bout.standing,)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as `lanista evaluate --output` writes it."""
        return described(self.gauntlet, self.spec, self.seed, self.manner)


@dataclass(frozen=True, repr=False)
class RoundRobinResult(Table):
    """Scores of each player against each."""

    game: str
    seed: int
    cross_table: CrossTable
    counts: tuple[PairCount, ...]
    """What the games of each two players came to."""

    def headline(self) -> str:
        return f"{self.game}: {self.cross_table.matches:,} matches, every deal in both seats"

    def rows(self) -> list[Row]:
        """Return a row for each player, best first: its mean and its score against each."""
        table = self.cross_table
        return [
            {"player": name, **estimate_columns("mean", table.mean[i])}
            | {
                other: None if score is None else score.value
                for other, score in zip(table.names, table.against[i], strict=True)
            }
            for i, name in enumerate(table.names)
        ]

    def pairs(self) -> list[PairCount]:
        """Return what the games of each two players came to."""
        return list(self.counts)

    def ratings(self, anchor: str | None = None) -> tuple[Rating, ...]:
        """Return Bradley–Terry ratings, best first; `anchor` is the player whose rating is 0."""
        return bradley_terry(self.counts, anchor=anchor).ratings

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as `lanista roundrobin --json` writes it."""
        return {"game": self.game, "seed": self.seed, **asdict(self.cross_table)}


@dataclass(frozen=True)
class TrainingResult:
    """A run that ended, or was stopped with all saved."""

    policy_path: Path
    folder: Path
    """The run folder, which can be resumed."""
    digest: str
    """Of the policy file."""
    updates: int
    """How many were made in all."""
    complete: bool
    """False: `on_update` stopped it, or its time was over; `resume=True` goes on."""
    values: Mapping[str, float] = field(repr=False)
    """The numbers of the last update made now."""

    def load(self) -> Policy:
        """Return the trained policy."""
        from lanista.api.policies import load_policy

        return load_policy(self.policy_path)

    def rows(self) -> list[Row]:
        """Return the run's numbers, a row for each update."""
        from lanista.api.reading import read_run

        return read_run(self.folder).rows()


@dataclass(frozen=True)
class ImitationResult:
    """A clone, and how near it comes to those it imitates."""

    policy_path: Path
    digest: str
    epochs: int
    best_epoch: int
    """The epoch whose weights were kept."""
    nll: float
    """Negative log-likelihood of held-out decisions at the best epoch, in nats."""
    history: tuple[Mapping[str, float], ...] = field(repr=False)
    report: Any = field(repr=False)
    """How well it chooses on held-out matches, head by head."""
    strength: Any = field(repr=False)
    """What it came to in play, where matches were asked for."""

    def load(self) -> Policy:
        """Return the clone."""
        from lanista.api.policies import load_policy

        return load_policy(self.policy_path)

    def rows(self) -> list[Row]:
        """Return a row for each epoch."""
        return [dict(entry) for entry in self.history]


@dataclass(frozen=True)
class ExploitResult:
    """The best response to a player that was found: a lower bound of how badly it can be beaten."""

    victim: str
    policy_path: Path
    digest: str
    """Of the response."""
    score: Estimate
    """Of the response against the victim, on deals that it has never seen."""
    gain: Estimate
    """What the response earns per match."""
    exact_gain: float | None
    """What a best response earns per match, where that can be computed exactly."""
    called: str
    """lower bound, or ceiling."""
    admitted: bool
    """Whether the lower bound of what it earns lies above the threshold."""
    record: Mapping[str, Any] = field(repr=False)
    """Everything that is known, as FILE.json has it."""

    def load(self) -> Policy:
        """Return the response."""
        from lanista.api.policies import load_policy

        return load_policy(self.policy_path)

    def rows(self) -> list[Row]:
        """Return the learning curves: a row for each stage of each response."""
        return [
            {"response": number, **point}
            for number, response in enumerate(self.record["responses"], 1)
            for point in response["curve"]
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return dict(self.record)


@dataclass(frozen=True)
class PipelineResult:
    """A pipeline that is complete."""

    folder: Path
    stages: tuple[str, ...]
    policy_path: Path | None
    """The last policy, where a stage makes one."""
    evaluation: Mapping[str, Any] | None = field(repr=False)
    """What the evaluate stage wrote."""
    report: Path | None
    """The page, where there is a report stage."""

    def load(self) -> Policy:
        """Return the last policy."""
        from lanista.api.policies import load_policy
        from lanista.errors import LanistaError

        if self.policy_path is None:
            raise LanistaError(f"The pipeline {self.folder} makes no policy; add an rl stage.")
        return load_policy(self.policy_path)

    def rows(self) -> list[Row]:
        """Return the last evaluation, a row for each opponent; empty without one."""
        evaluation = self.evaluation or {"bouts": []}
        return [
            {"opponent": bout["opponent"], "n": bout["standing"]["matches"]}
            | estimate_columns("score", Estimate(**bout["standing"]["score"]))
            for bout in evaluation["bouts"]
        ]


@dataclass(frozen=True, repr=False)
class RunNumbers(Table):
    """What a run wrote down, read while it goes on or after it ended."""

    record: RunRecord
    """Players, matches, events, matchmaking and notices too."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all numbers, such as `policy/loss` and `score/random`."""
        return tuple(self.record.metrics)

    def series(self, name: str) -> list[tuple[int, float]]:
        """Return (update, value) of one number, by update."""
        from lanista.errors import LanistaError, nearest

        if name not in self.record.metrics:
            raise LanistaError(f"The run has no number {name!r}; {nearest(name, self.names)}")
        return list(self.record.metrics[name])

    def headline(self) -> str:
        record = self.record
        return (
            f"{record.name}: {record.game}, {record.updates:,} updates, {len(self.names)} numbers"
        )

    def rows(self, *names: str) -> list[Row]:
        """Return a row for each update, with all numbers or those named; a missing one is None."""
        chosen = names or self.names
        columns = {name: dict(self.series(name)) for name in chosen}
        updates = sorted({update for column in columns.values() for update in column})
        return [
            {"update": update, **{name: column.get(update) for name, column in columns.items()}}
            for update in updates
        ]

    def matches(self) -> list[Row]:
        """Return a row for each match of fixed players: what ratings are made from."""
        return [
            {
                "update": match.update,
                "match": match.match,
                "names": match.lineup.names,
                "digests": match.lineup.digests,
                "places": match.places,
                "returns": match.returns,
                "cut_off": match.cut_off,
            }
            for match in self.record.matches
        ]

    def __repr__(self) -> str:
        return self.headline()


def standing_row(standing: Standing) -> Row:
    """Return how a player did as a row."""
    return {
        "player": standing.name,
        "n": standing.matches,
        "wins": standing.wins,
        "draws": standing.draws,
        "losses": standing.losses,
        **estimate_columns("score", standing.score),
        "win_rate": None if standing.win_rate is None else standing.win_rate.value,
        **(estimate_columns("first_place", standing.first_place) if standing.first_place else {}),
    }


def _bout_row(bout: Bout) -> Row:
    row = standing_row(bout.standing)
    del row["player"]
    return {"opponent": bout.opponent, **row}
