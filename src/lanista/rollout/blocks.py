"""Runs tensor work in blocks of a fixed number of rows.

A matrix product, or an `exp` over a flat array, rounds a row differently with the number of rows
around it. In a block of fixed size a row's result depends neither on its company nor on its place.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

BLOCK = 64
"""Rows of a block of fixed players. A multiple of 32, so that vectorised loops leave no rest that
is computed otherwise; docs/evaluation.md says what other sizes cost."""


def in_blocks(
    function: Callable[..., tuple[Tensor, ...]], size: int, *inputs: Tensor
) -> tuple[Tensor, ...]:
    """Return `function` of `inputs`, all with one row an item, computed `size` rows at a time.

    The last block is filled up with zeros, which are valid observations and masks.
    """
    rows = len(inputs[0])
    whole = max(1, -(-rows // size)) * size
    filled = []
    for given in inputs:
        padded = given.new_zeros((whole, *given.shape[1:]))
        padded[:rows] = given
        filled.append(padded)
    parts = [
        function(*(padded[at : at + size] for padded in filled)) for at in range(0, whole, size)
    ]
    return tuple(torch.cat(column)[:rows] for column in zip(*parts, strict=True))
