"""The learner's book: every game it took in, every batch, every policy and every event, in SQLite.

A row carries the update that made it. What a checkpoint does not hold did not happen: rows newer
than it are deleted when a learner starts. Readers open the book read-only while it is written. A
book that is not what was written is refused, whoever opens it. Knows nothing of networks and of
what the numbers mean.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from lanista.live.learner.ledger_file import BookFile
from lanista.runs.metric_names import current_name, former_names

NAME = "learn.db"
_TABLES = """
CREATE TABLE games (
    update_number INTEGER NOT NULL, content TEXT NOT NULL PRIMARY KEY, game_id TEXT NOT NULL,
    policy TEXT NOT NULL, serial INTEGER NOT NULL, candidate INTEGER NOT NULL, outcome REAL,
    crashed INTEGER NOT NULL, steps INTEGER NOT NULL, overruled INTEGER NOT NULL,
    reward REAL NOT NULL, log_prob REAL NOT NULL, staleness INTEGER NOT NULL,
    use TEXT NOT NULL, predicted REAL, came REAL, at REAL NOT NULL, opponent TEXT NOT NULL,
    distance REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX games_by_update ON games (update_number);
CREATE TABLE batches (
    update_number INTEGER NOT NULL PRIMARY KEY, games INTEGER NOT NULL, learned INTEGER NOT NULL,
    samples INTEGER NOT NULL, passes INTEGER NOT NULL, loss REAL, repeated INTEGER NOT NULL,
    seconds REAL NOT NULL, cpu_seconds REAL NOT NULL, waiting INTEGER NOT NULL, at REAL NOT NULL
);
CREATE TABLE metrics (
    update_number INTEGER NOT NULL, name TEXT NOT NULL, value REAL,
    PRIMARY KEY (update_number, name)
) WITHOUT ROWID;
CREATE TABLE policies (
    update_number INTEGER NOT NULL, digest TEXT NOT NULL, parent TEXT,
    PRIMARY KEY (digest, update_number)
) WITHOUT ROWID;
CREATE TABLE events (
    update_number INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL
);
"""
TABLES = ("games", "batches", "metrics", "policies", "events")


@dataclass(frozen=True)
class GameRow:
    """One game that took effect."""

    update_number: int
    content: str
    """SHA-256 of what its file says."""
    game_id: str
    policy: str
    """Digest of the policy that played it."""
    serial: int
    """Of the pointer under which it began."""
    candidate: bool
    """Whether the pointer's second policy played it."""
    outcome: float | None
    """None: it was cut off."""
    crashed: bool
    steps: int
    overruled: int
    reward: float
    """All that the bot gave."""
    log_prob: float
    """Of all the policy's decisions together, under the policy itself."""
    staleness: int
    """Updates between the weights that played it and those that met it; -1: not known."""
    use: str
    """`learned`, `stale` (too old or too far to learn from) or `empty` (no own decision)."""
    predicted: float | None
    """What the critic expected at the policy's first decision, before it learned from the game."""
    came: float | None
    """What came instead: the discounted return from there; None for a game cut off."""
    at: float
    """When it was taken in, in seconds since 1970."""
    opponent: str = ""
    """Whom the bot said it played against."""
    distance: float = 0.0
    """Between the policy that played it and the weights that met it, in nats a decision."""


@dataclass(frozen=True)
class BatchRow:
    """One update."""

    update_number: int
    games: int
    learned: int
    """Of the games, how many were learned from."""
    samples: int
    """Decisions learned from."""
    passes: int
    """How often each was gone over."""
    loss: float | None
    """Mean over the batch's samples and passes."""
    repeated: int
    """Files that were copies of games known before."""
    seconds: float
    cpu_seconds: float
    waiting: int
    """Files in `new/` when the batch was taken."""
    at: float


@dataclass(frozen=True)
class Event:
    """Something that happened to the policies."""

    update_number: int
    at: float
    kind: str
    """started, stopped, dropped, candidate, published, rejected, void, kept, rolled_back, vetoed,
    superseded, returned, changed, broken, lost."""
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Totals:
    """All batches together."""

    games: int = 0
    learned: int = 0
    stale: int = 0
    repeated: int = 0
    batches: int = 0
    samples: int = 0
    trained: int = 0
    """Samples times passes."""
    loss: float | None = None
    """Mean over all samples ever trained on."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0


class Ledger(BookFile):
    """The open book of one learner."""

    def __init__(self, path: Path, *, write: bool = False) -> None:
        super().__init__(path, _TABLES, TABLES, write=write)

    def add_games(self, rows: Iterable[GameRow]) -> None:
        self._insert("games", (astuple(row) for row in rows))

    def add_batch(self, row: BatchRow) -> None:
        self._insert("batches", [astuple(row)])

    def add_metrics(self, update: int, values: Mapping[str, float]) -> None:
        # SQLite has no NaN; unknown is NULL there.
        rows = [(update, k, None if math.isnan(v) else float(v)) for k, v in values.items()]
        self._insert("metrics", rows)

    def add_policy(self, update: int, digest: str, parent: str | None) -> None:
        """Note after which update a policy was made, or the weights returned to it."""
        row = (update, digest, parent)
        with self._inside():
            if self._connection.execute(
                "INSERT OR IGNORE INTO policies VALUES (?, ?, ?)", row
            ).rowcount:
                self._sums.add("policies", [row])

    def add_event(self, update: int, kind: str, **body: Any) -> None:
        self._insert("events", [(update, time.time(), kind, json.dumps(body, sort_keys=True))])

    def _insert(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        rows = list(rows)
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            with self._inside():
                self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
                self._sums.add(table, rows)

    def newer_than(self, update: int) -> list[str]:
        """Return the contents of games that a checkpoint of `update` does not hold."""
        rows = self._select("SELECT content FROM games WHERE update_number > ?", (update,))
        return [content for (content,) in rows]

    def forget_after(self, update: int) -> None:
        """Delete every row newer than `update`, in one transaction."""
        with self.writing():
            for table in TABLES:
                self._sums.add(table, self.newer(table, update), -1)
                self._connection.execute(f"DELETE FROM {table} WHERE update_number > ?", (update,))

    def knows(self, content: str) -> bool:
        """Whether a game of this content took effect before."""
        rows = self._select("SELECT 1 FROM games WHERE content = ?", (content,))
        return bool(rows)

    def count(self, update: int | None = None) -> int:
        """Return how many games took effect, all or those up to `update`."""
        newer = 0 if update is None else len(self.newer_than(update))
        return int(self._select("SELECT COUNT(*) FROM games")[0][0]) - newer

    def update_of(self, policy: str) -> int | None:
        """Return after which update the weights were last a policy's; None: that is not known."""
        (update,) = self._select(
            "SELECT MAX(update_number) FROM policies WHERE digest = ?", (policy,)
        )[0]
        return None if update is None else int(update)

    def learned_since(self, update: int) -> int:
        """Return how many updates after `update` learned from something."""
        rows = self._select(
            "SELECT COUNT(*) FROM batches WHERE update_number > ? AND learned > 0", (update,)
        )
        return int(rows[0][0])

    def games(self, last: int | None = None) -> list[GameRow]:
        """Return the games in the order they took effect, all or the `last` ones."""
        rows = self._select(
            "SELECT * FROM games ORDER BY update_number DESC, at DESC, content DESC LIMIT ?",
            (-1 if last is None else last,),
        )
        return [_game(row) for row in rows][::-1]

    def learned(self) -> list[str]:
        """Return the contents of all games that were learned from."""
        rows = self._select("SELECT content FROM games WHERE use = 'learned'")
        return [content for (content,) in rows]

    def batches(self) -> list[BatchRow]:
        """Return all updates in order."""
        rows = self._select("SELECT * FROM batches ORDER BY update_number")
        return [BatchRow(*row) for row in rows]

    def metrics(self, name: str) -> list[tuple[int, float]]:
        """Return what updates logged under a name or a former one of it, in order."""
        names = (name, *former_names(name))
        rows = self._select(
            "SELECT update_number, value FROM metrics WHERE value IS NOT NULL "
            f"AND name IN ({', '.join('?' * len(names))}) ORDER BY update_number",
            names,
        )
        return [(int(update), float(value)) for update, value in rows]

    def metric_names(self) -> list[str]:
        """Return every name something was logged under, as it is called now."""
        rows = self._select("SELECT DISTINCT name FROM metrics")
        return sorted({current_name(str(name)) for (name,) in rows})

    def policies(self) -> dict[str, tuple[int, str | None]]:
        """Return the first update and the parent of every policy this learner made or met."""
        rows = self._select(
            "SELECT digest, update_number, parent FROM policies ORDER BY update_number DESC"
        )
        return {digest: (int(update), parent) for digest, update, parent in rows}

    def events(self, *kinds: str) -> list[Event]:
        """Return what happened, in order: everything, or events of some kinds."""
        rows = self._select("SELECT * FROM events ORDER BY rowid")
        events = [Event(int(u), float(at), kind, json.loads(body)) for u, at, kind, body in rows]
        return [event for event in events if not kinds or event.kind in kinds]

    def totals(self) -> Totals:
        """Return all batches together; the loss is the mean over what was trained on."""
        games, learned, repeated, batches, samples, trained, seconds, cpu, weighed, losses = (
            self._select(
                "SELECT SUM(games), SUM(learned), SUM(repeated), COUNT(*), SUM(samples), "
                "SUM(samples * passes), SUM(seconds), SUM(cpu_seconds), "
                "SUM(CASE WHEN loss IS NOT NULL THEN samples * passes END), "
                "SUM(loss * samples * passes) FROM batches"
            )[0]
        )
        (stale,) = self._select("SELECT COUNT(*) FROM games WHERE use = 'stale'")[0]
        return Totals(
            games or 0, learned or 0, stale, repeated or 0, batches, samples or 0, trained or 0,
            losses / weighed if weighed else None, seconds or 0.0, cpu or 0.0,
        )  # fmt: skip


def _game(row: tuple[Any, ...]) -> GameRow:
    values = dict(zip((entry.name for entry in fields(GameRow)), row, strict=True))
    values["candidate"], values["crashed"] = bool(values["candidate"]), bool(values["crashed"])
    return GameRow(**values)


@contextmanager
def reading(path: Path) -> Iterator[Ledger]:
    """Open a learner's book to read it."""
    with closing(Ledger(path)) as ledger:
        yield ledger
