"""Takes what processes played out of shared memory, straight to the learner's device.

The memory is registered with the device, which then reads it by itself: no copy on the host, and
no thread of the learner's that makes one. Knows nothing of processes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from lanista.data.trajectory import Unrolls
from lanista.errors import LanistaError
from lanista.rollout.inference.device_transfer import Lane
from lanista.rollout.launchers.shared_memory import Segment


class ChunksToDevice:
    """A lane to a GPU, and the memory that it reads."""

    def __init__(self, device: torch.device) -> None:
        self._lane = Lane(device)

    def pin(self, segment: Segment) -> None:
        """Let the GPU read a segment by itself."""
        with torch.cuda.device(self._lane.device):
            _check(_runtime().cudaHostRegister(_address(segment), segment.size, 0))

    def unpin(self, segment: Segment) -> None:
        """Take a segment back from the GPU, which must not have it when it is unmapped."""
        with torch.cuda.device(self._lane.device):
            _check(_runtime().cudaHostUnregister(_address(segment)))

    def taken(self, unrolls: Unrolls) -> Unrolls:
        """Return unrolls on the GPU; when this returns, it has read them."""
        own = {name: column.copy() for name, column in unrolls.extras.items()}
        return self._lane.send(replace(unrolls, extras=own))


def _runtime() -> Any:
    return torch.cuda.cudart()  # type: ignore[no-untyped-call]


def _address(segment: Segment) -> int:
    return int(segment.buffer.ctypes.data)


def _check(code: Any) -> None:
    if int(code):
        raise LanistaError(
            f"The GPU cannot read what processes played: {torch.cuda.CudaError(int(code))}; set "
            "rollouts.processes_on_gpu to false, or have fewer rollouts.workers."
        )
