"""Replay files: a header, one line per match, and a last line that counts them.

JSON lines, gzipped, written whole or not at all; docs/reference/replays.md describes the format.
Reading trusts nothing. Playing the matches again is in `resimulation`, and its names are given here
too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lanista.data.lines import ReplayError, opened, read_lines, write_lines
from lanista.data.records import (
    Header,
    PlayerInfo,
    Record,
    end_line,
    header_line,
    parse_end,
    parse_header,
    parse_record,
    record_line,
)
from lanista.data.resimulation import Columns, Referee, expand, resimulate
from lanista.data.values import parse_line
from lanista.text import printable

__all__ = [
    "SUFFIX",
    "Columns",
    "Header",
    "PlayerInfo",
    "Record",
    "Referee",
    "ReplayError",
    "Replays",
    "expand",
    "open_replays",
    "read_replays",
    "resimulate",
    "write_replays",
]

SUFFIX = ".jsonl.gz"


@dataclass(frozen=True)
class Replays:
    """The matches of one file, or a part of them."""

    header: Header
    records: tuple[Record, ...]

    def __len__(self) -> int:
        return len(self.records)

    def parts(self, matches: int = 4096) -> Iterator[Replays]:
        """Yield the same matches in parts, for what would not fit in memory at once."""
        for first in range(0, len(self.records), matches):
            yield Replays(self.header, self.records[first : first + matches])


def write_replays(path: str | Path, header: Header, records: Iterable[Record]) -> None:
    """Write matches to `path`; a reader sees all of them or no file."""
    if not str(path).endswith(SUFFIX):
        raise ReplayError(f"A replay file ends in {SUFFIX}, and {printable(path)} does not.")
    write_lines(path, _lines(header, records))


def read_replays(path: str | Path) -> Replays:
    """Return the matches of a file, refusing one that is broken in any way.

    Nothing is played here: `resimulate` proves that the matches went as recorded.
    """
    try:
        with open_replays(path) as (header, records):
            return Replays(header, tuple(records))
    except ReplayError as problem:
        raise ReplayError(f"{printable(path)} is refused: {problem}") from problem


@contextmanager
def open_replays(
    path: str | Path, *, follow_links: bool = True
) -> Iterator[tuple[Header, Iterator[Record]]]:
    """Give a file's header and its matches one by one, for files too large to hold."""
    with opened(path, follow_links=follow_links) as file:
        lines = read_lines(file)
        first = next(lines, None)
        if first is None:
            raise ReplayError("it is empty.")
        try:
            header = parse_header(parse_line(first))
        except ReplayError as problem:
            raise ReplayError(f"line 1: {problem}") from problem
        yield header, _records(lines, len(header.players))


def _lines(header: Header, records: Iterable[Record]) -> Iterator[bytes]:
    yield header_line(header)
    ids: set[int] = set()
    for record in records:
        _refuse_repeated(record.match, ids)
        yield record_line(record, len(header.players))
    yield end_line(len(ids))


def _records(lines: Iterator[bytes], players: int) -> Iterator[Record]:
    ids: set[int] = set()
    for number, line in enumerate(lines, start=2):
        try:
            value = parse_line(line)
            if "end" in value:
                _refuse_wrong_end(parse_end(value), len(ids), lines)
                return
            record = parse_record(value, players)
            _refuse_repeated(record.match, ids)
        except ReplayError as problem:
            raise ReplayError(f"line {number}: {problem}") from problem
        yield record
    raise ReplayError("its last line does not count the matches; the file was cut short.")


def _refuse_repeated(match: int, ids: set[int]) -> None:
    if match in ids:
        raise ReplayError(f"match {match} is in the file twice.")
    ids.add(match)


def _refuse_wrong_end(named: int, count: int, lines: Iterator[bytes]) -> None:
    if named != count:
        raise ReplayError(f"it counts {named} matches, but {count} are there.")
    # Reading on also checks the checksum behind the last line.
    if next(lines, None) is not None:
        raise ReplayError("something follows it.")
