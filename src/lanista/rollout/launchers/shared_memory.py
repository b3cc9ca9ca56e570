"""Memory that processes share and nobody has to clear away: it has no name.

A segment is a file descriptor without a file. It is handed on over a pipe, and it is gone with the
last process that has it, however that process ended. Arrays are copied into it once and read where
they lie; only where they lie is pickled. Knows nothing of what the arrays mean.
"""

from __future__ import annotations

import math
import mmap
import os
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError

ALIGN = 64
"""Bytes that every array's start is a multiple of: a cache line, and enough for vector loads."""
SMALLEST = 1 << 16
"""Bytes of the smallest segment that an outbox makes."""

Arrays = Mapping[str, NDArray[Any]]
Entry = tuple[str, str, tuple[int, ...], int]
"""An array's name, dtype, shape and first byte."""
Layout = tuple[Entry, ...]
"""What lies where in a segment: small, and picklable."""


class Segment:
    """Some memory that other processes can be given."""

    def __init__(self, descriptor: int) -> None:
        """Map what `descriptor` stands for; it belongs to the segment from now on."""
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size
        try:
            mapped = mmap.mmap(descriptor, self.size)
        except BaseException:
            self._descriptor = -1
            os.close(descriptor)
            raise
        self.buffer: NDArray[np.uint8] = np.frombuffer(mapped, np.uint8)
        """All bytes. They stay mapped as long as anybody in this process looks at them."""

    @classmethod
    def create(cls, size: int) -> Segment:
        """Return `size` bytes of zeros; there is at least one."""
        refuse_elsewhere()
        descriptor = _nameless()
        os.ftruncate(descriptor, max(1, size))
        return cls(descriptor)

    def send(self, pipe: Connection) -> None:
        """Give the other end of `pipe`, which must call `receive`, the same memory."""
        send_handle(pipe, self._descriptor, 0)

    @classmethod
    def receive(cls, pipe: Connection) -> Segment:
        """Return what the other end of `pipe` sends; EOFError or OSError if it is gone."""
        refuse_elsewhere()
        try:
            descriptor = recv_handle(pipe)
        except RuntimeError as error:  # The system had no descriptor left for it.
            raise LanistaError(
                "Shared memory could not be taken over from another process: too many files are "
                "open; raise the limit (ulimit -n), or have fewer rollouts.workers."
            ) from error
        os.set_inheritable(descriptor, False)
        return cls(descriptor)

    def close(self) -> None:
        """Let go of the memory; arrays that still look at it stay good. Twice is once."""
        if self._descriptor < 0:
            return
        os.close(self._descriptor)
        self._descriptor = -1
        self.buffer = np.empty(0, np.uint8)

    def __del__(self) -> None:
        self.close()


def refuse_elsewhere() -> None:
    """Refuse a system on which memory cannot be handed on like this."""
    if sys.platform == "win32":
        raise LanistaError(
            "rollouts.launcher processes needs Linux or macOS here; use threads or serial."
        )


def needed(arrays: Arrays) -> int:
    """Return how many bytes `write` takes for `arrays`."""
    return sum(_whole(array.nbytes) for array in arrays.values())


def write(segment: Segment, arrays: Arrays) -> Layout:
    """Copy `arrays` into `segment`, from its first byte on; return what `read` needs."""
    entries: list[Entry] = []
    at = 0
    for name, array in arrays.items():
        if array.dtype.hasobject or array.dtype.names:
            raise ValueError(f"The array {name} is of {array.dtype}; only plain numbers are sent.")
        entries.append((name, array.dtype.str, array.shape, at))
        at += _whole(array.nbytes)
    layout = tuple(entries)
    if at > segment.size:
        raise ValueError(f"{at} bytes do not fit into a segment of {segment.size}.")
    for name, place in read(segment, layout).items():
        place[...] = arrays[name]
    return layout


def read(segment: Segment, layout: Layout) -> dict[str, NDArray[Any]]:
    """Return the arrays in `segment`: views, which change when it is written again."""
    arrays = {}
    for name, dtype, shape, at in layout:
        kind = np.dtype(dtype)
        end = at + math.prod(shape) * kind.itemsize
        arrays[name] = segment.buffer[at:end].view(kind).reshape(shape)
    return arrays


class Outbox:
    """Sends arrays over a pipe, without the pipe carrying them.

    It goes round some slots, a segment each. What was sent stays as it is until as many more have
    been sent as there are slots: it is for the two ends to agree that it is read by then.
    """

    def __init__(self, pipe: Connection, slots: int = 2) -> None:
        """Send over `pipe`; whatever else is sent there must not come between the two calls."""
        self._pipe = pipe
        self._segments: list[Segment | None] = [None] * slots
        self._next = 0

    def send(self, arrays: Arrays, note: Any = None) -> None:
        """Send `arrays`, and `note` with them, which is pickled."""
        slot = self._next
        segment, fresh = self._with_room(slot, needed(arrays))
        layout = write(segment, arrays)
        self._pipe.send((slot, layout, fresh, note))
        if fresh:
            segment.send(self._pipe)
        self._next = (slot + 1) % len(self._segments)

    def close(self) -> None:
        """Let go of all slots; what the other end has stays good there."""
        for segment in self._segments:
            if segment is not None:
                segment.close()
        self._segments = [None] * len(self._segments)

    def _with_room(self, slot: int, size: int) -> tuple[Segment, bool]:
        """Return the slot's segment, a larger one if need be, and whether it is new."""
        segment = self._segments[slot]
        if segment is not None and size <= segment.size:
            return segment, False
        if segment is not None:
            segment.close()
        # Powers of two: sizes that creep up make few segments.
        grown = Segment.create(max(SMALLEST, 1 << (size - 1).bit_length() if size else 0))
        self._segments[slot] = grown
        return grown, True


class Pins(Protocol):
    """Keeps segments where a device can read them by itself."""

    def pin(self, segment: Segment) -> None:
        """Keep it so until `unpin`."""

    def unpin(self, segment: Segment) -> None:
        """Let go of it; nothing is read from it any more."""


class Inbox:
    """The other end of an `Outbox`."""

    def __init__(self, pipe: Connection, pins: Pins | None = None) -> None:
        """Receive over `pipe`; `pins` has every segment that comes, for as long as it is used."""
        self._pipe, self._pins = pipe, pins
        self._segments: dict[int, Segment] = {}

    def receive(self) -> tuple[dict[str, NDArray[Any]], Any]:
        """Return the next arrays, as views, and the note; EOFError or OSError if nobody sends."""
        slot, layout, fresh, note = self._pipe.recv()
        if fresh:
            if slot in self._segments:
                self._let_go(self._segments.pop(slot))
            segment = Segment.receive(self._pipe)
            if self._pins is not None:
                self._pins.pin(segment)
            self._segments[slot] = segment
        return read(self._segments[slot], layout), note

    def close(self) -> None:
        """Let go of all slots; arrays that still look at them stay good."""
        for segment in self._segments.values():
            self._let_go(segment)
        self._segments.clear()

    def _let_go(self, segment: Segment) -> None:
        if self._pins is not None:
            self._pins.unpin(segment)
        segment.close()


def _nameless() -> int:
    """Return a descriptor of an empty file that no folder lists."""
    if sys.platform == "linux":
        return os.memfd_create("lanista", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _whole(size: int) -> int:
    return -(-size // ALIGN) * ALIGN
