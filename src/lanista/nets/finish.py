"""The last step of a trained policy: rare choices are dropped, the rest is rounded.

R-NaD's policies keep a little of every choice, since none is held further from the others than a
threshold; Perolat et al. (2022) play them without what is below 3 % and in multiples of 1/32. Here
is the form in plain NumPy; `distribution` has the same for tensors. Knows nothing of networks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError

MOST_PARTS = 1024
GRID = 1 << 16
"""Shares of a part are compared as whole multiples of this, so that runtimes whose probabilities
differ in the last bit round alike."""


@dataclass(frozen=True)
class Finish:
    """Which choices of a head are dropped, and to what the others are rounded."""

    drop_below: float = 0.0
    """Choices with a lower probability are never played; a head's likeliest always stays."""
    parts: int = 0
    """Probabilities are multiples of one over this; 0: they are not rounded."""

    def __post_init__(self) -> None:
        if not 0 <= self.drop_below < 1:
            raise LanistaError(
                f"drop_below is {self.drop_below}; give a probability from 0 to below 1."
            )
        if type(self.parts) is not int or not 0 <= self.parts <= MOST_PARTS:
            raise LanistaError(
                f"parts is {self.parts!r}; give a whole number from 1 to {MOST_PARTS}, or 0 to "
                "round nothing."
            )

    def __call__(self, probability: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return one head's probabilities `[N, choices]` after dropping and rounding.

        Rounding takes whole parts first and gives those that are left to the largest remainders,
        the earlier of equals, which is the nearest point of the simplex with such coordinates.
        """
        likeliest = probability.max(-1, keepdims=True, initial=0.0)
        dropped = probability < np.minimum(np.float32(self.drop_below), likeliest)
        left = np.where(dropped, np.float32(0), probability).astype(np.float32)
        total = left.sum(-1, keepdims=True)
        # A head without a legal choice has nothing to share out.
        left = (left / np.where(total > 0, total, np.float32(1))).astype(np.float32)
        if not self.parts:
            return left
        units = np.floor(left.astype(np.float64) * (self.parts * GRID) + 0.5).astype(np.int64)
        whole, rest = np.divmod(units, GRID)
        # What was dropped comes last, and there are never more parts left than remainders.
        rest = np.where(left > 0, rest, -1)
        order = np.argsort(-rest, -1, kind="stable")
        rank = np.argsort(order, -1, kind="stable")
        missing = self.parts - whole.sum(-1, keepdims=True)
        rounded = np.where(total > 0, whole + (rank < missing), 0) / self.parts
        return rounded.astype(np.float32)
