"""Who sits where in training matches: drawn from recorded meetings, as a function of match ids.

As many matches in a row as there are seats are one unit: the same company, the learner in each
seat once. Every other seat is drawn on its own. Knows nothing of why a meeting was wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lanista.games.streams import uniforms
from lanista.rollout.collector import LEARNER, Seating

_BEFORE_THE_FIRST_TURN = -1
"""The turn whose stream seats are drawn from: no action ever is."""


@dataclass(frozen=True)
class OpponentSampler:
    """Who sits where in a match, by the matches' ids."""

    numbers: tuple[int, ...]
    """The players of the opponent mix, LEARNER for the learner itself."""
    weights: tuple[float, ...]
    """How often each is, relative to the others."""
    seats: int
    seed: int

    def __call__(self, matches: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the number of the player in each seat, `[matches, seats]`."""
        seats = self.seats
        unit, own = np.divmod(matches, seats)
        nobody = np.zeros(len(matches), np.int32)
        turn = np.full(len(matches), _BEFORE_THE_FIRST_TURN, np.int32)
        drawn = uniforms(self.seed, unit, nobody, turn, max(1, seats - 1))[:, : seats - 1]
        table = np.full((len(matches), seats), LEARNER, np.int32)
        # The company takes the seats after the learner's, in the order it was drawn.
        place = (own[:, None] + np.arange(1, seats)) % seats
        met = self._who[np.searchsorted(self._border, drawn, side="right")]
        np.put_along_axis(table, place, met, axis=1)
        return table

    @cached_property
    def _border(self) -> NDArray[np.float64]:
        shares = np.asarray(self.weights, np.float64)
        return np.cumsum(shares / shares.sum())[:-1]

    @cached_property
    def _who(self) -> NDArray[np.int32]:
        return np.asarray(self.numbers, np.int32)


def seating_of(numbers: Sequence[int], weights: Sequence[float], seats: int, seed: int) -> Seating:
    """Return who sits where in a match; can be sent to another process."""
    return OpponentSampler(tuple(numbers), tuple(weights), seats, seed)
