"""The way of an actor's rows to its device and back: one wait a step, and no other.

Rows are gathered into pinned memory that is kept, copied over, judged and drawn there, and what a
trajectory needs comes back in one piece. Each lane has a stream of its own, so that several actors
in several threads, and a learner, overlap. On the CPU the same code runs without either. Knows
nothing of policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

STEP = 4096
"""Recorded work is made for multiples of so many rows."""
_recording = Lock()

Rows = dict[str, Tensor]
"""Tensors of as many rows, by name."""


@dataclass(frozen=True)
class Found:
    """What was worked out on a device, a row for each decision."""

    numbers: Tensor
    """`[rows, ...]` int32: all that is needed at once; floats as their bits."""
    logits: Tensor
    mask: Tensor
    state: Tensor | None = None
    """A recurrent policy's state after the decision."""

    def first(self, rows: int) -> Found:
        state = None if self.state is None else self.state[:rows]
        return Found(self.numbers[:rows], self.logits[:rows], self.mask[:rows], state)


Work = Callable[[Rows, Tensor | float], Found]
"""Takes what was gathered, and the temperature."""


class Lane:
    """Pinned memory and a stream for one actor, or for several that act together."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.own_weights = False
        """Nobody changes the weights, or only within `taking`; otherwise whoever does so works on
        the default stream, which is waited for at every step."""
        self._pinned: dict[str, Tensor] = {}
        self._stream: torch.cuda.Stream | None = None

    @contextmanager
    def here(self) -> Iterator[None]:
        """Work on the lane's stream, with the weights as the host sees them."""
        with self._own_stream():
            if self._stream is not None and not self.own_weights:
                self._stream.wait_stream(torch.cuda.default_stream(self.device))
            yield

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Change the weights within: on the lane's stream, so that it need not wait for others."""
        with self._own_stream():
            self.own_weights = True
            yield

    def _own_stream(self) -> AbstractContextManager[Any]:
        if self.device.type != "cuda":
            return nullcontext()
        if self._stream is None:
            # First in line: its kernels are small, and somebody waits for them.
            self._stream = torch.cuda.Stream(  # type: ignore[no-untyped-call]
                self.device, priority=-1
            )
            self._stream.wait_stream(torch.cuda.default_stream(self.device))
        return torch.cuda.stream(self._stream)

    def gather(self, name: str, source: NDArray[Any], rows: NDArray[Any] | None = None) -> Tensor:
        """Return `rows` of `source`, or all of it, in the memory kept under `name`."""
        many = len(source) if rows is None else len(rows)
        held = self._memory(name, many, source.shape[1:], torch.from_numpy(source[:0].copy()).dtype)
        if rows is None:
            np.copyto(held.numpy(), source)
        else:
            # Any mode but the usual one writes to `out` directly.
            np.take(source, rows, 0, out=held.numpy(), mode="clip")
        return held

    def _memory(self, name: str, rows: int, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        held = self._pinned.get(name)
        if held is None or len(held) < rows or held.shape[1:] != shape or held.dtype != dtype:
            pinned = self.device.type == "cuda"
            held = torch.empty((rows, *shape), dtype=dtype, pin_memory=pinned)
            self._pinned[name] = held
        return held[:rows]

    def up(self, gathered: Rows) -> Rows:
        """Return what was gathered, on the device; good until more is gathered."""
        return {name: held.to(self.device, non_blocking=True) for name, held in gathered.items()}

    def down(self, **found: Tensor | None) -> dict[str, NDArray[Any]]:
        """Wait for what was found, and return it; written over by the next call."""
        back = {}
        for name, tensor in found.items():
            if tensor is not None:
                held = self._memory(f"{name} back", len(tensor), tensor.shape[1:], tensor.dtype)
                back[name] = held.copy_(tensor, non_blocking=True)
        if self._stream is not None:
            self._stream.synchronize()
        return {name: held.numpy() for name, held in back.items()}


class Recorded:
    """Work on a fixed number of rows as a CUDA graph: launched at once instead of one by one.

    It reads the weights where they lie, so it stays right while they change in place, and is never
    recorded again. The rows that fill it up hold what was there before, and are not looked at.
    """

    def __init__(self, work: Work, like: Rows, rows: int, device: torch.device) -> None:
        """Record `work` for `rows` rows such as those of `like`, on the current stream."""
        self.given = {
            name: torch.zeros((rows, *held.shape[1:]), dtype=held.dtype, device=device)
            for name, held in like.items()
        }
        self.temperature, self._set = torch.ones((), device=device), 1.0
        for _ in range(3):  # Libraries choose their ways and take their memory at first.
            work(self.given, self.temperature)
        stream = torch.cuda.current_stream(device)
        self.graph = torch.cuda.CUDAGraph()
        record = torch.cuda.graph(self.graph, stream=stream, capture_error_mode="thread_local")
        with _recording, record:
            self.found = work(self.given, self.temperature)

    def take(self, gathered: Rows) -> None:
        """Copy what was gathered to where it is read."""
        for name, held in gathered.items():
            self.given[name][: len(held)].copy_(held, non_blocking=True)

    def run(self, rows: int, temperature: float) -> Found:
        """Return what `work` finds for the first `rows`; written over by the next call."""
        if temperature != self._set:
            self.temperature.fill_(temperature)
            self._set = temperature
        self.graph.replay()
        return self.found.first(rows)


class Records:
    """Recorded work by how many rows it is for."""

    def __init__(self, work: Work, device: torch.device) -> None:
        self._work, self._device = work, device
        self._made: dict[tuple[int, frozenset[str]], Recorded] = {}

    def fit(self, gathered: Rows) -> Recorded:
        """Return work for so many rows, or a few more; recorded the first time."""
        rows = max(1, -(-len(gathered["observation"]) // STEP)) * STEP
        kind = rows, frozenset(gathered)
        if kind not in self._made:
            self._made[kind] = Recorded(self._work, gathered, rows, self._device)
        return self._made[kind]
