"""The spool: the folders through which games go from bots to the learner.

`open/` holds journals of games being played, `new/` whole games, `work/` those a learner has
taken, `archive/` those inside a durable checkpoint, `bad/` what was refused, with the reason
beside it. Every move is a rename, so a game is in one place at a time. Knows nothing of learning
and of what is in a game.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lanista.errors import LanistaError
from lanista.files import remove_leftovers, write_bytes, write_text
from lanista.live.agent.journal import SUFFIX as JOURNAL
from lanista.live.agent.journal import recovering
from lanista.live.files.game_file import GameFile, encode
from lanista.live.files.game_header import GameFileError
from lanista.live.learner.full_disk import is_full
from lanista.text import printable

SUFFIX = ".npz"
REASON = ".reason.txt"
FOLDERS = ("open", "new", "work", "archive", "bad")
_CONTENT = re.compile(r"[0-9a-f]{64}")


class SpoolError(LanistaError):
    """A game could not be moved to where it belongs."""


@dataclass(frozen=True)
class Recovered:
    """What became of journals whose process was gone."""

    games: int = 0
    refused: int = 0
    passed_over: tuple[str, ...] = ()
    """A sentence on each that can be neither read nor moved."""


class Spool:
    """The folders of one spool."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.open, self.new, self.work, self.archive, self.bad = (
            self.folder / name for name in FOLDERS
        )
        self._seen: dict[str, int] = {}
        """When each file in `new/` was written, so that a flood is not asked about every time."""
        self._stuck: dict[str, str] = {}
        """What lies in `new/` and cannot be moved, with a sentence on each."""

    def create(self) -> None:
        """Make the folders that are missing."""
        for name in FOLDERS:
            place = self.folder / name
            try:
                place.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise SpoolError(
                    f"The spool {printable(self.folder)} cannot be made: {_why(error)}."
                ) from error
            if place.is_symlink():
                raise SpoolError(
                    f"{printable(place)} is a symbolic link, and links in a spool are not "
                    "followed; put a folder in its place, or give another folder as spool."
                )

    def write(self, game: GameFile) -> Path:
        """Write a game into `new/`, whole or not at all; the same game has the same name."""
        path = self.new / f"{plain_name(game.header.game_id)}-{game.content[:16]}{SUFFIX}"
        write_bytes(path, encode(game))
        return path

    def waiting(self) -> list[Path]:
        """Return what lies in `new/`, the newest first, so that a flood of old games waits."""
        return [path for path in _entries(self.new, self._seen) if path.name not in self._stuck]

    def playing(self) -> int:
        """Return how many games have a journal: those being played, and those of the killed."""
        return sum(1 for _ in self.open.glob(f"*{JOURNAL}"))

    def taken(self) -> list[Path]:
        """Return what lies in `work/`, the newest first."""
        return _entries(self.work)

    def refused(self) -> list[Path]:
        """Return what lies in `bad/`, without the reasons, the newest first."""
        return [path for path in _entries(self.bad) if not path.name.endswith(REASON)]

    def take(self, paths: Iterable[Path]) -> list[Path]:
        """Move games to `work/`; return where they are now.

        One that is gone meanwhile, or that cannot be moved, does not stop the others.
        """
        moved = []
        self.create()  # Somebody may have cleared the spool away.
        for path in paths:
            try:
                moved.append(_move(path, _free(self.work / path.name)))
            except SpoolError as error:
                reason = error.__cause__
                if isinstance(reason, FileNotFoundError):
                    continue
                if is_full(error) or not os.access(self.new, os.W_OK | os.X_OK):
                    raise
                self._stuck[path.name] = f"{error} It is passed over."
        return moved

    def newly_stuck(self) -> list[str]:
        """Return a sentence on each game that could not be moved, once."""
        sentences = [sentence for sentence in self._stuck.values() if sentence]
        self._stuck = dict.fromkeys(self._stuck, "")
        return sentences

    def give_back(self, path: Path) -> Path:
        """Move a game from `work/` back to `new/`."""
        return _move(path, _free(self.new / path.name))

    def archived(self, content: str) -> Path:
        """Return where a game of this content lies once it is archived."""
        if not _CONTENT.fullmatch(content):
            raise SpoolError(f"A game's content is {printable(content)!r}; give its SHA-256.")
        return self.archive / content[:2] / f"{content}{SUFFIX}"

    def is_archived(self, content: str) -> bool:
        """Whether a game of this content was archived before: then this one is a copy."""
        return _kind(self.archived(content)) == stat.S_IFREG

    def put_away(self, path: Path, content: str) -> Path:
        """Move a game to the archive, where copies of it share one place.

        Whatever else lies there is set aside: a game that took effect must not stay in `work/`.
        """
        place = self.archived(content)
        if _kind(place.parent) not in (0, stat.S_IFDIR):
            self.reject(place.parent, f"'{place.parent.name}' in the archive is not a folder.")
        _make(place.parent)
        if _kind(place) not in (0, stat.S_IFREG):
            self.reject(place, f"'{place.name}' in the archive is not a file.")
        return _move(path, place)

    def bring_back(self, content: str) -> Path:
        """Move a game from the archive back to `new/`."""
        place = self.archived(content)
        return _move(place, _free(self.new / place.name))

    def reject(self, path: Path, reason: str) -> Path:
        """Move what was refused to `bad/`, the reason beside it."""
        place = _free(self.bad / f"{plain_name(path.stem)}{SUFFIX}")
        # First, so that nothing is ever there without a reason.
        write_text(place.with_name(place.name + REASON), reason.rstrip() + "\n")
        return _move(path, place)

    def recover(self) -> Recovered:
        """Make games of the journals that dead processes left; remove what they half wrote."""
        with suppress(PermissionError):  # Somebody else's, who runs no more.
            remove_leftovers(self.new)
        games = refused = 0
        passed_over: list[str] = []
        for path in sorted(self.open.glob(f"*{JOURNAL}")):
            journal_name = f"The journal '{printable(path.name)}'"
            try:
                is_game, reason = self._recovered(path)
                games += is_game
                if reason:
                    self.reject(path, f"{journal_name} {reason}.")
                    refused += 1
            except FileNotFoundError:
                continue  # Its process ended it, or another one recovered it.
            except (OSError, SpoolError) as error:
                if is_full(error):
                    raise
                why = _why(error) if isinstance(error, OSError) else str(error).rstrip(".")
                passed_over.append(f"{journal_name} is passed over: {why}.")
        return Recovered(games, refused, tuple(passed_over))

    def _recovered(self, path: Path) -> tuple[int, str]:
        """Return how many games a journal became, 0 or 1, and why it is refused, if it is."""
        kind = _kind(path)
        if kind not in (0, stat.S_IFREG):
            return 0, "is a link" if kind == stat.S_IFLNK else "is not a file"
        try:
            with recovering(path) as game:
                if game is not None:
                    self.write(game)
                return int(game is not None), ""
        except GameFileError as error:
            return 0, f"is refused: {error}"


