"""Imports battle logs of Showdown as feedback of a spectator, for imitation.

Reads logs one by one and writes what they show as streams and manifests
(docs/reference/feedback.md), all marked as seen by a spectator. A log that cannot be used is
counted with its reason and left alone.
The folder appears whole or not at all. What a log shows is worked out by games.showdown.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanista.data.demonstrations import OUTCOMES, SPECTATOR
from lanista.data.feedback import MANIFEST, FeedbackWriter, append_outcome
from lanista.data.records import PlayerInfo
from lanista.errors import LanistaError, RefusedError
from lanista.files import filling, write_text
from lanista.games.contract import Spec
from lanista.games.showdown.formats import Format, format_named, format_of_log
from lanista.games.showdown.game import Showdown
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.sim.views import SEATS
from lanista.games.showdown.spectating.logs import (
    TIE,
    Log,
    LogError,
    find_logs,
    identity,
    read_logs,
)
from lanista.games.showdown.spectating.rows import Battle, read_battle

PLAYER = PlayerInfo("spectator", hashlib.sha256(b"Showdown battle logs").hexdigest())
"""Whose decisions they are said to be: many people's, who are named in the extra `player`."""
SUMMARY = "import.json"
PART_DECISIONS = 20_000
"""How many decisions go into one stream; a reader holds one in memory."""
_EXAMPLES = 3

Progress = Callable[[int, int], None]
"""Told files done and files in all."""


@dataclass(frozen=True)
class Wanted:
    """Which battles and sides are imported."""

    format: str | None = None
    """The simulator's name of the format; None: that of the first log of a format known here."""
    team_pool_path: str = ""
    """The pool of the game that the policy will play; a part of the game's settings."""
    winners_only: bool = False
    min_rating: int | None = None
    """Only sides whose player had at least this rating; unknown ratings are too low."""
    observation: int = 1
    """The version of the observation that the policy will read."""


