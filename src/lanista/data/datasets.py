"""Checks a folder of replays: what is in it, what is twice in it, and what is broken.

Every match is played again. A broken file is named with its reason and left alone, and counts
for nothing else. Holds one part of one file in memory at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lanista.data.records import Header, Record
from lanista.data.replays import SUFFIX, ReplayError, open_replays
from lanista.data.resimulation import Referee, refereeing
from lanista.data.tallies import GameTally
from lanista.errors import LanistaError
from lanista.files import UNFINISHED
from lanista.text import printable

_PART_MATCHES = 2048
_PART_CHOICES = 1 << 18
_EXAMPLES = 10


class DatasetError(LanistaError):
    """A folder holds no dataset."""


@dataclass(frozen=True)
class Broken:
    """A file that was refused, and why."""

    file: Path
    reason: str


@dataclass(frozen=True)
class Repeat:
    """A match that an earlier one equals in all but its id."""

    file: Path
    match: int
    first_file: Path
    first_match: int


@dataclass
class Summary:
    """What a folder holds. Broken files are in `broken` and in no other number but `files`."""

    folder: Path
    files: int = 0
    games: dict[str, GameTally] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)
    repeats: int = 0
    """How many matches repeat an earlier one."""
    repeat_examples: list[Repeat] = field(default_factory=list)

    @property
    def matches(self) -> int:
        return sum(tally.matches for tally in self.games.values())

    @property
    def decisions(self) -> int:
        return sum(tally.decisions for tally in self.games.values())

    def as_json(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        return {
            "folder": str(self.folder),
            "files": self.files,
            "matches": self.matches,
            "decisions": self.decisions,
            "duplicates": self.repeats,
            "duplicate_examples": [
                {
                    "file": str(one.file),
                    "match": one.match,
                    "first_file": str(one.first_file),
                    "first_match": one.first_match,
                }
                for one in self.repeat_examples
            ],
            "broken": [{"file": str(one.file), "reason": one.reason} for one in self.broken],
            "games": [tally.as_json() for tally in self.games.values()],
        }


def check_dataset(
    folder: str | Path,
    *,
    game: str | None = None,
    slots: int = 256,
    progress: Callable[[int, int], None] | None = None,
) -> Summary:
    """Check every replay under `folder`; `progress` is told files done and files in all.

    `game` names the game of replays that were recorded from a Python file.
    """
    folder = Path(folder)
    slots = min(slots, _PART_MATCHES)  # More are never played side by side.
    summary = Summary(folder)
    files = find_files(folder, summary.broken)
    if not files and not summary.broken:
        raise DatasetError(f"{printable(folder)} holds no replays; they end in {SUFFIX}.")
    summary.files = len(files) + len(summary.broken)
    contents = _Contents()
    for number, file in enumerate(files):
        try:
            tally, contents_of_file = _check_file(file, game, slots)
        except ReplayError as problem:
            summary.broken.append(Broken(file.relative_to(folder), str(problem)))
        else:
            summary.games.setdefault(tally.key, tally.empty()).add(tally)
            contents.add(number, contents_of_file)
        if progress:
            progress(number + 1, len(files))
    summary.broken.sort(key=lambda one: str(one.file))
    names = [file.relative_to(folder) for file in files]
    summary.repeats, summary.repeat_examples = contents.repeats(names)
    return summary


def find_files(
    folder: Path, broken: list[Broken], ending: str = SUFFIX, content: str = "replays"
) -> list[Path]:
    """Return all files under `folder` whose names end so, in order; links lead nowhere.

    Folders that are still being written are not looked into.
    """
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise DatasetError(f"{printable(folder)} {problem}; give a folder of {content}.")
    files, folders = [], [folder]
    while folders:
        here = folders.pop()
        try:
            with os.scandir(here) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError as problem:
            reason = f"it cannot be looked into: {(problem.strerror or '').lower()}."
            broken.append(Broken(here.relative_to(folder), reason))
            continue
        for entry in inside:
            if entry.is_dir(follow_symlinks=False) and not entry.name.endswith(UNFINISHED):
                folders.append(Path(entry.path))
            if entry.name.endswith(ending):
                files.append(Path(entry.path))
    return sorted(files)


def _check_file(file: Path, game: str | None, slots: int) -> tuple[GameTally, _Found]:
    with (
        open_replays(file, follow_links=False) as (header, records),
        refereeing(header, slots=slots, game=game) as referee,
    ):
        tally = GameTally.of(header, referee.spec)
        contents = _Found()
        key = _header_key(header)
        for batch in parts_of(records):
            _check_part(referee, tally, batch)
            for record in batch:
                contents.digests += _content(key, header, record)
                contents.matches.append(record.match)
        return tally, contents


def _check_part(referee: Referee, tally: GameTally, records: list[Record]) -> None:
    turns = referee.play(records, tally)
    tally.count(records, turns)


def parts_of(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Yield matches in parts whose decisions fit in memory."""
    batch: list[Record] = []
    choices = 0
    for record in records:
        batch.append(record)
        choices += record.actions.size
        if len(batch) >= _PART_MATCHES or choices >= _PART_CHOICES:
            yield batch
            batch, choices = [], 0
    if batch:
        yield batch


def _header_key(header: Header) -> bytes:
    """Return what a file's header adds to the content of each of its matches."""
    entries = [header.game, sorted(header.settings.items()), header.rules_version, header.seed]
    return hashlib.blake2b(json.dumps(entries).encode(), digest_size=16).digest()


def _content(key: bytes, header: Header, record: Record) -> bytes:
    """Return 16 bytes that two matches share when deal, seats, options and actions are equal."""
    digests = [header.players[player].digest for player in record.seating]
    entries = json.dumps([record.deal, sorted(record.options.items()), digests])
    content = key + entries.encode() + b"\0" + record.actions.tobytes()
    return hashlib.blake2b(content, digest_size=16).digest()


@dataclass
class _Found:
    """The contents of one file's matches."""

    digests: bytearray = field(default_factory=bytearray)
    matches: array[int] = field(default_factory=lambda: array("q"))


class _Contents:
    """The contents of all matches, 28 bytes each, to find those that are there twice."""

    def __init__(self) -> None:
        self.digests = bytearray()
        self.matches = array("q")
        self.files = array("i")

    def add(self, file: int, contents: _Found) -> None:
        self.digests += contents.digests
        self.matches.extend(contents.matches)
        self.files.extend([file] * len(contents.matches))

    def repeats(self, names: list[Path]) -> tuple[int, list[Repeat]]:
        """Return how many matches repeat an earlier one, and the first few of them."""
        words = np.frombuffer(bytes(self.digests), np.uint64).reshape(-1, 2)
        order = np.lexsort((words[:, 1], words[:, 0]))  # stable: the earliest comes first
        same = np.zeros(len(words), np.bool_)
        same[1:] = (words[order[1:]] == words[order[:-1]]).all(axis=1)
        first = order[np.maximum.accumulate(np.where(same, 0, np.arange(len(words))))]
        later, earlier = order[same], first[same]
        shown = np.argsort(later)[:_EXAMPLES]
        pairs = zip(later[shown].tolist(), earlier[shown].tolist(), strict=True)
        return len(later), [self._repeat(names, one, other) for one, other in pairs]

    def _repeat(self, names: list[Path], later: int, earlier: int) -> Repeat:
        return Repeat(
            names[self.files[later]],
            self.matches[later],
            names[self.files[earlier]],
            self.matches[earlier],
        )


__all__ = [
    "Broken",
    "DatasetError",
    "Repeat",
    "Summary",
    "check_dataset",
    "find_files",
    "parts_of",
]
