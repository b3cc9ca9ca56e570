"""What lies in the folder for the match and play pages: replays, runs with matches, policies.

Follows no link and looks at a bounded number of entries, so that a huge folder costs no more than a
moment. Knows nothing of HTTP.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lanista.data.replays import SUFFIX, open_replays
from lanista.errors import LanistaError
from lanista.nets.files.policy_format import VALUE, PolicyHeader, read_header
from lanista.runs.layout import CHECKPOINTS, CONFIG, DATABASE
from lanista.view.context import ViewContext

MOST_ENTRIES = 50_000
"""Entries of folders that are looked at."""
MOST_LISTED = 500
POLICY_SUFFIX = ".safetensors"
_SKIPPED = (CHECKPOINTS, "node_modules", "__pycache__")


@dataclass(frozen=True)
class Listing:
    """What a walk came by, newest first in each list."""

    replays: tuple[Path, ...]
    runs: tuple[Path, ...]
    policies: tuple[Path, ...]
    live: tuple[Path, ...]
    """Folders with a live learner's `policy` and `spool`."""


def walk(folder: Path) -> Listing:
    """Return replay files, run folders, policy files and live folders below a folder."""
    replays: list[os.DirEntry[str]] = []
    policies: list[os.DirEntry[str]] = []
    runs: list[Path] = []
    live: list[Path] = []
    for parent, entries in _folders(folder):
        names = {entry.name for entry in entries}
        replays += [entry for entry in entries if entry.name.endswith(SUFFIX)]
        policies += [entry for entry in entries if _may_be_policy(entry.name)]
        if DATABASE in names and CONFIG in names:
            runs.append(parent)
        if {"policy", "spool"} <= names and (parent / "policy" / "current.json").is_file():
            live.append(parent)
    return Listing(_newest(replays), tuple(sorted(runs)), _newest(policies), tuple(sorted(live)))


def _may_be_policy(name: str) -> bool:
    return name.endswith(POLICY_SUFFIX) and name != VALUE and not name.startswith(".")


def _folders(folder: Path) -> Iterator[tuple[Path, list[os.DirEntry[str]]]]:
    """Yield folders, each with the plain files and the folders in it."""
    waiting, left = [folder], MOST_ENTRIES
    while waiting and left > 0:
        parent = waiting.pop()
        try:
            with os.scandir(parent) as scan:
                entries = [entry for entry in scan if not entry.is_symlink()]
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            hidden = entry.name.startswith(".") or entry.name in _SKIPPED
            if not hidden and entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
        yield parent, entries


def _newest(entries: list[os.DirEntry[str]]) -> tuple[Path, ...]:
    timed = []
    for entry in entries:
        try:
            if entry.is_file(follow_symlinks=False):
                timed.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
        except OSError:
            continue
    return tuple(Path(path) for _, path in sorted(timed, reverse=True)[:MOST_LISTED])


def replay_summary(path: Path) -> dict[str, object]:
    """Return what a replay file's header says; a broken one says why."""
    try:
        with open_replays(path, follow_links=False) as (header, _):
            return {
                "game": header.game,
                "players": [player.name for player in header.players],
                "seed": header.seed,
                "source": header.source,
            }
    except (LanistaError, OSError) as problem:
        return {"problem": str(problem)}


def policies_for(
    context: ViewContext, game: str, seats: int | None = None, listing: Listing | None = None
) -> list[str]:
    """Return the places of policy files in the folder that play a game, newest first; with `seats`,
    those that play it with so many."""
    listing = listing or walk(context.folder)
    return [
        context.place_of(path)
        for path in listing.policies
        if (header := header_of(path)) is not None
        and header.game == game
        and seats in (None, header.seats)
    ]


def header_of(path: Path) -> PolicyHeader | None:
    """Return a policy's header; None: the file is none, or is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return _header(str(path), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=2048)
def _header(path: str, changed: int, size: int) -> PolicyHeader | None:
    try:
        return read_header(path)
    except (LanistaError, OSError):
        return None


def digest_of(path: Path) -> str:
    """Return a policy file's digest; of one that cannot be read, nothing."""
    try:
        status = path.stat()
        return _digest(str(path), status.st_mtime_ns, status.st_size)
    except OSError:
        return ""


@lru_cache(maxsize=2048)
def _digest(path: str, changed: int, size: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
