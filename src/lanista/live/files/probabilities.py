"""Chances of all choices in a game file: what cannot be such is refused.

Pure functions over rows of them. Knows nothing of files.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.live.files.game_header import GameFileError

_ROUNDING = 1e-3
Floats = NDArray[np.float32]


def refuse_chances(chances: Floats, legal: NDArray[np.bool_], sizes: NDArray[Any]) -> None:
    """Refuse `chances` `[N, choices]` that are not 1 in all among each head's legal choices."""
    # What is not a number is in no interval either.
    if not ((chances >= 0) & (chances <= 1 + _ROUNDING)).all():
        raise GameFileError("its probabilities are no chances between 0 and 1")
    total = np.add.reduceat(np.where(legal, chances, 0), _starts(sizes), 1)
    if (np.abs(total - 1) > _ROUNDING).any() or (chances[~legal] > _ROUNDING).any():
        raise GameFileError("its probabilities are not those of its legal choices")


def chances_of(chances: Floats, actions: NDArray[np.int32], sizes: NDArray[Any]) -> Floats:
    """Return the chance of each whole action, `[N]`."""
    chosen: Floats = np.take_along_axis(chances, actions + _starts(sizes), 1).prod(1)
    return chosen


def refuse_contradiction(chosen: Floats, log_probs: Floats) -> None:
    """Refuse actions whose chance among all is another than the one that is kept with them."""
    if (np.abs(chosen - np.exp(log_probs)) > _ROUNDING).any():
        raise GameFileError("its probabilities and log_probs contradict each other")


def _starts(sizes: NDArray[Any]) -> NDArray[Any]:
    starts: NDArray[Any] = np.cumsum(sizes) - sizes
    return starts
