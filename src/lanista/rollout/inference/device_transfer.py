"""The way of an actor's rows to its device and back: one wait a step, and no other.

Rows are gathered into pinned memory that is kept, copied over, judged and drawn there, and what a
trajectory needs comes back in one piece. Each worker has a lane with a stream of its own, so that
workers in several threads, and a learner, overlap. On the CPU the same code runs without either.
Knows nothing of policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any
from weakref import finalize

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.data.trajectory import ALL, Unrolls, moved, to_tensor
from lanista.nets.cuda_graphs import Recording, graph_memory
from lanista.rollout.rows import copy_rows

STEP = 4096
"""Recorded work is made for multiples of so many rows, or for a power of two below."""
FEWEST = 256
"""Rows that it is made for at least."""
_idle: dict[torch.device, list[torch.cuda.Stream]] = {}
"""Streams that a lane had and nobody has now."""

Rows = dict[str, Tensor]
"""Tensors of as many rows, by name."""


@dataclass(frozen=True)
class Found:
    """What was worked out on a device, a row for each decision."""

    numbers: Tensor
    """`[rows, ...]` int32: all that is needed at once; floats as their bits."""
    logits: Tensor
    """`[rows, choices]`, and some that nobody asked for after them, as of the mask."""
    mask: Tensor
    state: Tensor | None = None
    """A recurrent policy's state after the decision."""


Kinds = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]
"""What a row has, by name: its shape and type."""
Work = Callable[[Rows, Tensor | float], Found]
"""Takes what was gathered, and the temperature."""


