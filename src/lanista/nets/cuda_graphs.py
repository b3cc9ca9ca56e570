"""Records what a GPU has to do, and repeats it at one word instead of kernel by kernel.

What is recorded reads and writes where it did: whoever repeats it puts new numbers there first.
One recording at a time in a process. Knows nothing of what is recorded.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")
_recording = Lock()


class Recording(Generic[T]):
    """Some work as a CUDA graph, and what it gave: the same tensors each time it is repeated."""

    def __init__(
        self, work: Callable[[], T], device: torch.device, *, memory: Any, own_stream: bool
    ) -> None:
        """Record `work`, which must have run before: libraries choose their ways at first.

        `memory` is a pool that it shares with recordings that never run beside it. It is recorded
        on the current stream, or on one of its `own`, as the default stream cannot be.
        """
        self.graph = torch.cuda.CUDAGraph()
        stream = None if own_stream else torch.cuda.current_stream(device)
        # Others in other threads go on meanwhile, and take memory.
        context = torch.cuda.graph(
            self.graph, pool=memory, stream=stream, capture_error_mode="thread_local"
        )
        with _recording, _nothing_collected(), context:
            self.result = work()

    def repeat(self) -> T:
        """Do it again on the current stream; what it gives is written over by the next time."""
        self.graph.replay()
        return self.result


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Keep the garbage collector from letting go of earlier recordings: none can be recorded
    while that happens."""
    gc.collect()
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def brought_home(tensor: Tensor) -> Tensor:
    """Return a tensor with the host, when all is done that a GPU was told before.

    Whoever waits leaves the core to others. A plain copy would keep it busy, and keep other threads
    from telling the GPU anything meanwhile.
    """
    if not tensor.is_cuda:
        return tensor
    home = torch.empty_like(tensor, device="cpu", pin_memory=True)
    home.copy_(tensor, non_blocking=True)
    event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
    event.record(torch.cuda.current_stream(tensor.device))
    event.synchronize()
    return home


def graph_memory() -> Any:
    """Return a pool for recordings that run one after another.

    When all of its recordings are gone it cannot be used any more.
    """
    return torch.cuda.graph_pool_handle()
