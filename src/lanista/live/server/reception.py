"""Takes the bytes of a game into the spool: whole, once, and on the disk before it is confirmed.

A game is known by its content; one that waits, is being learned from or was archived is not
written again. What is damaged, foreign or too much is refused with a sentence, and nothing of it
is kept. Knows nothing of HTTP.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from lanista.errors import LanistaError
from lanista.files import remove_leftovers, write_bytes
from lanista.live.files.game_file import decode
from lanista.live.files.game_header import GameFileError
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import SUFFIX, Spool
from lanista.live.learner.full_disk import is_full
from lanista.live.server.limits import Limits
from lanista.nets.files.policy_format import PolicyHeader, read_header

RECOUNT_SECONDS = 1.0
"""How often a full spool is counted again, at most: the learner may have made room."""


class DamagedError(LanistaError):
    """What arrived is not what was sent."""


class NoRoomError(LanistaError):
    """The server has no room for a game now; later it may."""


@dataclass(frozen=True)
class Receipt:
    """What became of a game that is safe."""

    content: str
    """SHA-256 of all that the game says."""
    repeated: bool
    """Whether it was there already."""


@dataclass(frozen=True)
class Counts:
    """What a server did since it was started."""

    received: int = 0
    """Games that were new."""
    repeated: int = 0
    """Games that were there already."""
    refused: int = 0
    """Files that are no games of this policy's layout."""
    damaged: int = 0
    """Uploads that did not arrive as they were sent."""
    without_room: int = 0
    """Uploads that were put off because there is no room."""


class Reception:
    """The way of games into one spool; to be asked from several threads at once."""

    def __init__(self, spool: Spool, folder: PolicyFolder, limits: Limits) -> None:
        self.spool, self.folder, self.limits = spool, folder, limits
        spool.create()
        # What a server that was killed here had half written; nobody was told that it is safe.
        with suppress(PermissionError):
            remove_leftovers(spool.new)
        self._lock = threading.Lock()
        self._arriving: dict[str, threading.Lock] = {}
        self._header: tuple[str, PolicyHeader] | None = None
        self._counts = Counts()
        self._waiting_games, self._waiting_bytes = _waiting(spool)
        self._counted_at = time.monotonic()

    def counts(self) -> Counts:
        """Return what was received and refused so far."""
        return self._counts

    def take(self, data: bytes, digest: str) -> Receipt:
        """Put a game into the spool; when this returns, it survives a kill and a power cut.

        `digest` is the SHA-256 of the bytes as they were sent.
        """
        if hashlib.sha256(data).hexdigest() != digest:
            self._count("damaged")
            raise DamagedError("The file does not have the SHA-256 in its address; send it again.")
        try:
            content = decode(data, self._layout()).content
        except GameFileError as error:
            self._count("refused")
            raise GameFileError(f"The game file is refused: {error}.") from error
        with self._alone(content):
            repeated = self._holds(content)
            if not repeated:
                self._write(content, data)
        self._count("repeated" if repeated else "received")
        return Receipt(content, repeated)

    def _write(self, content: str, data: bytes) -> None:
        self._refuse_full(len(data))
        try:
            write_bytes(self.spool.new / f"{content}{SUFFIX}", data)
        except OSError as error:
            if not is_full(error):
                raise
            raise self._no_room("its disk is full") from error
        with self._lock:
            self._waiting_games += 1
            self._waiting_bytes += len(data)

    def _layout(self) -> PolicyHeader:
        """Return the header of the stable policy, which says what a game must look like."""
        stable = self.folder.pointer().stable
        if self._header is None or self._header[0] != stable:
            self._header = stable, read_header(self.folder.path_of(stable))
        return self._header[1]

    def _holds(self, content: str) -> bool:
        """Whether a game lies in the spool; asked in the order in which a learner moves games."""
        name = f"{content}{SUFFIX}"
        return (
            (self.spool.new / name).is_file()
            or (self.spool.work / name).is_file()
            or self.spool.is_archived(content)
        )

    def _refuse_full(self, size: int) -> None:
        limits = self.limits
        with self._lock:
            if self._over(size) and time.monotonic() - self._counted_at >= RECOUNT_SECONDS:
                self._waiting_games, self._waiting_bytes = _waiting(self.spool)
                self._counted_at = time.monotonic()
            over = self._over(size)
        if over:
            raise self._no_room(
                f"{self._waiting_games:,} games of {self._waiting_bytes:,} bytes wait for the "
                "learner"
            )
        if shutil.disk_usage(self.spool.new).free - size < limits.free_bytes:
            raise self._no_room(f"its disk has less than {limits.free_bytes:,} bytes left")

    def _over(self, size: int) -> bool:
        limits = self.limits
        return (
            self._waiting_games >= limits.waiting_games
            or self._waiting_bytes + size > limits.waiting_bytes
        )

    def _no_room(self, why: str) -> NoRoomError:
        self._count("without_room")
        return NoRoomError(f"The server has no room for games now: {why}; send it later.")

    def _count(self, name: str) -> None:
        with self._lock:
            self._counts = replace(self._counts, **{name: getattr(self._counts, name) + 1})

    @contextmanager
    def _alone(self, content: str) -> Iterator[None]:
        """Let nobody else put the same game away meanwhile: two copies may come at once."""
        with self._lock:
            turn = self._arriving.setdefault(content, threading.Lock())
        try:
            with turn:
                yield
        finally:
            with self._lock:
                self._arriving.pop(content, None)


def _waiting(spool: Spool) -> tuple[int, int]:
    """Return how many files wait for the learner, and their bytes."""
    games = size = 0
    with os.scandir(spool.new) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                size += entry.stat(follow_symlinks=False).st_size
                games += 1
    return games, size
