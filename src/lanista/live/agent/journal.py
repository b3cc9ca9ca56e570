"""A game while it is played: its steps as rows of bytes, in memory and in a journal on disk.

A journal is what is left of a game whose process was killed. It is read as a game that was cut
off, or, where the end was reached, as the very file that the process did not come to write. Knows
nothing of policies and threads.
"""

from __future__ import annotations

import os
import struct
import sys
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.live.files.game_file import MOST_BYTES, GameFile
from lanista.live.files.game_header import (
    ALL_PROBABILITIES,
    CHOSEN_ONLY,
    GameFileError,
    GameHeader,
    Layout,
    header_bytes,
    parse_header,
)

SUFFIX = ".journal"
_MAGIC = b"lanista-journal\x01"
_START = struct.Struct("<16sLL")
_FIXED = struct.Struct("<Bfd")
_MOST_HEADER = 1 << 18
_MOST_JOURNAL = MOST_BYTES + (1 << 22)
OVERRULED, EARLY, END, RESULT = 1, 2, 4, 8
"""What a row is, apart from a step: played by the bot's rules, reward before the first step, end
of the game, end with a result."""


class Rows:
    """How the steps of games of one layout are put into bytes, and read back."""

    def __init__(self, layout: Layout, version: int = CHOSEN_ONLY) -> None:
        self.layout, self.version = layout, version
        choices = layout.choices if version == ALL_PROBABILITIES else 0
        self.dtype = np.dtype(
            [
                ("flags", "u1"),
                ("log_prob", "<f4"),
                ("reward", "<f8"),
                ("action", "<i4", (len(layout.heads),)),
                ("mask", "u1", (-(-layout.choices // 8),)),
                ("observation", np.dtype(layout.dtype).newbyteorder("<"), (layout.length,)),
                ("probabilities", "<f4", (choices,)),
                ("check", "<u4"),
            ]
        )
        self._blank = b"\0" * (self.dtype.itemsize - _FIXED.size - 4)

    def pack(self, flags: int, log_prob: float, reward: float, rest: bytes = b"") -> bytes:
        """Return a row; `rest` is action, mask, observation and, where the version has them,
        probabilities; none for a row that is no step."""
        row = _FIXED.pack(flags, log_prob, reward) + (rest or self._blank)
        return row + zlib.crc32(row).to_bytes(4, "little")

    def unpack(self, data: bytes, start: int = 0) -> NDArray[Any]:
        """Return the rows up to the first that did not reach the disk whole."""
        size, view, sound = self.dtype.itemsize, memoryview(data), 0
        for at in range(start, len(data) - size + 1, size):
            check = int.from_bytes(view[at + size - 4 : at + size], "little")
            if zlib.crc32(view[at : at + size - 4]) != check:
                break
            sound += 1
        return np.frombuffer(data, self.dtype, sound, start)

    def game(self, header: GameHeader, rows: NDArray[Any]) -> GameFile:
        """Return the game that rows tell, rewards folded into the policy's own actions.

        The last row says how the game ended; without such a row its process was killed.
        """
        ended = len(rows) > 0 and bool(rows["flags"][-1] & END)
        result = ended and bool(rows["flags"][-1] & RESULT)
        before = (rows["flags"] & EARLY) > 0
        steps = rows[(rows["flags"] & (EARLY | END)) == 0]
        overruled = (steps["flags"] & OVERRULED) > 0
        rewards, unowned = folded(steps["reward"], overruled)
        early = float(rows["reward"][before].sum()) + unowned
        return GameFile(
            header=replace(
                header, steps=len(steps), early_reward=early, cut_off=not result, crashed=not ended
            ),
            observations=np.ascontiguousarray(steps["observation"]),
            masks=np.ascontiguousarray(steps["mask"]),
            actions=np.ascontiguousarray(steps["action"]),
            log_probs=np.where(overruled, np.float32(0), steps["log_prob"]),
            rewards=rewards,
            overruled=overruled,
            outcome=rows["reward"][-1:].astype("<f4") if result else np.zeros(0, "<f4"),
            probabilities=(
                np.ascontiguousarray(steps["probabilities"])
                if header.version == ALL_PROBABILITIES
                else None
            ),
        )


def folded(
    rewards: NDArray[np.float64], overruled: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], float]:
    """Return each reward at the policy's last own action, and what came before the first one."""
    steps = np.arange(len(rewards))
    owner = np.maximum.accumulate(np.where(overruled, -1, steps)) if len(steps) else steps
    owned = owner >= 0
    total = np.zeros(len(rewards))
    np.add.at(total, owner[owned], rewards[owned])
    return total.astype("<f4"), float(rewards[~owned].sum())


class Recording:
    """The rows of one game: kept for its file, and on their way to its journal.

    Written by the game's thread, read by the one that writes files: appending to a list and to a
    deque needs no lock.
    """

    def __init__(self, header: GameHeader, rows: Rows) -> None:
        self.header = header
        self.format = rows
        self.packed_rows: list[bytes] = []
        self.unsaved: deque[bytes] = deque()
        self.journal: Journal | None = None
        self.journaled = True
        """Whether rows still belong into a journal."""
        self.ended = False

    @property
    def size(self) -> int:
        return len(self.packed_rows) * self.format.dtype.itemsize

    @property
    def too_long(self) -> bool:
        return self.size > MOST_BYTES

    def add(self, row: bytes) -> None:
        """Keep a row; of a game that no file could hold, only the fact that it is too long."""
        if self.too_long:
            return
        self.packed_rows.append(row)
        if self.journaled:
            self.unsaved.append(row)

    def game(self) -> GameFile:
        """Return the game as it stands."""
        if self.too_long:
            raise GameFileError(f"it grew beyond the {MOST_BYTES:,} bytes that a file may have")
        return self.format.game(
            self.header, np.frombuffer(b"".join(self.packed_rows), self.format.dtype)
        )


class Journal:
    """A file that grows with a game, held by its process until the game's own file is safe."""

    def __init__(self, folder: Path, name: str, header: GameHeader) -> None:
        self.path = folder / f"{name}{SUFFIX}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._handle = os.open(self.path, flags, 0o644)
        try:
            # Somebody who recovers journals may have met it in the moment before.
            if not _held(self._handle) or os.fstat(self._handle).st_nlink == 0:
                raise OSError(f"The new journal {self.path} was taken for an old one.")
            encoded_header = header_bytes(header)
            self.append(
                _START.pack(_MAGIC, len(encoded_header), zlib.crc32(encoded_header))
                + encoded_header
            )
        except OSError:
            self.remove()
            raise

    def append(self, data: bytes) -> None:
        """Add bytes. They survive the process at once; the disk may take its time."""
        written = os.write(self._handle, data)
        if written != len(data):
            raise OSError(f"Only {written} of {len(data)} bytes went into {self.path}.")

    def remove(self) -> None:
        _remove(self.path, self._handle)

    def leave(self) -> None:
        """Let go of the journal, so that it is read as what is left of a game."""
        os.close(self._handle)


@contextmanager
def recovering(path: Path) -> Iterator[GameFile | None]:
    """Give the game of a process that is gone, and remove its journal when the block ends well.

    None while the game is being played, and for a journal without a word in it. The journal is
    held meanwhile, so that no two processes make a file of it; if they did, the files would be
    the same.
    """
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    done = False
    try:
        if not _held(handle) or os.fstat(handle).st_nlink == 0:
            yield None
            return
        with open(handle, "rb", closefd=False) as file:
            data = file.read(_MOST_JOURNAL + 1)
        yield _game(data) if data else None
        done = True
    finally:
        if done:
            _remove(path, handle)
        else:
            os.close(handle)


def abandoned(path: Path) -> bool:
    """Whether a journal's process is gone; False for one that is being begun or was just ended."""
    try:
        handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        about = os.fstat(handle)
        # An empty one may not be held yet, and must not be, or its process would give it up.
        return about.st_size > 0 and about.st_nlink > 0 and _held(handle)
    finally:
        os.close(handle)


def _game(data: bytes) -> GameFile:
    if not _START.size <= len(data) <= _MOST_JOURNAL:
        raise GameFileError(f"its journal has {len(data):,} bytes")
    magic, length, check = _START.unpack_from(data)
    encoded_header = data[_START.size : _START.size + min(length, _MOST_HEADER)]
    if magic != _MAGIC or len(encoded_header) != length or zlib.crc32(encoded_header) != check:
        raise GameFileError("its journal has no header")
    header = parse_header(encoded_header)
    rows = Rows(header.layout, header.version)
    return rows.game(header, rows.unpack(data, _START.size + length))


def _remove(path: Path, handle: int) -> None:
    if sys.platform == "win32":
        os.close(handle)  # An open file cannot be removed there.
        path.unlink(missing_ok=True)
    else:
        path.unlink(missing_ok=True)
        os.close(handle)


def _held(handle: int) -> bool:
    """Hold a file until it is closed or the process ends; False if another one does."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, 1 << 40, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
