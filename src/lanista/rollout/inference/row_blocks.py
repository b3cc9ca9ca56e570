"""Runs tensor work in blocks of a fixed number of rows.

A matrix product, or an `exp` over a flat array, rounds a row differently with the number of rows
around it. In a block of fixed size a row's result depends neither on its company nor on its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

BLOCK = 64
"""Rows of a block of fixed players. A multiple of 32, so that vectorised loops leave no rest that
is computed otherwise; docs/guides/evaluation.md says what other sizes cost."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread meanwhile: with more, a product is cut up by how many there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


Work = Callable[..., tuple[Tensor, ...]]
"""Tensors of as many rows in, tensors of as many rows out."""


def in_blocks(work: Work, size: int, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Return `work` of `inputs` computed `size` rows at a time: for networks."""
    rows, filled = len(inputs[0]), _filled(size, inputs)
    outputs_by_block = [
        work(*(tensor[at : at + size] for tensor in filled))
        for at in range(0, len(filled[0]), size)
    ]
    return tuple(torch.cat(column)[:rows] for column in zip(*outputs_by_block, strict=True))


def in_whole_blocks(work: Work, size: int, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Return `work` of `inputs` filled up to whole blocks, in one call.

    For what is computed number by number and row by row: it needs no fixed number of rows, only
    that no loop leaves a rest.
    """
    rows = len(inputs[0])
    return tuple(output[:rows] for output in work(*_filled(size, inputs)))


def _filled(size: int, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return `inputs` in whole blocks; zeros, which are valid observations and masks, are added."""
    rows = len(inputs[0])
    whole = max(1, -(-rows // size)) * size
    filled = []
    for column in inputs:
        padded = column.new_zeros((whole, *column.shape[1:]))
        padded[:rows] = column
        filled.append(padded)
    return filled
