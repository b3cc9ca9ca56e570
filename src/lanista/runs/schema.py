"""The tables of run.db: their columns, and a typed row for each of them.

Every row carries the update that made it. The fields of a row are the columns of its table, in
order; lists and bodies are JSON text there, and this is the one place that writes and reads it.
Knows nothing of files and connections.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, TypeVar

VERSION = 2
"""Of the tables; SQLite keeps it as the file's user_version."""
SCHEMA = """
CREATE TABLE metrics (
    update_number INTEGER NOT NULL, name TEXT NOT NULL, value REAL,
    PRIMARY KEY (update_number, name)
) WITHOUT ROWID;
CREATE TABLE players (
    update_number INTEGER NOT NULL, name TEXT NOT NULL PRIMARY KEY, digest TEXT NOT NULL,
    kind TEXT NOT NULL, category TEXT NOT NULL, role TEXT NOT NULL, parents TEXT NOT NULL,
    weight REAL NOT NULL, body TEXT NOT NULL
);
CREATE TABLE matchmaking (
    update_number INTEGER NOT NULL, learner TEXT NOT NULL, opponent TEXT NOT NULL,
    reason TEXT NOT NULL, weight REAL NOT NULL,
    PRIMARY KEY (update_number, learner, opponent, reason)
) WITHOUT ROWID;
CREATE TABLE training_games (
    update_number INTEGER NOT NULL, learner TEXT NOT NULL, seating TEXT NOT NULL,
    reason TEXT NOT NULL, digests TEXT NOT NULL, matches INTEGER NOT NULL, pairs TEXT NOT NULL,
    returns TEXT NOT NULL, first_match INTEGER NOT NULL, last_match INTEGER NOT NULL,
    first_update INTEGER NOT NULL,
    PRIMARY KEY (update_number, learner, seating, reason)
) WITHOUT ROWID;
CREATE TABLE lineups (
    update_number INTEGER NOT NULL, lineup INTEGER NOT NULL PRIMARY KEY, reason TEXT NOT NULL,
    names TEXT NOT NULL, digests TEXT NOT NULL, seed INTEGER NOT NULL,
    rules_version INTEGER NOT NULL, observation_version INTEGER NOT NULL
);
CREATE TABLE matches (
    update_number INTEGER NOT NULL, match INTEGER NOT NULL PRIMARY KEY, lineup INTEGER NOT NULL,
    deal INTEGER NOT NULL, returns TEXT NOT NULL, places TEXT NOT NULL, cut_off INTEGER NOT NULL
);
CREATE TABLE events (
    update_number INTEGER NOT NULL, kind TEXT NOT NULL, player TEXT NOT NULL, body TEXT NOT NULL
);
CREATE TABLE notices (update_number INTEGER NOT NULL, sentence TEXT NOT NULL);
"""
Cells = tuple[int | str | float | None, ...]
"""A row as SQLite has it."""
Pairs = tuple[tuple[int, int, int], ...]
Body = Mapping[str, Any]


@dataclass(frozen=True)
class MetricRow:
    """One number of an update."""

    table: ClassVar[str] = "metrics"
    order: ClassVar[str] = "update_number, name"
    update: int
    name: str
    value: float | None
    """None: unknown. SQLite has no NaN."""


@dataclass(frozen=True)
class PlayerRow:
    """A player of the run."""

    table: ClassVar[str] = "players"
    order: ClassVar[str] = "update_number, rowid"
    update: int
    """When it entered."""
    name: str
    """As `main`, `main/000120`, `imitation`, `random`."""
    digest: str
    """Of its policy file or bot; empty for learners, whose weights change."""
    kind: str
    """learner, policy or bot."""
    category: str
    """self, imitation, start, past, exploiter or bot."""
    role: str = ""
    """main, main_exploiter, league_exploiter, exploiter, or nothing."""
    parents: tuple[str, ...] = ()
    """Names of the players it came from."""
    weight: float = 1.0
    """How much it is wanted as an opponent; 0: not any more."""
    body: Body = field(default_factory=dict)
    """More about it: an exploiter's victim, budget and result, a snapshot's decisions."""


@dataclass(frozen=True)
class MatchmakingRow:
    """How likely a learner is to meet an opponent from an update on."""

    table: ClassVar[str] = "matchmaking"
    order: ClassVar[str] = "update_number, learner, opponent, reason"
    update: int
    learner: str
    opponent: str
    reason: str
    weight: float
    """The weights of one learner and update sum to 1."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What the table sorts an update's rows by."""
        return self.learner, self.opponent, self.reason


@dataclass(frozen=True)
class TrainingGamesRow:
    """The training games of one update, seating and reason."""

    table: ClassVar[str] = "training_games"
    order: ClassVar[str] = "update_number, learner, seating, reason"
    update: int
    learner: str
    seating: tuple[str, ...]
    """Names by seat."""
    reason: str
    """Why the matchmaker asked for them."""
    digests: tuple[str, ...]
    """By seat; a learner's is `learner:NAME`."""
    matches: int
    pairs: Pairs
    """Wins, draws, losses for each pair of seats (0,1), (0,2), (1,2)…, seen from the first."""
    returns: tuple[float, ...]
    """Sums by seat."""
    first_match: int
    last_match: int
    first_update: int
    """The learner's oldest weights in them are of this update, its newest of `update`."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What the table sorts an update's rows by: the seating as the text it is there."""
        return self.learner, json.dumps(self.seating), self.reason


