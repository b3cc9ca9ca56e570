"""Folders of live feedback: every stream with the outcomes that the manifests link to it.

A file that does not fit is named with its reason and counts for nothing else. Knows nothing of
what the feedback is used for. Holds one stream in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.datasets import Broken, find_files
from lanista.data.demonstrations import UNKNOWN
from lanista.data.feedback.schema import Outcome, Stream
from lanista.data.feedback.streams import (
    MANIFEST,
    STREAM,
    FeedbackError,
    read_manifest,
    read_stream,
)
from lanista.text import printable, quoted

_EXAMPLES = 10

Take = Callable[[Path, Stream, NDArray[np.int8]], None]
"""Given a file, its stream, and each trajectory's outcome (-1: not known)."""


@dataclass(frozen=True)
class StreamTally:
    """What one sound stream holds."""

    file: Path
    session: str
    game: str
    settings: dict[str, Any]
    player: str
    matches: int
    decisions: int
    trajectories: int
    linked: int
    """Trajectories with an outcome."""
    extras: tuple[str, ...]
    unfinished: bool
    source: str
    """Who saw it: the player itself, or a spectator."""
    unknown: dict[str, int] = field(default_factory=dict)
    """By name: in how many events it was said, where the game has no place for it."""

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "file": str(self.file), "extras": list(self.extras)}


