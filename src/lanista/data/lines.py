"""Lines within limits, gzipped or plain: the outer shell of replays and feedback.

Reads without trust: the size of a line, of the whole content and its growth over the compressed
size are bounded, and nothing but a regular file is opened. Knows nothing of what a line says.
"""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lanista.errors import LanistaError
from lanista.files import replacing

LONGEST_LINE = 4 << 20
LARGEST_CONTENT = 1 << 30
LARGEST_RATIO = 100
"""The content may be this many times the file's size, and one longest line beyond that."""

_PIECE = 1 << 16
_MEMBER = 1 << 20
_GZIP = 16 + zlib.MAX_WBITS


class ReplayError(LanistaError):
    """A replay cannot be used: it is broken, foreign, or does not play as it says."""


def write_lines(path: str | Path, lines: Iterable[bytes]) -> None:
    """Write `lines`, gzipped, to `path`: whole or not at all, the same bytes for the same lines."""
    waiting, size, total = [], 0, 0
    with replacing(path) as file:
        for line in lines:
            if len(line) > LONGEST_LINE:
                raise ReplayError(
                    f"A line of {len(line)} bytes is too long for a replay; "
                    f"at most {LONGEST_LINE} can be read back."
                )
            waiting.append(line + b"\n")
            size += len(line) + 1
            total += len(line) + 1
            if total > LARGEST_CONTENT:
                raise ReplayError(
                    f"More than {LARGEST_CONTENT} bytes do not fit one replay file; "
                    "write several files."
                )
            if size >= _MEMBER:
                file.write(_member(b"".join(waiting)))
                waiting, size = [], 0
        if waiting:
            file.write(_member(b"".join(waiting)))


def _member(content: bytes) -> bytes:
    """Return one gzip member; a file is a row of them, each with its own checksum."""
    packed = _pack(content, zlib.Z_DEFAULT_STRATEGY)
    if len(packed) * LARGEST_RATIO < 2 * len(content):
        # Play that repeats itself would shrink as far as a bomb does, and be refused as one.
        packed = _pack(content, zlib.Z_HUFFMAN_ONLY)
    return packed


def _pack(content: bytes, strategy: int) -> bytes:
    # zlib writes a gzip header without a time or a name.
    machine = zlib.compressobj(6, zlib.DEFLATED, _GZIP, zlib.DEF_MEM_LEVEL, strategy)
    return machine.compress(content) + machine.flush()


@contextmanager
def opened(path: str | Path, *, follow_links: bool = True) -> Iterator[BinaryIO]:
    """Open a regular file for reading; a pipe, a folder or a device is refused, never waited on."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not follow_links:
        if Path(path).is_symlink():
            raise ReplayError("it is a link; put the file itself in the folder.")
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(path, flags)
    except OSError as problem:
        raise ReplayError(f"it cannot be opened: {_reason(problem)}.") from problem
    except ValueError as problem:
        raise ReplayError("its name holds a null character.") from problem
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ReplayError("it is not a regular file.")
    with os.fdopen(handle, "rb") as file:
        yield file


def _reason(problem: OSError) -> str:
    if problem.errno == errno.ELOOP:
        return "it is a link"
    return (problem.strerror or type(problem).__name__).lower()


def read_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of an opened file without their line breaks, within the limits."""
    size = os.fstat(file.fileno()).st_size
    if size == 0:
        raise ReplayError("it is empty.")
    tail = b""
    for piece in _inflate(file, min(LARGEST_CONTENT, LONGEST_LINE + LARGEST_RATIO * size)):
        lines = (tail + piece).split(b"\n")
        tail = lines.pop()
        if len(tail) > LONGEST_LINE or any(len(line) > LONGEST_LINE for line in lines):
            raise ReplayError(f"a line is longer than {LONGEST_LINE} bytes.")
        yield from lines
    if tail:
        raise ReplayError("its last line has no end; the file was cut short.")


def read_plain_lines(file: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of an opened file that is not compressed, each with whether it has its end.

    Only the last can lack it: its writer was stopped, or is still at it.
    """
    total = 0
    try:
        while line := file.readline(LONGEST_LINE + 2):
            total += len(line)
            if len(line) > LONGEST_LINE + 1:
                raise ReplayError(f"a line is longer than {LONGEST_LINE} bytes.")
            if total > LARGEST_CONTENT:
                raise ReplayError(f"it is longer than {LARGEST_CONTENT} bytes.")
            yield line.removesuffix(b"\n"), line.endswith(b"\n")
    except OSError as problem:
        raise ReplayError(f"it cannot be read: {_reason(problem)}.") from problem


def _inflate(file: BinaryIO, limit: int) -> Iterator[bytes]:
    total = members = 0
    machine = None
    try:
        while data := file.read(_PIECE):
            while data:
                if machine is None:
                    machine = zlib.decompressobj(_GZIP)
                    members += 1
                    if (members - 2) * _PIECE > total:
                        raise ReplayError("it is made of too many empty parts.")
                piece = machine.decompress(data, _PIECE)
                data = machine.unconsumed_tail
                total += len(piece)
                if total > limit:
                    raise ReplayError(
                        f"it unpacks to more than {limit} bytes, too much for its size."
                    )
                if machine.eof:
                    data, machine = machine.unused_data, None
                if piece:
                    yield piece
    except zlib.error as problem:
        foreign = members == 1 and "header check" in str(problem)
        fault = "it is not a gzip file" if foreign else "its gzip data is damaged"
        raise ReplayError(f"{fault}.") from problem
    except OSError as problem:
        raise ReplayError(f"it cannot be read: {_reason(problem)}.") from problem
    if machine is not None:
        raise ReplayError("its gzip data ends too early; the file was cut short.")
