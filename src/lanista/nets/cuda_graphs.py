"""Records what a GPU has to do, and repeats it at one word instead of kernel by kernel.

What is recorded reads and writes where it did: whoever repeats it puts new numbers there first.
One recording at a time in a process. Knows nothing of what is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

import torch

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
        with _recording, context:
            self.result = work()

    def repeat(self) -> T:
        """Do it again on the current stream; what it gives is written over by the next time."""
        self.graph.replay()
        return self.result


def graph_memory() -> Any:
    """Return a pool for recordings that run one after another."""
    return torch.cuda.graph_pool_handle()