@dataclass
class FeedbackSummary:
    """What the folders of feedback and reports hold; broken files are in `broken` alone."""

    folder: Path | None
    reports: Path | None
    streams: list[StreamTally] = field(default_factory=list)
    manifests: int = 0
    outcomes: int = 0
    unlinked: list[str] = field(default_factory=list)
    """A sentence on each outcome that belongs to no match here."""
    unfinished_manifests: list[Path] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    """A sentence on each folder that is missing or empty."""

    @property
    def decisions(self) -> int:
        return sum(stream.decisions for stream in self.streams)

    @property
    def matches(self) -> int:
        return sum(stream.matches for stream in self.streams)

    @property
    def linked(self) -> int:
        return sum(stream.linked for stream in self.streams)

    def as_json(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        return {
            "folder": None if self.folder is None else str(self.folder),
            "reports": None if self.reports is None else str(self.reports),
            "matches": self.matches,
            "decisions": self.decisions,
            "manifests": self.manifests,
            "outcomes": self.outcomes,
            "linked": self.linked,
            "unlinked": len(self.unlinked),
            "unlinked_examples": self.unlinked[:_EXAMPLES],
            "streams": [stream.as_json() for stream in self.streams],
            "notices": list(self.notices),
            "broken": [{"file": str(one.file), "reason": one.reason} for one in self.broken],
        }


@dataclass
class _Told:
    """An outcome, where it was told, and whether a match was found for it."""

    file: Path
    outcome: Outcome
    used: bool = False


def read_feedback(
    feedback: str | Path | None,
    reports: str | Path | None = None,
    *,
    game: str | None = None,
    take: Take | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> FeedbackSummary:
    """Read every stream under `feedback` and link the outcomes of every manifest under `reports`.

    `take` is given each sound stream in turn; `progress` is told files done and files in all. A
    folder that is missing or empty is noted and gives nothing.
    """
    folder = None if feedback is None else Path(feedback)
    summary = FeedbackSummary(folder, None if reports is None else Path(reports))
    outcomes = _read_manifests(summary)
    if folder is None:
        return summary
    files = _files(folder, summary, STREAM, "feedback")
    sessions: dict[str, Path] = {}
    for number, file in enumerate(files):
        here = file.relative_to(folder)
        try:
            stream = read_stream(file, game=game)
            _refuse_second(stream, here, sessions)
        except FeedbackError as problem:
            summary.broken.append(Broken(here, _reason(problem)))
        else:
            outcome = _link(stream, here, outcomes, summary)
            summary.streams.append(_tally(stream, here, outcome))
            if take:
                take(here, stream, outcome)
        if progress:
            progress(number + 1, len(files))
    for one in (one for same in outcomes.values() for one in same):
        if not one.used:
            summary.unlinked.append(_unlinked(one))
    summary.broken.sort(key=lambda one: str(one.file))
    return summary


def _files(folder: Path, summary: FeedbackSummary, name: str, content: str) -> list[Path]:
    """Return the files of one name under a folder; where there are none, note why."""
    missing = f"it holds no {content}, whose files are called {name}"
    if not folder.exists():
        missing = "it does not exist"
        files = []
    else:
        files = find_files(folder, summary.broken, name, content)
        files = [file for file in files if file.name == name]
    if not files and not summary.broken:
        summary.notices.append(f"Nothing comes from {printable(folder)}: {missing}.")
    return files


def _read_manifests(summary: FeedbackSummary) -> dict[str, list[_Told]]:
    """Return what all manifests tell, by the word that names the feedback."""
    if summary.reports is None:
        return {}
    files = _files(summary.reports, summary, MANIFEST, "reports")
    by_feedback: dict[str, list[_Told]] = {}
    for file in files:
        here = file.relative_to(summary.reports)
        try:
            outcomes, unfinished = read_manifest(file)
        except FeedbackError as problem:
            summary.broken.append(Broken(here, _reason(problem)))
            continue
        summary.manifests += 1
        summary.outcomes += len(outcomes)
        if unfinished:
            summary.unfinished_manifests.append(here)
        for outcome in outcomes:
            by_feedback.setdefault(outcome.runtime_feedback, []).append(_Told(here, outcome))
    return by_feedback


def _refuse_second(stream: Stream, file: Path, sessions: dict[str, Path]) -> None:
    session = stream.header.session
    if session in sessions:
        raise FeedbackError(
            f"its session {quoted(session)} is that of {printable(sessions[session])} too; "
            "give every session a name of its own."
        )
    sessions[session] = file


def _link(
    stream: Stream, file: Path, outcomes: dict[str, list[_Told]], summary: FeedbackSummary
) -> NDArray[np.int8]:
    """Return the outcome of each trajectory of a stream, -1 where no manifest tells one."""
    places = _trajectories(stream)
    outcome = np.full(len(places), UNKNOWN, np.int8)
    number = {place: i for i, place in enumerate(places)}
    words = [word for word in outcomes if _names(word, stream.header.session, file)]
    for one in (one for word in words for one in outcomes[word]):
        match = one.outcome.match
        if match is None:
            if len(stream.matches) != 1:
                one.used = True
                reason = (
                    f"it tells an outcome of session {quoted(stream.header.session)} without "
                    f"naming the match, and the session has {len(stream.matches)}."
                )
                summary.broken.append(Broken(one.file, reason))
                continue
            match = stream.matches[0]
        at = number.get((match, one.outcome.seat))
        if at is None:
            continue
        one.used = True
        if outcome[at] != UNKNOWN:
            reason = (
                f"it tells the outcome of match {quoted(match)} of session "
                f"{quoted(stream.header.session)} a second time."
            )
            summary.broken.append(Broken(one.file, reason))
        outcome[at] = one.outcome.outcome
    return outcome


def _names(runtime_feedback: str, session: str, file: Path) -> bool:
    """Whether a manifest's word means this stream: its session, or a path that ends in its own."""
    if runtime_feedback == session:
        return True
    # A path as Windows writes it is understood everywhere, and so is one with plain slashes.
    path = PureWindowsPath(runtime_feedback).parts
    own = file.parts
    return path == own or (len(path) >= len(own) > 1 and path[-len(own) :] == own)


def _trajectories(stream: Stream) -> list[tuple[str, int]]:
    """Return match and seat of each trajectory, in the order of the stream's rows."""
    pairs = zip(stream.match.tolist(), stream.seat.tolist(), strict=True)
    return [(stream.matches[match], seat) for match, seat in dict.fromkeys(pairs)]


def _tally(stream: Stream, file: Path, outcome: NDArray[np.int8]) -> StreamTally:
    return StreamTally(
        file=file,
        session=stream.header.session,
        game=stream.spec.name,
        settings=dict(stream.spec.settings),
        player=stream.header.player.name,
        matches=len(stream.matches),
        decisions=len(stream),
        trajectories=len(outcome),
        linked=int((outcome != UNKNOWN).sum()),
        extras=tuple(sorted(stream.extras)),
        unfinished=stream.unfinished,
        source=stream.header.source,
        unknown=stream.unknown,
    )


def _unlinked(one: _Told) -> str:
    match = "" if one.outcome.match is None else f" match {quoted(one.outcome.match)}"
    return (
        f"{printable(one.file)}: there is no feedback for{match} seat {one.outcome.seat} of "
        f"{quoted(one.outcome.runtime_feedback, 120)}."
    )


def _reason(problem: FeedbackError) -> str:
    """Return why a file is refused, without its name, which stands beside it."""
    return str(problem.__cause__ or problem)


__all__ = ["FeedbackSummary", "StreamTally", "Take", "read_feedback"]
