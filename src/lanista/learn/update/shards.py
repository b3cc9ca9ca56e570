"""Cuts a step's unrolls by whole matches, and works on the shares at once.

What comes out depends on the cut alone: the same in threads as one after another. Knows nothing of
losses and networks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.data.trajectory import Unrolls

Lanes = NDArray[np.int64]
Gradients = list[Tensor | None]
T = TypeVar("T")


class Threads:
    """Threads that work on shards; with one of them, whoever asks does the work.

    A shard's number says whose it is. A gradient is added up in the order in which its graph was
    made, and that order is known within one thread only.
    """

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._pools: list[ThreadPoolExecutor] = []

    def map(self, work: Callable[..., T], *columns: Iterable[Any]) -> list[T]:
        """Return the results of `work` in order, when all are there; raise the first error."""
        tasks = list(zip(*columns, strict=True))
        if self.count == 1 or len(tasks) == 1:
            return [work(*task) for task in tasks]
        if not self._pools:
            # Each has a core to itself, so none may spread over the others' cores.
            initialiser = ("shard", torch.set_num_threads, (1,))
            self._pools = [ThreadPoolExecutor(1, *initialiser) for _ in range(self.count)]
        pools = itertools.cycle(self._pools)
        futures = [pool.submit(work, *task) for pool, task in zip(pools, tasks, strict=False)]
        wait(futures)
        return [future.result() for future in futures]

    def close(self) -> None:
        """End the threads; the next work starts new ones."""
        for pool in self._pools:
            pool.shutdown()
        self._pools = []

    def __deepcopy__(self, memo: dict[int, Any]) -> Threads:
        return Threads(self.count)


def by_matches(unrolls: Unrolls, count: int) -> list[Lanes]:
    """Cut unrolls into at most `count` parts of equally many matches, each match in one part."""
    number = _match_numbers(unrolls)
    sizes = [len(group) for group in np.array_split(np.arange(int(number.max()) + 1), count)]
    return _lanes(np.repeat(np.arange(count), sizes)[number], count)


def by_decisions(unrolls: Unrolls, count: int, lanes: Lanes | None = None) -> list[Lanes]:
    """Cut `lanes`, or all unrolls, into parts of about as many decisions, each match in one."""
    number = _match_numbers(unrolls, lanes)
    index = unrolls.index if lanes is None else unrolls.index[:, lanes]
    size = np.bincount(number, weights=(index >= 0).sum(0))
    # Where a match's middle lies says which part it is in.
    middle = (np.cumsum(size) - size / 2) / size.sum()
    chosen = _lanes((middle * count).astype(np.int64)[number], count)
    return chosen if lanes is None else [lanes[some] for some in chosen]


def shuffled(unrolls: Unrolls, count: int, order: np.random.Generator) -> list[Lanes]:
    """Return all unrolls in a new order, cut into parts, each match in one part."""
    number = _match_numbers(unrolls)
    place = order.permutation(int(number.max()) + 1)[number]
    lanes = np.argsort(place, kind="stable")
    cuts = np.linspace(0, place.max() + 1, count + 1)[1:-1]
    return np.split(lanes, np.searchsorted(place[lanes], cuts))


def _match_numbers(unrolls: Unrolls, lanes: Lanes | None = None) -> Lanes:
    """Return the number of each unroll's match among all that are here."""
    first = unrolls.index[0] if lanes is None else unrolls.index[0, lanes]
    number: Lanes = np.unique(unrolls.match[first], return_inverse=True)[1]
    return number


def _lanes(group: Lanes, count: int) -> list[Lanes]:
    lanes_by_group = [np.flatnonzero(group == number) for number in range(count)]
    return [lanes for lanes in lanes_by_group if len(lanes)]


def gradients_of(loss: Tensor, parameters: Sequence[Tensor], *, keep: bool = False) -> Gradients:
    """Return the gradient of `loss`, laid out as the parameters are; `keep` its graph or not."""
    gradients = torch.autograd.grad(loss, parameters, retain_graph=keep, allow_unused=True)
    return [
        gradient
        if gradient is None or gradient.stride() == parameter.stride()
        else torch.empty_like(parameter).copy_(gradient)
        for gradient, parameter in zip(gradients, parameters, strict=True)
    ]


@torch.no_grad()
def added(total: Gradients, more: Gradients) -> Gradients:
    """Return the sum of two gradients, of which the first may be empty; `total` is changed."""
    if not total:
        return more
    both = [(a, b) for a, b in zip(total, more, strict=True) if a is not None and b is not None]
    if both:
        torch._foreach_add_([a for a, _ in both], [b for _, b in both])
    return [b if a is None else a for a, b in zip(total, more, strict=True)]
