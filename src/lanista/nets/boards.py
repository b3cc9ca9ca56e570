"""Where a board lies in an observation: the planes that a convolution slides over.

Worked out with whole numbers alone, for torch and NumPy alike. Columns are those of a flat
observation: categories one-hot first, by their number of classes, then numbers.
"""

from __future__ import annotations

from lanista.errors import LanistaError
from lanista.games.contract import Observation

KERNEL = 3
"""Rows and columns that a convolution sees at once."""


def channels_of(width: int) -> int:
    """Return how many channels a convolution has whose features are `width` wide."""
    return max(8, width // 4)


def board_of(observation: Observation) -> tuple[int, int, int]:
    """Return planes, rows and columns of all fields with planes; refuse other observations."""
    shapes = [field.planes for field in observation.fields if field.planes]
    if not shapes or len({shape[1:] for shape in shapes}) > 1:
        raise LanistaError(
            "A convolution needs fields with planes, all of the same rows and columns, and this "
            f"observation has {', '.join(map(str, shapes)) or 'none'}; take another network.kind."
        )
    return sum(shape[0] for shape in shapes), shapes[0][1], shapes[0][2]


def board_columns(observation: Observation) -> tuple[list[int], list[int]]:
    """Return which columns of the flat observation are on the board, and which beside it."""
    at = sum(field.size * field.classes for field in observation.fields)
    on_board: list[int] = []
    beside = list(range(at))
    for field in observation.fields:
        if field.classes:
            continue
        (on_board if field.planes else beside).extend(range(at, at + field.size))
        at += field.size
    return on_board, beside