def refuse_one_folder(spool: Path, policy: Path) -> None:
    """Refuse a spool that is the policy folder too: neither would be told from the other."""
    if spool.resolve() == policy.resolve():
        raise SpoolError(
            f"{printable(spool)} is given as spool and as policy folder; name two folders."
        )


def plain_name(text: str) -> str:
    """Return a text as part of a file name that leads nowhere else."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", text).strip(".-")[:60] or "game"


def _entries(folder: Path, time_by_name: dict[str, int] | None = None) -> list[Path]:
    """Return what lies in a folder, the newest first; `time_by_name` is kept between calls."""
    time_by_name = {} if time_by_name is None else time_by_name
    # What begins with a dot is still being written. A name tells what a game says, so a file that
    # comes back under it is as old as it was.
    try:
        listed = os.listdir(folder)  # noqa: PTH208
    except FileNotFoundError:
        listed = []
    names = {name for name in listed if not name.startswith(".")}
    for name in time_by_name.keys() - names:
        del time_by_name[name]
    for name in names - time_by_name.keys():
        try:
            time_by_name[name] = (folder / name).lstat().st_mtime_ns
        except FileNotFoundError:
            continue  # Moved on since the folder was listed.
    return [
        folder / name
        for _, name in sorted(((at, name) for name, at in time_by_name.items()), reverse=True)
    ]


def _move(path: Path, place: Path) -> Path:
    # Not made to reach the disk: a move that a power cut undoes is done again, and what a game did
    # is told by the learner's checkpoint, never by where its file lies.
    try:
        path.rename(place)
    except OSError as error:
        raise SpoolError(
            f"{printable(path)} cannot be moved to {printable(place)}: {_why(error)}."
        ) from error
    return place


def _free(place: Path) -> Path:
    """Return a place where nothing lies: the one asked for, or one with a number."""
    number, free_place = 1, place
    while _kind(free_place):
        number += 1
        # Shorter, so that a name as long as one may be has room for the number.
        free_place = place.with_name(f"{place.stem[:60]}.{number}{place.suffix[:60]}")
    return free_place


def _kind(path: Path) -> int:
    """Return what lies at a path, as S_IFMT has it, links not followed; 0: nothing does."""
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except FileNotFoundError:
        return 0


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpoolError(f"{printable(folder)} cannot be made: {_why(error)}.") from error


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
