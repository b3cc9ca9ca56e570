"""Reads the games in a spool for those who only look: the newest, and the oldest that were kept.

Moves and writes nothing. Of long games some decisions are kept, evenly spread, so that memory
stays bounded. Knows nothing of what is made of the numbers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lanista.live.files.game_file import GameFile, read
from lanista.live.files.game_header import GameFileError, GameHeader
from lanista.live.files.spool import SUFFIX, Spool
from lanista.nets.files.policy_format import PolicyHeader

MOST_DECISIONS = 50
"""Decisions of one game whose observations are kept."""


@dataclass(frozen=True)
class Recorded:
    """One game that was recorded."""

    file: str
    """Where it lies in its spool."""
    header: GameHeader
    content: str
    written: int
    """When, in nanoseconds; good for the order of files, not for times."""
    outcome: float | None
    rewarded: bool
    """Whether any reward but 0 was given."""
    own: int
    """Decisions of the policy itself."""
    free: int
    """Those at which more than one action was legal."""
    surprise: float
    """Minus the log-probabilities of what was played at those, summed: entropy, as sampled."""
    freedom: float
    """The logarithms of how many actions were legal there, summed: the entropy of chance."""
    observations: NDArray[np.float64]
    """`[decisions, length]`: observations, at most `MOST_DECISIONS` of them."""


@dataclass(frozen=True)
class Games:
    """The games of a spool that were looked at."""

    newest: tuple[Recorded, ...]
    """In the order they were written, the newest last."""
    oldest: tuple[Recorded, ...]
    """Archived long before those."""
    unreadable: tuple[tuple[str, str], ...]
    """File and reason of waiting games that a learner would refuse."""


def read_games(
    spool: Spool,
    most: int,
    policy: PolicyHeader | None = None,
    learned: frozenset[str] | None = None,
) -> Games:
    """Return up to `most` of the newest games and of the oldest archived ones.

    With `policy`, a game of another layout is unreadable, as it is for a learner. With `learned`,
    the contents of games that were learned from, no others are among the oldest.
    """
    waiting = [*_listed(spool.new), *_listed(spool.work)]
    archived = [path for folder in _folders(spool.archive) for path in _listed(folder)]
    newest = sorted([*waiting, *archived])[-most:]
    chosen = {path for _, path in newest}
    older = [
        entry
        for entry in sorted(archived)
        if entry[1] not in chosen and (learned is None or entry[1].stem in learned)
    ]
    unreadable: list[tuple[str, str]] = []
    new = _read_all(spool, newest, policy, unreadable)
    old = _read_all(spool, older[:most], policy, [])
    # What was archived once was sound; a layout of long ago is no fault of today.
    coming = [entry for entry in unreadable if not entry[0].startswith(spool.archive.name)]
    return Games(tuple(new), tuple(old), tuple(coming))


def read_archived(folder: Path, contents: Sequence[str], policy: PolicyHeader) -> list[Recorded]:
    """Return archived games by their contents, those that are there and of a policy's layout."""
    spool = Spool(folder)
    files = [(0, spool.archived(content)) for content in contents]
    return _read_all(spool, files, policy, [])


def stacked(games: Sequence[Recorded]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the observations of games one after another, and the number of each one's game."""
    lengths = [len(game.observations) for game in games]
    return (
        np.concatenate([game.observations for game in games]),
        np.repeat(np.arange(len(games)), lengths),
    )


def column_names(policy: PolicyHeader | None, length: int) -> list[str]:
    """Return a name for each number of an observation."""
    if policy is None or policy.observation.length != length:
        return [f"number {i}" for i in range(length)]
    return [
        entry.name if entry.size == 1 else f"{entry.name}[{i}]"
        for entry in policy.observation.fields
        for i in range(entry.size)
    ]


def _folders(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_dir()] if folder.is_dir() else []


def _listed(folder: Path) -> list[tuple[int, Path]]:
    files = []
    if folder.is_dir():
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(SUFFIX) and not entry.name.startswith("."):
                    about = entry.stat(follow_symlinks=False)
                    files.append((about.st_mtime_ns, Path(entry.path)))
    return files


def _read_all(
    spool: Spool,
    files: Iterable[tuple[int, Path]],
    policy: PolicyHeader | None,
    unreadable: list[tuple[str, str]],
) -> list[Recorded]:
    games = []
    for written, path in files:
        place = str(path.relative_to(spool.folder))
        try:
            games.append(_recorded(read(path, policy), place, written))
        except GameFileError as error:
            # One that a learner has moved away meanwhile is no fault.
            if path.exists():
                unreadable.append((place, str(error)))
    return games


def _recorded(game: GameFile, place: str, written: int) -> Recorded:
    own = game.decisions
    sizes = np.array([size for _, size in game.header.layout.heads])
    starts = np.cumsum(sizes) - sizes
    legal = np.add.reduceat(game.legal[own], starts, axis=1, dtype=np.int64)
    freedom = np.log(legal).sum(axis=1)
    free = freedom > 0
    spread = np.linspace(0, len(own) - 1, min(len(own), MOST_DECISIONS)).astype(np.int64)
    return Recorded(
        file=place,
        header=game.header,
        content=game.content,
        written=written,
        outcome=float(game.outcome[0]) if len(game.outcome) else None,
        rewarded=bool(game.rewards.any()),
        own=len(own),
        free=int(free.sum()),
        surprise=-float(game.log_probs[own][free].sum()),
        freedom=float(freedom[free].sum()),
        observations=game.observations[own[spread]].astype(np.float64),
    )