@dataclass(frozen=True)
class LineupRow:
    """Who sat where in a series of matches of fixed players."""

    table: ClassVar[str] = "lineups"
    order: ClassVar[str] = "lineup"
    update: int
    lineup: int
    """The id of its first match."""
    reason: str
    """evaluation, pool, exploiter or meta_game."""
    names: tuple[str, ...]
    """By seat."""
    digests: tuple[str, ...]
    """By seat; each one stayed for the whole match."""
    seed: int
    rules_version: int
    observation_version: int


@dataclass(frozen=True)
class MatchRow:
    """One match of fixed players."""

    table: ClassVar[str] = "matches"
    order: ClassVar[str] = "update_number, match"
    update: int
    match: int
    """Its id, unique in the run."""
    lineup: int
    deal: int
    """Matches of the same players, seed and deal with the seats swapped are one unit."""
    returns: tuple[float, ...]
    """By seat."""
    places: tuple[int, ...]
    """By seat; 1 is first, equal places are a draw."""
    cut_off: bool
    """It was broken off and has no result."""


@dataclass(frozen=True)
class EventRow:
    """Something that happened to a player: snapshot, reset, exploiter_admitted, promotion, …"""

    table: ClassVar[str] = "events"
    order: ClassVar[str] = "update_number, rowid"
    update: int
    kind: str
    player: str
    body: Body


@dataclass(frozen=True)
class NoticeRow:
    """Something the user was told."""

    table: ClassVar[str] = "notices"
    order: ClassVar[str] = "update_number, rowid"
    update: int
    sentence: str


RunRow = (
    MetricRow | PlayerRow | MatchmakingRow | TrainingGamesRow | LineupRow | MatchRow | EventRow
    | NoticeRow
)  # fmt: skip
R = TypeVar(
    "R", MetricRow, PlayerRow, MatchmakingRow, TrainingGamesRow, LineupRow, MatchRow, EventRow,
    NoticeRow,
)  # fmt: skip
ROWS = (
    MetricRow, PlayerRow, MatchmakingRow, TrainingGamesRow, LineupRow, MatchRow, EventRow,
    NoticeRow,
)  # fmt: skip
TABLES = tuple(kind.table for kind in ROWS)


def _whole(cell: Any) -> int:
    if type(cell) is not int:
        raise ValueError(f"{cell!r:.40} is no whole number")
    return cell


def _number(cell: Any) -> float:
    if type(cell) not in (int, float):
        raise ValueError(f"{cell!r:.40} is no number")
    return float(cell)


def _unless_null(cell: Any) -> float | None:
    return None if cell is None else _number(cell)


def _string(cell: Any) -> str:
    if type(cell) is not str:
        raise ValueError(f"{cell!r:.40} is no text")
    return cell


def _body(cell: Any) -> Body:
    value = json.loads(cell)
    if not isinstance(value, dict):
        raise ValueError(f"{cell[:40]!r} is no JSON object")
    return value


# The same few texts stand in very many rows.
@lru_cache(maxsize=4096)
def _strings(cell: Any) -> tuple[str, ...]:
    return tuple(map(str, json.loads(cell)))


@lru_cache(maxsize=4096)
def _numbers(cell: Any) -> tuple[float, ...]:
    return tuple(map(float, json.loads(cell)))


@lru_cache(maxsize=4096)
def _whole_numbers(cell: Any) -> tuple[int, ...]:
    return tuple(map(int, json.loads(cell)))


@lru_cache(maxsize=4096)
def _pairs(cell: Any) -> Pairs:
    return tuple((int(won), int(drawn), int(lost)) for won, drawn, lost in json.loads(cell))


def _as_it_is(value: Any) -> Any:
    return value


class _Codec(NamedTuple):
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


_CODECS = {
    "int": _Codec(_as_it_is, _whole),
    "bool": _Codec(int, lambda cell: bool(_whole(cell))),
    "str": _Codec(_as_it_is, _string),
    "float": _Codec(_as_it_is, _number),
    "float | None": _Codec(_as_it_is, _unless_null),
    "tuple[str, ...]": _Codec(json.dumps, _strings),
    "tuple[float, ...]": _Codec(json.dumps, _numbers),
    "tuple[int, ...]": _Codec(json.dumps, _whole_numbers),
    "Pairs": _Codec(json.dumps, _pairs),
    "Body": _Codec(lambda body: json.dumps(dict(body)), _body),
}
"""By the type that a field is annotated with: how it is written, and read."""
_FIELDS = {
    kind: tuple((column.name, _CODECS[str(column.type)]) for column in fields(kind))
    for kind in ROWS
}


def cells_of(row: RunRow) -> Cells:
    """Return a row as its table has it."""
    return tuple(codec.encode(getattr(row, name)) for name, codec in _FIELDS[type(row)])


def row_of(kind: type[R], cells: Cells) -> R:
    """Return the typed row; a ValueError or the like says which cell cannot be one's."""
    return kind(
        *(codec.decode(cell) for (_, codec), cell in zip(_FIELDS[kind], cells, strict=True))
    )