@dataclass
class Imported:
    """What came of an import."""

    output: Path
    format: str = ""
    logs: int = 0
    battles: int = 0
    """Logs from which decisions came."""
    open_sheets: int = 0
    """Those of them that show both players' team sheets."""
    left_out: Counter[str] = field(default_factory=Counter)
    """By reason: how many logs."""
    examples: dict[str, list[str]] = field(default_factory=dict)
    """By reason: the first few, named."""
    known: int = 0
    partly: int = 0
    unknown: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Why parts of decisions are unknown."""

    @property
    def decisions(self) -> int:
        return self.known + self.partly + self.unknown

    def leave_out(self, name: str, why: str) -> None:
        """Count a log that is not used; what follows a colon is told of the examples alone."""
        reason = why.partition(": ")[0]
        self.left_out[reason] += 1
        named = self.examples.setdefault(reason, [])
        if len(named) < _EXAMPLES:
            named.append(f"{name} {why}")

    def take(self, battle: Battle) -> None:
        """Count what a log showed."""
        self.battles += 1
        self.open_sheets += battle.open_sheets
        self.known += battle.fully_known
        self.partly += battle.partly
        self.unknown += battle.unknown
        self.reasons.update(battle.reasons)

    def as_json(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {**vars(self), "output": str(self.output), "source": SPECTATOR}


def import_logs(
    paths: Iterable[Path], output: Path, filters: Wanted, progress: Progress | None = None
) -> Imported:
    """Write what logs show into the folder `output`, which must not be there yet.

    Where no decision at all came out of them, nothing is written.
    """
    files = find_logs(paths)
    if not files:
        raise LanistaError(
            "There is no battle log there; see docs/guides/battle-logs.md for their kinds."
        )
    if filters.format is not None:
        format_named(filters.format)
    if output.exists():
        raise RefusedError(f"{output} exists; choose another --output or move it away.")
    with filling(output) as folder:
        imported = _Import(folder, Imported(output), filters).run(files, progress)
        if imported.known:
            write_text(folder / SUMMARY, json.dumps(imported.as_json(), indent=2) + "\n")
    return imported


class _Import:
    """One import on its way."""

    def __init__(self, folder: Path, done: Imported, filters: Wanted) -> None:
        self.folder, self.done, self.filters = folder, done, filters
        self.format: Format | None = None
        self.spec: Spec | None = None
        self.belief: Belief | None = None
        self.contents: set[bytes] = set()
        self.writer: FeedbackWriter | None = None
        self.names: set[str] = set()
        """The matches of the stream that is being written."""
        self.stream_count = self.written = 0

    def run(self, files: list[Path], progress: Progress | None) -> Imported:
        try:
            for number, file in enumerate(files, 1):
                for name, log in read_logs(file):
                    self.done.logs += 1
                    try:
                        self._log(log)
                    except LogError as problem:
                        self.done.leave_out(name, str(problem))
                if progress:
                    progress(number, len(files))
        finally:
            self._close()
        return self.done

    def _log(self, log: Log | LogError) -> None:
        if isinstance(log, LogError):
            raise log
        format = self._format(log)
        content = identity(log)
        if content in self.contents:
            raise LogError("was read already")
        seats = self._seats(log)
        assert self.spec is not None
        battle = read_battle(log, format, self.spec, self.belief, seats)
        self.contents.add(content)  # Not before: another copy may be whole where this one is not.
        self.done.take(battle)
        if battle.rows:
            self._write(battle, content.hex())

    def _format(self, log: Log) -> Format:
        format = format_of_log(log.format)
        if self.format is None:
            first = format_named(self.filters.format) if self.filters.format else format
            if first is None:
                raise LogError(f"is of a format that is not played here: {log.format}")
            self.format, name = first, first.name
            self.done.format = name
            filters = self.filters
            game = Showdown(
                1,
                format=name,
                team_pool_path=filters.team_pool_path,
                observation=filters.observation,
            )
            self.spec, self.belief = game.spec, game.dealer.belief
            game.close()
        if format != self.format:
            raise LogError(f"is of another format: {log.format}")
        return self.format

    def _seats(self, log: Log) -> tuple[int, ...]:
        seats = tuple(range(SEATS))
        if self.filters.winners_only:
            if log.winner == TIE:
                raise LogError("has no winner")
            seats = (log.winner,)
        least = self.filters.min_rating
        if least is not None:
            seats = tuple(seat for seat in seats if (log.ratings[seat] or 0) >= least)
            if not seats:
                raise LogError("is of players with a lower rating, or none")
        return seats

    def _write(self, battle: Battle, content: str) -> None:
        log = battle.log
        if self.writer is None or self.written >= PART_DECISIONS:
            self._begin(f"spectator-{content[:16]}")
        assert self.writer is not None
        name = log.name
        if name in self.names:
            name = f"{name} {content[:16]}"
        self.names.add(name)
        for row in battle.rows:
            extras: dict[str, float | str] = {"player": log.players[row.seat]}
            rating = log.ratings[row.seat]
            if rating is not None:
                extras["rating"] = float(rating)
            self.writer.step(
                name, row.step, 0.0, row.observation, row.action,
                seat=row.seat, mask=row.mask, extras=extras,
            )  # fmt: skip
        self.written += len(battle.rows)
        for seat in sorted({row.seat for row in battle.rows}):
            outcome = OUTCOMES[1 if log.winner == TIE else 0 if log.winner == seat else 2]
            session = self.writer.header.session
            append_outcome(self.writer.path.parent, session, outcome, match=name, seat=seat)

    def _begin(self, session: str) -> None:
        self._close()
        self.stream_count += 1
        self.written, self.names = 0, set()
        folder = self.folder / f"part-{self.stream_count:04d}"
        assert self.spec is not None
        self.writer = FeedbackWriter(folder, self.spec, session, PLAYER, SPECTATOR)

    def _close(self) -> None:
        if self.writer is None:
            return
        self.writer.close()
        for path in (self.writer.path, self.writer.path.with_name(MANIFEST)):
            if path.exists():
                handle = os.open(path, os.O_RDONLY)
                os.fsync(handle)
                os.close(handle)
        self.writer = None
