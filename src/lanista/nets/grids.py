"""Where the grid of an observation lies: the planes of its cells, and the scales of a network.

Cells are those of groups that say they are a grid, and of fields with planes, all of the same rows
and columns. A category is a plane for each value. Whole numbers and plain arrays, for torch and
NumPy alike; columns are those of a flat observation (`nets/boards`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games.contract import Field, Observation

MOST_COLUMNS = 1 << 20
"""The most numbers that a grid may have: planes × rows × columns."""
_HALVINGS = 2
_LEAST_SIDE = 4
"""A grid whose smaller side has fewer cells is not halved."""

Side = tuple[int, int]


def grid_groups(observation: Observation) -> tuple[str, ...]:
    """Return the groups whose entries are the cells of the grid."""
    return tuple(group.name for group in observation.groups if group.grid)


def grid_of(observation: Observation) -> tuple[int, int, int]:
    """Return planes, rows and columns of the grid; refuse an observation that has none."""
    sides = {group.name: group.grid for group in observation.groups if group.grid}
    shapes = [field.planes for field in observation.fields if field.planes]
    distinct = sorted({*sides.values(), *(shape[1:] for shape in shapes)})
    if len(distinct) != 1:
        listed = ", ".join(f"{rows} x {columns}" for rows, columns in distinct) or "none"
        raise LanistaError(
            "A unet needs a game whose observation says that it is a grid (a group with `grid`, or "
            f"fields with planes), all of one size, and this one has {listed}; take another "
            "network.kind."
        )
    ((rows, columns),) = distinct
    fields = [field for field in observation.fields if field.group in sides]
    planes = sum(shape[0] for shape in shapes) + sum(field.classes or 1 for field in fields)
    if planes * rows * columns > MOST_COLUMNS:
        raise LanistaError(
            f"A grid of {planes:,} planes, {rows:,} rows and {columns:,} columns is too large: "
            f"{MOST_COLUMNS:,} numbers are the most; take another network.kind."
        )
    return planes, rows, columns


def scales_of(rows: int, columns: int) -> list[Side]:
    """Return the rows and columns of each scale, each half of the one before, rounded up."""
    sides = [(rows, columns)]
    while len(sides) <= _HALVINGS and min(sides[-1]) >= _LEAST_SIDE:
        rows, columns = sides[-1]
        sides.append(((rows + 1) // 2, (columns + 1) // 2))
    return sides


def channels_at(channels: int, scale: int) -> int:
    """Return how many channels a scale has; the coarser ones have twice as many."""
    return channels if scale == 0 else 2 * channels


def halvings(channels: int, rows: int, columns: int) -> list[Side]:
    """Return the channels of each scale with those of the next one."""
    count = len(scales_of(rows, columns))
    return list(pairwise(channels_at(channels, scale) for scale in range(count)))


def grid_columns(observation: Observation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which columns of the flat observation are on the grid, plane by plane, and which
    beside it."""
    groups = {*grid_groups(observation)}
    on_grid: list[NDArray[np.int64]] = []
    beside: list[NDArray[np.int64]] = []
    for field, first in _first_columns(observation):
        if field.classes:
            # Entry after entry, a column for each value: turned, a plane for each value.
            values = first + np.arange(field.size * field.classes).reshape(field.size, -1)
            on_grid += [values.T.ravel()] if field.group in groups else []
            beside += [] if field.group in groups else [values.ravel()]
        else:
            columns = first + np.arange(field.size)
            (on_grid if field.planes or field.group in groups else beside).append(columns)
    nothing = np.zeros(0, np.int64)
    return np.concatenate([nothing, *on_grid]), np.concatenate([nothing, *beside])


def _first_columns(observation: Observation) -> Iterator[tuple[Field, int]]:
    """Yield each field with its first column of the flat observation.

    Categories come first, by their number of classes and then in order, then numbers.
    """
    fields = observation.fields
    categories = sorted((field for field in fields if field.classes), key=lambda one: one.classes)
    at = 0
    for field in [*categories, *(field for field in fields if not field.classes)]:
        yield field, at
        at += field.size * (field.classes or 1)
