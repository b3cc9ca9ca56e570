"""What a live client tells while it plays: a stream of steps, and outcomes of matches.

`feedback_stream.jsonl` and `manifest.jsonl`, described in docs/reference/feedback.md. Writes them,
and reads them without trust. Which outcome belongs to which stream is for `sessions` to find out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.demonstrations import FULL_VIEW
from lanista.data.feedback.schema import (
    FORMAT,
    MANIFEST_VERSION,
    VERSION,
    Outcome,
    Steps,
    Stream,
    StreamHeader,
    parse_header,
    parse_outcome,
)
from lanista.data.lines import ReplayError, opened, read_plain_lines
from lanista.data.records import PlayerInfo
from lanista.data.resimulation import set_up
from lanista.data.values import parse_line
from lanista.errors import LanistaError
from lanista.games import registry
from lanista.games.contract import Spec
from lanista.text import printable, quoted

STREAM, MANIFEST = "feedback_stream.jsonl", "manifest.jsonl"


class FeedbackError(LanistaError):
    """Feedback of a live client cannot be used or written."""


class FeedbackWriter:
    """Writes a client's stream, a line a step, each handed to the system whole."""

    def __init__(
        self,
        folder: str | Path,
        spec: Spec,
        session: str,
        player: PlayerInfo,
        source: str = FULL_VIEW,
    ) -> None:
        header = StreamHeader.of(spec, session, player, source)
        self.spec, self.header, self.path = spec, header, Path(folder) / STREAM
        first = header_line(header)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        try:
            self._file = os.open(self.path, flags, 0o644)
        except FileExistsError:
            raise FeedbackError(
                f"{printable(self.path)} exists; give every session a folder of its own."
            ) from None
        self._last: dict[tuple[str, int], int] = {}
        self._append(first)

    def step(
        self,
        match: str,
        step: int,
        time: float,
        observation: NDArray[Any],
        action: Sequence[int] | NDArray[Any],
        *,
        seat: int = 0,
        mask: NDArray[np.bool_] | None = None,
        extras: Mapping[str, float | str] | None = None,
    ) -> None:
        """Write one decision; what could not be read back is refused here."""
        value: dict[str, Any] = {
            "match": match,
            "seat": int(seat),
            "step": int(step),
            "time": float(time),
            "observation": np.asarray(observation).tolist(),
            "action": [int(choice) for choice in action],
        }
        if mask is not None:
            value["mask"] = "".join("1" if legal else "0" for legal in np.asarray(mask).tolist())
        if extras:
            value["extras"] = dict(extras)
        try:
            Steps(self.header, self.spec).take(value)
        except ReplayError as problem:
            raise FeedbackError(f"This step cannot be written: {problem}") from problem
        last = self._last.get((match, seat), -1)
        if step <= last:
            raise FeedbackError(
                f"This step cannot be written: step {step} of match {quoted(match)} comes after "
                f"step {last}; steps of a match must rise."
            )
        self._append(_dump(value))
        self._last[match, seat] = step

    def close(self) -> None:
        """End the stream."""
        os.close(self._file)

    def _append(self, line: bytes) -> None:
        data = line + b"\n"
        while data:
            data = data[os.write(self._file, data) :]


def append_outcome(
    folder: str | Path,
    runtime_feedback: str,
    outcome: str,
    *,
    match: str | None = None,
    seat: int = 0,
    time: float | None = None,
    info: Mapping[str, float | str] | None = None,
) -> None:
    """Add a match's outcome to the manifest in `folder`."""
    value: dict[str, Any] = {
        "version": MANIFEST_VERSION,
        "runtime_feedback": runtime_feedback,
        "outcome": outcome,
        "seat": seat,
    }
    for name, entry in (("match", match), ("time", time), ("info", info)):
        if entry is not None:
            value[name] = entry
    try:
        parse_outcome(value)
    except ReplayError as problem:
        raise FeedbackError(f"This outcome cannot be written: {problem}") from problem
    path = Path(folder) / MANIFEST
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(_dump(value) + b"\n")


