"""Puts played blocks on disk as replay files, and never over one that is there.

A file is named after its game, seed and range of match ids, so that blocks of different runs do
not meet. Knows nothing of what is inside a replay file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lanista.data.replays import SUFFIX, Header, Record, write_replays
from lanista.errors import RefusedError
from lanista.files import remove_leftovers
from lanista.games.bots import Player
from lanista.games.contract import Game, Spec
from lanista.rollout.match_runner import Results
from lanista.rollout.schedule import Schedule

MOST_MATCHES = 10_000
MOST_CHOICES = 10_000_000


def block_size(spec: Spec) -> int:
    """Return how many matches of a game go into one file, and into memory at once."""
    rows = spec.facts.longest * (spec.seats if spec.facts.simultaneous else 1)
    return max(1, min(MOST_MATCHES, MOST_CHOICES // (rows * len(spec.heads))))


class Recorder:
    """Writes blocks of one run into a folder."""

    def __init__(
        self,
        folder: str | Path,
        game: Game,
        players: Sequence[Player],
        options: Mapping[str, int] | None = None,
        source: str = "",
    ) -> None:
        self.folder, self.options = Path(folder), dict(options or {})
        if self.folder.exists() and not self.folder.is_dir():
            raise RefusedError(f"{self.folder} is a file; name a folder to record into.")
        self.header = Header.of(game.spec, game.seed, players, source)
        self.written: list[Path] = []
        remove_leftovers(self.folder)

    def path_of(self, block: Schedule) -> Path:
        """Return the file a block goes to."""
        first, last = int(block.match.min()), int(block.match.max())
        return self.folder / f"{self._stem}-{first:09d}-{last:09d}{SUFFIX}"

    @property
    def _stem(self) -> str:
        game = re.sub(r"[^A-Za-z0-9_-]+", "-", self.header.game).strip("-")
        return f"{game}-seed{self.header.seed}"

    def refuse_existing(self, blocks: Sequence[Schedule]) -> None:
        """Refuse a run whose files are there already, before it is played."""
        there = self._there()
        for block in blocks:
            path = self.path_of(block)
            if path.exists():
                raise RefusedError(
                    f"{path} exists and is not overwritten; choose another folder or seed, or "
                    "move it away."
                )
            begin, end = int(block.match.min()), int(block.match.max())
            for other, first, last in there:
                if first <= end and begin <= last:
                    raise RefusedError(
                        f"{other} has matches {first} to {last} of this game and seed, and "
                        f"{begin} to {end} would be recorded beside it; choose another folder or "
                        "seed, or move it away."
                    )

    def _there(self) -> list[tuple[Path, int, int]]:
        """Return the files of this game and seed, each with its first and last match."""
        name = rf"{self._stem}-(\d+)-(\d+){re.escape(SUFFIX)}"
        names = [(path, re.fullmatch(name, path.name)) for path in self.folder.glob(f"*{SUFFIX}")]
        return [(path, int(numbers[1]), int(numbers[2])) for path, numbers in names if numbers]

    def write(self, results: Results) -> Path:
        """Write a complete block."""
        self.refuse_existing([results.schedule])
        path = self.path_of(results.schedule)
        write_replays(path, self.header, records_of(results, self.options))
        self.written.append(path)
        return path


def records_of(results: Results, options: Mapping[str, int]) -> Iterator[Record]:
    """Return each match of `results` as it goes into a replay file."""
    schedule = results.schedule
    for row, actions in enumerate(results.actions_by_match()):
        yield Record(
            match=int(schedule.match[row]),
            deal=int(schedule.deal[row]),
            options=options,
            seating=tuple(schedule.seating[row].tolist()),
            actions=actions,
            returns=tuple(results.returns[row].tolist()),
            place=tuple(results.place[row].tolist()),
            cut_off=bool(results.cut_off[row]),
        )
