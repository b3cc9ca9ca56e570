"""Dropout that is on only where somebody learns, and draws from a stream that is given.

A network in play is the whole network whatever mode its modules are in, and the same update drops
the same units in every process and after every resume. Knows nothing of networks and of losses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import torch
from torch import Tensor, nn

_stream: ContextVar[torch.Generator | None] = ContextVar("dropout_stream", default=None)


@contextmanager
def dropping(device: torch.device, *key: int) -> Iterator[None]:
    """Let networks drop units inside, in this thread; the same `key` drops the same ones."""
    seed = int(np.random.SeedSequence([abs(word) for word in key]).generate_state(1, np.uint64)[0])
    token = _stream.set(torch.Generator(device).manual_seed(seed))
    try:
        yield
    finally:
        _stream.reset(token)


class Dropout(nn.Module):
    """Sets each number to 0 with probability `rate`, and the others to x / (1 − rate)."""

    def __init__(self, rate: float | None) -> None:
        super().__init__()
        self.rate = rate or 0.0

    @property
    def drops(self) -> bool:
        return bool(self.rate) and _stream.get() is not None

    def forward(self, x: Tensor) -> Tensor:
        if not self.rate or (stream := _stream.get()) is None:
            return x
        kept = torch.rand(x.shape, generator=stream, device=x.device) >= self.rate
        return x * kept.to(x.dtype) / (1 - self.rate)


class IdDropout(nn.Module):
    """Sets the whole embedding of an id to 0 with probability `rate`; the others stay."""

    def __init__(self, rate: float | None) -> None:
        super().__init__()
        self.rate = rate or 0.0

    def forward(self, embedded: Tensor, ids: Tensor) -> Tensor:
        """Return `embedded [N, tokens, categories, depth]`; `ids [categories]` says which drop."""
        if not self.rate or (stream := _stream.get()) is None:
            return embedded
        shape = embedded.shape[:-1]
        kept = torch.rand(shape, generator=stream, device=embedded.device) >= self.rate
        return embedded * (kept | ~ids).to(embedded.dtype)[..., None]
