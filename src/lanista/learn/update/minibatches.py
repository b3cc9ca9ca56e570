"""Cuts unrolls into minibatches, on the learner's device where they lie there.

Nothing waits for a device, but once an epoch for how long its unrolls are. Knows nothing of losses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.data.trajectory import LANES, ROWS, Unrolls
from lanista.errors import LanistaError
from lanista.learn.settings import Learning
from lanista.nets.settings import Network

REFERENCES = ("anchor", "reference", "portfolio")
"""What a term may read of other policies."""
Minibatch = NDArray[np.int64] | None
"""The unrolls of a minibatch; None: all of them, as they lie."""


def cut_there(settings: Learning, network: Network) -> bool:
    """Return whether all that a learner reads may lie on its device, and be cut there.

    What goes by whole matches, or by the memory of a recurrent reference, is arranged by the host.
    """
    parted = settings.accumulate * settings.shards > 1 or settings.minibatches_by_noise
    remembering = network.recurrent and any(map(settings.needs, REFERENCES))
    return not (settings.joint or remembering or parted)


def recordable(settings: Learning, network: Network) -> bool:
    """Return whether an update's steps can be recorded.

    Not where the host cuts minibatches, draws what is dropped, or follows the scale of fp16.
    """
    networks = network, settings.critic_network or network
    draws = any(one.dropout or one.id_dropout for one in networks)
    return cut_there(settings, network) and not draws and settings.precision != "fp16"


def records(settings: Learning, network: Network, device: torch.device) -> bool:
    """Return whether updates are recorded; refuse where they are to be and cannot."""
    able = device.type == "cuda" and recordable(settings, network)
    if settings.graphs and not able:
        raise LanistaError(
            "learning.graphs is true, and these updates cannot be recorded: that needs a GPU, bf16 "
            "or fp32, no dropout, no eta, no q_trace joint, no accumulate, shards or "
            "minibatches_by_noise, and no recurrent policy with references; leave learning.graphs "
            "out."
        )
    return able and settings.graphs is not False


def cut(unrolls: Unrolls, minibatches: Sequence[Minibatch]) -> Iterator[Unrolls]:
    """Give the unrolls of each part in turn, in its order."""
    lanes = [minibatch for minibatch in minibatches if minibatch is not None]
    cut_on_device = _cut_there(unrolls, lanes) if isinstance(unrolls.index, Tensor) else None
    for minibatch in minibatches:
        if minibatch is None:
            yield unrolls
        else:
            yield unrolls.take(minibatch) if cut_on_device is None else next(cut_on_device)


def _cut_there(unrolls: Unrolls, minibatches: Sequence[NDArray[np.int64]]) -> Iterator[Unrolls]:
    index: Any = unrolls.index
    lengths = (index >= 0).sum(0).cpu().numpy()
    every = torch.from_numpy(np.concatenate(minibatches))
    if index.is_cuda:
        every = every.pin_memory().to(index.device, non_blocking=True)
    first = 0
    for minibatch in minibatches:
        lanes = every[first : (first := first + len(minibatch))]
        yield _select(unrolls, index.index_select(1, lanes), lanes, int(lengths[minibatch].sum()))


def _select(unrolls: Unrolls, index: Tensor, lanes: Tensor, decisions: int) -> Unrolls:
    """Return `lanes` of unrolls, whose rows `index` `[T, B]` has, as `Unrolls.take` does."""
    # Rows are renumbered, lane by lane.
    there = index.T.flatten().long()
    valid = there >= 0
    number = valid.cumsum(0) - 1
    rows = there.new_empty(decisions + 1)
    rows.index_copy_(0, torch.where(valid, number, decisions), there)  # The rest into the last.
    rows = rows[:decisions]
    chosen: dict[str, Any] = {"index": torch.where(valid, number, -1).view(index.T.shape).T}
    for names, places in ((ROWS, rows), (LANES, lanes)):
        for name in names:
            column: Any = getattr(unrolls, name)
            chosen[name] = None if column is None else column.index_select(0, places)
    return Unrolls(**chosen)