class Lane:
    """Pinned memory, a stream and graphs' memory for all who act in one thread.

    They act one after another, and each waits with `down` for what it found, so nothing of one is
    under way when the next gathers.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._pinned: dict[tuple[str, tuple[int, ...], Any], tuple[Tensor, NDArray[Any]]] = {}
        self._stream: torch.cuda.Stream | None = None
        self.quiet = False
        """Whoever waits leaves the core to others; it hears a little later that all is done."""

    @contextmanager
    def here(self, *, wait: bool) -> Iterator[None]:
        """Work on the lane's stream; `wait` for the default one unless all that is read was there
        when the lane last waited, or was written on the lane itself."""
        with self.own_stream():
            if wait:
                self.wait()
            yield

    def wait(self) -> None:
        """Let what comes later on the lane see all that the default stream was told so far."""
        if self._stream is not None:  # A new one waits by itself.
            self._stream.wait_stream(torch.cuda.default_stream(self.device))

    def own_stream(self) -> AbstractContextManager[Any]:
        """Work on the lane's stream, whatever others do."""
        if self.device.type != "cuda":
            return nullcontext()
        if self._stream is None:
            self._stream = self._free_stream()
            self.wait()
        return torch.cuda.stream(self._stream)

    def _free_stream(self) -> torch.cuda.Stream:
        """Return a stream that no other lane has, until this lane is gone.

        Torch has 32 of them and hands them out in turn, also while they are in use.
        """
        idle = _idle.setdefault(self.device, [])
        try:
            stream = idle.pop()
        except IndexError:
            # First in line: its kernels are small, and somebody waits for them.
            stream = torch.cuda.Stream(self.device, priority=-1)  # type: ignore[no-untyped-call]
        finalize(self, idle.append, stream).atexit = False
        return stream

    @cached_property
    def graph_memory(self) -> Any:
        """Where recorded work keeps what it finds: one runs at a time, so all share it."""
        return graph_memory()

    def gather(self, sources: Mapping[str, NDArray[Any]], rows: NDArray[Any] | None = None) -> Rows:
        """Return `rows` of each source, or all of it, in the memory kept under its name."""
        gathered, pairs = {}, []
        for name, source in sources.items():
            many = len(source) if rows is None else len(rows)
            gathered[name], array = self.room(name, many, source.shape[1:], source.dtype)
            pairs.append((source, array))
        copy_rows(pairs, rows)
        return gathered

    def room(
        self, name: str, rows: int, shape: tuple[int, ...], dtype: torch.dtype | np.dtype[Any]
    ) -> tuple[Tensor, NDArray[Any]]:
        """Return the memory kept under `name`, as a tensor and as an array."""
        memory = self._pinned.get((name, shape, dtype))
        if memory is None or len(memory[1]) < rows:
            kind = dtype if isinstance(dtype, torch.dtype) else _torch_type(dtype)
            pinned = self.device.type == "cuda"
            tensor = torch.empty((rows, *shape), dtype=kind, pin_memory=pinned)
            memory = self._pinned[name, shape, dtype] = tensor, tensor.numpy()
        return memory[0][:rows], memory[1][:rows]

    def empty(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return an array that goes to the device without being copied first."""
        kind, pinned = _torch_type(np.dtype(dtype)), self.device.type == "cuda"
        return torch.empty(shape, dtype=kind, pin_memory=pinned).numpy()

    def pick(
        self, columns: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]
    ) -> dict[str, Tensor]:
        """Return these rows of columns, which lie in memory of `empty`, on the device: they are
        taken there, where it costs nothing."""
        with self.own_stream():
            index = to_tensor(rows, self.device)
            there = {
                name: to_tensor(column, self.device).index_select(0, index)
                for name, column in columns.items()
            }
        self.settle()
        return there

    def up(self, gathered: Rows) -> Rows:
        """Return what was gathered, on the device; good until more is gathered."""
        return {
            name: column.to(self.device, non_blocking=True) for name, column in gathered.items()
        }

    def down(self, **outputs: Tensor | None) -> dict[str, NDArray[Any]]:
        """Wait for what was found, and return it; written over by the next call."""
        back = {}
        for name, tensor in outputs.items():
            if tensor is not None:
                shape = tensor.shape
                pinned, back[name] = self.room(f"{name} back", shape[0], shape[1:], tensor.dtype)
                pinned.copy_(tensor, non_blocking=True)
        self.settle()
        return back

    def settle(self) -> None:
        """Wait for all that the lane was told."""
        if self._stream is None:
            return
        if self.quiet:
            self._event.record(self._stream)
            self._event.synchronize()
        else:
            self._stream.synchronize()

    @cached_property
    def _event(self) -> torch.cuda.Event:
        return torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]

    def send(self, unrolls: Unrolls) -> Unrolls:
        """Return unrolls on the device, for whoever works on its default stream."""
        with self.own_stream():
            there = moved(unrolls, self.device)
        if self._stream is not None:
            for column in _columns(there):
                column.record_stream(torch.cuda.default_stream(self.device))
            self.settle()
        return there


def _torch_type(dtype: np.dtype[Any]) -> torch.dtype:
    return torch.from_numpy(np.empty(0, dtype)).dtype


def _columns(unrolls: Unrolls) -> Iterator[Any]:
    return (column for name in ALL if (column := getattr(unrolls, name)) is not None)


class Lanes:
    """The lanes of one worker: one for each device, for as long as it lives."""

    def __init__(self, *lanes: Lane) -> None:
        self._of = {lane.device: lane for lane in lanes}

    def of(self, device: torch.device) -> Lane:
        """Return the lane to `device`, which has waited for what was put there so far."""
        lane = self._of.setdefault(device, Lane(device))
        lane.wait()
        return lane


class Recorded:
    """Work on a fixed number of rows as a CUDA graph: launched at once instead of one by one.

    It reads the weights where they lie, so it stays right while they change in place, and is never
    recorded again. The rows that fill it up hold what was there before, and are not looked at.
    """

    def __init__(self, work: Work, kinds: Kinds, rows: int, lane: Lane) -> None:
        """Record `work` for `rows` rows of these kinds, within `lane.here`."""
        self.rows, device = rows, lane.device
        size = sum(_bytes(rows, *kind) for kind in kinds.values())
        # In one piece, so that one call copies all; and nobody else's, so that what fills the rows
        # up was always a decision, or zero.
        pinned = device.type == "cuda"
        self._here = torch.zeros(size, dtype=torch.uint8, pin_memory=pinned)
        self._there = torch.zeros(size, dtype=torch.uint8, device=device)
        self.arrays = {
            name: column.numpy() for name, column in _cut(self._here, kinds, rows).items()
        }
        """Where rows are to be written, by name."""
        self.inputs = _cut(self._there, kinds, rows)
        self.temperature, self._set = torch.ones((), device=device), 1.0
        for _ in range(3):  # Libraries choose their ways and take their memory at first.
            work(self.inputs, self.temperature)
        self._recording = Recording(
            partial(work, self.inputs, self.temperature),
            device,
            memory=lane.graph_memory,
            own_stream=False,
        )
        self.graph, self.outputs = self._recording.graph, self._recording.result
        # Nobody else's either: others on the lane may be told what to do before it has settled.
        self._back = torch.empty_like(self.outputs.numbers, device="cpu", pin_memory=pinned)
        self.numbers = self._back.numpy()
        """What was found, after the lane has settled."""
        state = self.outputs.state
        shape = (rows, 0) if state is None else tuple(state.shape)
        self._states_back = torch.empty(shape, dtype=torch.float32, pin_memory=pinned)
        self.states = self._states_back.numpy()
        """And the states after it, of a recurrent policy."""

    def run(self, temperature: float) -> None:
        """Let `work` find what it does for what was written to `arrays`, and send it back; written
        over the next time. Until the lane has settled, nothing is to be written to `arrays`."""
        if temperature != self._set:
            self.temperature.fill_(temperature)
            self._set = temperature
        self._there.copy_(self._here, non_blocking=True)
        self._recording.repeat()
        self._back.copy_(self.outputs.numbers, non_blocking=True)
        if self.outputs.state is not None:
            self._states_back.copy_(self.outputs.state, non_blocking=True)


def _bytes(rows: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Return how many bytes so many rows take, so that what follows lies as a GPU likes it."""
    return -(-rows * math.prod(shape) * dtype.itemsize // 256) * 256


def _cut(block: Tensor, kinds: Kinds, rows: int) -> Rows:
    """Return the columns that lie in a block of bytes, one after another."""
    columns, first = {}, 0
    for name, (shape, dtype) in kinds.items():
        used = rows * math.prod(shape) * dtype.itemsize
        column = block[first : first + used].view(_torch_type(dtype))
        columns[name] = column.view(rows, *shape)
        first += _bytes(rows, shape, dtype)
    return columns


def recorded_rows(rows: int) -> int:
    """Return how many rows work is recorded for that has so many."""
    if rows > STEP:
        return -(-rows // STEP) * STEP
    return min(STEP, max(FEWEST, 1 << max(0, rows - 1).bit_length()))


class Records:
    """Recorded work by how many rows it is for: one for each `STEP` of the most that ever come,
    and a few below.

    Those are all seats of all slots, and of all workers where they ask in one place.
    """

    def __init__(self, work: Work, lane: Lane) -> None:
        self._work, self._lane = work, lane
        self._by_size: dict[tuple[int, Hashable], Recorded] = {}

    def fit(self, kinds: Kinds, rows: int) -> Recorded:
        """Return work for so many rows, or a few more; recorded the first time."""
        rows = recorded_rows(rows)
        kind = rows, tuple(kinds.items())
        if kind not in self._by_size:
            self._by_size[kind] = Recorded(self._work, kinds, rows, self._lane)
        return self._by_size[kind]
