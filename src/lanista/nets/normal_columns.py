"""Which entries of an observation are numbers that can be normalised, and their scales.

Plain arrays, so that torch and NumPy read one layout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import Observation

LEAST = 0.01
"""The least deviation, as a share of a field's scale: what hardly ever changes is no signal."""
REMEMBERED = 1e7
"""Decisions beyond which older ones count less and less."""


def number_scales(observation: Observation) -> NDArray[np.float64]:
    """Return the scale of each entry `[length]`, 0 where it is a category."""
    return np.concatenate(
        [
            np.full(field.size, 0.0 if field.classes else field.scale, np.float64)
            for field in observation.fields
        ]
    )


def normaliser(
    observation: Observation,
    mean: NDArray[np.float32],
    deviation: NDArray[np.float32],
    bound: float,
) -> Callable[[NDArray[Any]], NDArray[np.float32]]:
    """Return what normalises the numbers of views in NumPy, as nets/normalise does in torch."""
    scale = number_scales(observation)
    number, factor, most = scale > 0, scale.astype(np.float32), np.float32(bound)

    def normal(views: NDArray[Any]) -> NDArray[np.float32]:
        view = views.astype(np.float32)
        return np.where(number, np.clip((view - mean) / deviation, -most, most) * factor, view)

    return normal
