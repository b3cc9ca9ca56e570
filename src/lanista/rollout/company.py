"""Who sits where in training matches: drawn from recorded meetings, as a function of match ids.

As many matches in a row as there are seats are one unit: the same company, the learner in each
seat once. Every other seat is drawn on its own. Knows nothing of why a meeting was wanted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lanista.games.streams import uniforms
from lanista.rollout.collect import LEARNER, Seating

_BEFORE_THE_FIRST_TURN = -1
"""The turn whose stream seats are drawn from: no action ever is."""


def seating_of(numbers: Sequence[int], weights: Sequence[float], seats: int, seed: int) -> Seating:
    """Return who sits where in a match, by the matches' ids.

    `numbers` are the players that can be met, LEARNER for the learner itself, `weights` how often
    each is.
    """
    shares = np.asarray(weights, np.float64)
    border = np.cumsum(shares / shares.sum())[:-1]
    who = np.asarray(numbers, np.int32)

    def seating(matches: NDArray[np.int64]) -> NDArray[np.int32]:
        unit, own = np.divmod(matches, seats)
        nobody = np.zeros(len(matches), np.int32)
        turn = np.full(len(matches), _BEFORE_THE_FIRST_TURN, np.int32)
        drawn = uniforms(seed, unit, nobody, turn, max(1, seats - 1))[:, : seats - 1]
        table = np.full((len(matches), seats), LEARNER, np.int32)
        # The company takes the seats after the learner's, in the order it was drawn.
        place = (own[:, None] + np.arange(1, seats)) % seats
        met = who[np.searchsorted(border, drawn, side="right")]
        np.put_along_axis(table, place, met, axis=1)
        return table

    return seating