def read_stream(path: str | Path, *, game: str | None = None) -> Stream:
    """Return all steps of a stream, refusing what does not fit its game in any way.

    `game` names the game where the header cannot: a Python file is never loaded on its word.
    """
    with refusing(path), opened(path, follow_links=False) as file:
        lines = _numbered(read_plain_lines(file))
        _, first, whole_line = next(lines, (1, b"", True))
        if not first or not whole_line:
            raise ReplayError("it is empty, or its first line has no end.")
        with _at_line(1):
            header = parse_header(parse_line(first))
        spec = _spec_of(header, game)
        rows = Steps(header, spec, registry.entry(game or header.game).project)
        unfinished = False
        for number, line, whole_line in lines:
            if not whole_line:
                unfinished = True
                break
            with _at_line(number):
                rows.take(parse_line(line))
        return rows.stream(unfinished)


def read_manifest(path: str | Path) -> tuple[list[Outcome], bool]:
    """Return the outcomes in a manifest, and whether its last line had no end."""
    outcomes: list[Outcome] = []
    with refusing(path), opened(path, follow_links=False) as file:
        for number, line, whole_line in _numbered(read_plain_lines(file)):
            if not whole_line:
                return outcomes, True
            with _at_line(number):
                outcomes.append(parse_outcome(parse_line(line)))
    return outcomes, False


def header_line(header: StreamHeader) -> bytes:
    """Return the first line of a stream; what could not be read back is refused here."""
    value = {
        "format": FORMAT,
        "version": VERSION,
        "session": header.session,
        "game": header.game,
        "settings": dict(sorted(header.settings.items())),
        "rules_version": header.rules_version,
        "observation_version": header.observation_version,
        "observation_length": header.observation_length,
        "heads": [{"name": name, "size": size} for name, size in header.heads],
        "player": {"name": header.player.name, "digest": header.player.digest},
    }
    if header.source != FULL_VIEW:
        value["source"] = header.source
    try:
        parse_header(value)
    except ReplayError as problem:
        raise FeedbackError(f"This stream cannot be begun: {problem}") from problem
    return _dump(value)


@contextmanager
def refusing(path: str | Path) -> Iterator[None]:
    """Name the file in whatever is refused inside the block."""
    try:
        yield
    except ReplayError as problem:
        raise FeedbackError(f"{printable(path)} is refused: {problem}") from problem


@contextmanager
def _at_line(number: int) -> Iterator[None]:
    try:
        yield
    except ReplayError as problem:
        raise ReplayError(f"line {number}: {problem}") from problem


def _numbered(lines: Iterable[tuple[bytes, bool]]) -> Iterator[tuple[int, bytes, bool]]:
    for number, (line, whole_line) in enumerate(lines, start=1):
        yield number, line, whole_line


def _spec_of(header: StreamHeader, game: str | None) -> Spec:
    """Return the game's spec; refuse a header that was written for another layout."""
    instance = set_up(header.game, header.settings, name=game)
    spec = instance.spec
    instance.close()
    for label, recorded, now in (
        ("game", header.game, spec.name),
        ("rules version", header.rules_version, spec.facts.rules_version),
        ("observation version", header.observation_version, spec.facts.observation_version),
        ("observations of length", header.observation_length, spec.observation.length),
        ("heads", header.heads, tuple((head.name, head.size) for head in spec.heads)),
        ("settings", dict(header.settings), dict(spec.settings)),
    ):
        if recorded != now:
            raise ReplayError(
                f"it was written with {label} {quoted(recorded)}; here {quoted(now)}."
            )
    return spec


def _dump(value: dict[str, Any]) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
    except (TypeError, ValueError) as problem:
        raise FeedbackError(f"A line of feedback cannot be written: {problem}.") from problem
