"""Reads folders of replays and of live feedback into one set of demonstrations.

All of it must be of one game in one setting, and nothing broken is passed over: a policy must not
be trained on less than its maker thinks. Replays are played again, part by part; with `--cluster`,
file by file in tasks, and what comes of it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.cluster.tasks import cores, tasks, wanted
from lanista.data.datasets import Broken, DatasetError, find_files, parts_of
from lanista.data.demonstration_builder import Gathering
from lanista.data.demonstrations import (
    DRAW,
    FULL_VIEW,
    LOSS,
    UNKNOWN,
    WIN,
    DemonstrationError,
    Demonstrations,
    Indices,
    group_of,
)
from lanista.data.feedback import FeedbackSummary, read_feedback
from lanista.data.feedback.schema import Stream
from lanista.data.records import Header, Record
from lanista.data.replays import SUFFIX, ReplayError, open_replays
from lanista.data.resimulation import Referee, refereeing
from lanista.errors import nearest
from lanista.games.contract import Spec
from lanista.text import printable, quoted

_MOST_NAMED = 10
_PAID = {WIN: 1.0, DRAW: 0.0, LOSS: -1.0, UNKNOWN: 0.0}

Progress = Callable[[int, int], None]
"""Told files done and files in all."""


def gather(
    data: str | Path | None = None,
    feedback: str | Path | None = None,
    reports: str | Path | None = None,
    *,
    players: Sequence[str] = (),
    game: str | None = None,
    mix_sources: bool = False,
    slots: int = 256,
    progress: Progress | None = None,
) -> tuple[Demonstrations, FeedbackSummary | None]:
    """Return the decisions of `players` (all, unless named), and what the feedback was.

    `game` names the game of files that were recorded from a Python file. What players saw and what
    spectators saw is refused together unless `mix_sources` is set.
    """
    if data is None and feedback is None:
        raise DemonstrationError("There is nothing to learn from; give replays or feedback.")
    if reports is not None and feedback is None:
        raise DemonstrationError(
            "Reports tell the outcomes of live feedback, and no folder of feedback was given."
        )
    reading = _Reading(tuple(players), game, slots, mix_sources)
    if data is not None:
        reading.replays(Path(data), progress)
    summary = None
    if feedback is not None:
        summary = read_feedback(
            feedback, reports, game=game, take=reading.stream, progress=progress
        )
        _refuse_broken(summary.broken)
    return reading.done(summary.notices if summary else ()), summary


class _Reading:
    """One pass over all folders."""

    def __init__(
        self, players: tuple[str, ...], game: str | None, slots: int, mix_sources: bool
    ) -> None:
        self.players, self.game, self.slots = players, game, slots
        self.mix_sources = mix_sources
        self.sources: dict[str, Path] = {}
        """By who saw it: the first file of it."""
        self.gathering: Gathering | None = None
        self.first_file: Path | None = None
        self.names: set[str] = set()

    def replays(self, folder: Path, progress: Progress | None) -> None:
        broken: list[Broken] = []
        files = find_files(folder, broken)
        if not files and not broken:
            raise DatasetError(f"{printable(folder)} holds no replays; they end in {SUFFIX}.")
        read = self._in_tasks if wanted() else self._one_by_one
        for done, problem in enumerate(read(folder, files), start=1):
            if problem is not None:
                broken.append(problem)
            if progress:
                progress(done, len(files))
        _refuse_broken(broken)

    def _one_by_one(self, folder: Path, files: Sequence[Path]) -> Iterator[Broken | None]:
        """Read files in order; tell of each whether it is broken."""
        for arguments in self._readings(folder, files):
            yield self._take(_read(*arguments))

    def _in_tasks(self, folder: Path, files: Sequence[Path]) -> Iterator[Broken | None]:
        """The same; files are read side by side and taken in order, whichever is ready first."""
        arguments = self._readings(folder, files)
        ready: dict[int, _Part | Broken] = {}
        next_file = 0
        with tasks(min(len(files), cores())) as doer:
            for number, part in doer.each(_read, arguments):
                ready[number] = part
                while next_file in ready:
                    yield self._take(ready.pop(next_file))
                    next_file += 1

    def _readings(self, folder: Path, files: Sequence[Path]) -> list[tuple[Any, ...]]:
        """Return what `_read` is given for each file."""
        return [
            (file.absolute(), file.relative_to(folder), self.players, self.game, self.slots)
            for file in files
        ]

    def _take(self, part: _Part | Broken) -> Broken | None:
        """Take what was read of a file; return it if the file is broken."""
        if isinstance(part, Broken):
            return part
        gathering = self._gathering_for(part.spec, part.here, FULL_VIEW)
        gathering.seed(part.seed)
        self.names |= part.names
        if part.decisions is not None:
            gathering.extend(part.decisions)
        return None

    def stream(self, file: Path, stream: Stream, outcome: NDArray[np.int8]) -> None:
        """Take the steps of a stream; `outcome` is one for each trajectory."""
        gathering = self._gathering_for(stream.spec, file, stream.header.source)
        self.names.add(stream.header.player.name)
        if not self._wanted(stream.header.player.name) or not len(stream):
            return
        last, of = _ends(stream.match, stream.seat)
        session = stream.header.session
        groups = [group_of("feedback", session, match) for match in stream.matches]
        reward = np.zeros(len(stream), np.float32)
        reward[last] = [_PAID[int(one)] for one in outcome]
        gathering.add(
            observation=stream.observation,
            mask=stream.mask,
            action=stream.action,
            turn=stream.step,
            reward=reward,
            match=stream.match,
            seat=stream.seat,
            outcome=outcome,
            group=np.array(groups, np.uint64)[of],
            teacher=[stream.header.player] * len(last),
        )
        try:
            gathering.add_extras({**stream.extras, "time": stream.time.tolist()}, len(stream))
        except DemonstrationError as problem:
            raise DemonstrationError(f"{printable(file)}: {problem}") from problem

    def done(self, notices: Sequence[str]) -> Demonstrations:
        for player in self.players:
            if player not in self.names:
                raise DemonstrationError(
                    f"No player {player!r} decided anything here; {nearest(player, self.names)}"
                )
        if self.gathering is None or not self.gathering.decisions:
            raise DemonstrationError(" ".join(["There is no decision to learn from.", *notices]))
        return self.gathering.done()

    def replay_file(self, file: Path, here: Path) -> int:
        """Take the decisions of a file; return the seed of its deals."""
        with (
            open_replays(file, follow_links=False) as (header, records),
            refereeing(header, slots=self.slots, game=self.game) as referee,
        ):
            gathering = self._gathering_for(referee.spec, here, FULL_VIEW)
            gathering.seed(header.seed)
            self.names.update(player.name for player in header.players)
            for batch in parts_of(records):
                self._part(gathering, referee, header, batch)
        return header.seed

    def _part(
        self, gathering: Gathering, referee: Referee, header: Header, records: list[Record]
    ) -> None:
        columns = referee.expand(records)
        included = np.array([self._wanted(player.name) for player in header.players])
        who = np.array([record.seating for record in records], np.int64)[
            columns.match, columns.seat
        ]
        order = np.lexsort((columns.turn, columns.seat, columns.match))
        rows = order[included[who[order]]]
        if not len(rows):
            return
        match, seat = columns.match[rows], columns.seat[rows]
        last, of = _ends(match, seat)
        groups = [group_of(header.game, header.seed, record.deal) for record in records]
        outcomes = np.array([_outcomes(record) for record in records], np.int8)
        gathering.add(
            observation=columns.observation[rows],
            mask=columns.mask[rows],
            action=columns.actions[rows],
            turn=columns.turn[rows],
            reward=columns.reward[rows],
            match=match,
            seat=seat,
            outcome=outcomes[of, seat[last]],
            group=np.array(groups, np.uint64)[of],
            teacher=[header.players[player] for player in who[rows[last]].tolist()],
        )

    def _wanted(self, name: str) -> bool:
        return not self.players or name in self.players

    def _gathering_for(self, spec: Spec, file: Path, source: str) -> Gathering:
        if self.gathering is None:
            self.gathering, self.first_file = Gathering(spec), file
        self._refuse_mixture(source, file)
        self.gathering.source(source)
        first = self.gathering.spec
        if (first.name, first.facts, dict(first.settings)) != (
            spec.name, spec.facts, dict(spec.settings)
        ):  # fmt: skip
            raise DemonstrationError(
                f"{printable(file)} is of {_described(spec)}, and {printable(self.first_file)} of "
                f"{_described(first)}; give folders of one game in one setting."
            )
        return self.gathering

    def _refuse_mixture(self, source: str, file: Path) -> None:
        self.sources.setdefault(source, file)
        if len(self.sources) > 1 and not self.mix_sources:
            mixture = " and ".join(
                f"{printable(first)} is what a {who} saw" for who, first in self.sources.items()
            )
            raise DemonstrationError(
                f"{mixture}; learn from one kind alone, or allow both with --mix-sources."
            )


@dataclass(frozen=True)
class _Part:
    """What was read of one file."""

    here: Path
    spec: Spec
    seed: int
    names: set[str]
    """Of all who played."""
    decisions: Demonstrations | None
    """Those that are wanted, if there are any."""


def _read(
    file: Path, here: Path, players: tuple[str, ...], game: str | None, slots: int
) -> _Part | Broken:
    """Read one file, in a task or not."""
    reading = _Reading(players, game, slots, mix_sources=False)
    try:
        seed = reading.replay_file(file, here)
    except ReplayError as problem:
        return Broken(here, str(problem))
    gathering = reading.gathering
    assert gathering is not None
    decisions = gathering.done() if gathering.decisions else None
    return _Part(here, gathering.spec, seed, reading.names, decisions)


def _ends(match: NDArray[np.int64], seat: NDArray[np.int32]) -> tuple[Indices, Indices]:
    """Return each trajectory's last row and its match, for rows by match and then seat."""
    new = np.ones(len(match), np.bool_)
    new[:-1] = (match[1:] != match[:-1]) | (seat[1:] != seat[:-1])
    last = np.flatnonzero(new)
    return last, match[last]


def _outcomes(record: Record) -> list[int]:
    """Return how a match ended for each seat, by its place."""
    if record.cut_off:
        return [UNKNOWN] * len(record.place)
    best = WIN if record.place.count(1) == 1 else DRAW
    return [best if place == 1 else LOSS for place in record.place]


def _refuse_broken(broken: Sequence[Broken]) -> None:
    if not broken:
        return
    reasons = " ".join(
        f"{printable(one.file)}: {printable(one.reason, 300)}" for one in broken[:_MOST_NAMED]
    )
    more = f" And {len(broken) - _MOST_NAMED} more." if len(broken) > _MOST_NAMED else ""
    files = "1 file" if len(broken) == 1 else f"{len(broken)} files"
    raise DemonstrationError(
        f"{files} cannot be used; fix or take away what is broken, and see `lanista data`. "
        f"{reasons}{more}"
    )


def _described(spec: Spec) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in sorted(spec.settings.items()))
    facts = spec.facts
    return (
        f"{quoted(spec.name)} ({printable(settings, 200)}; rules {facts.rules_version}, "
        f"observation {facts.observation_version})"
    )
