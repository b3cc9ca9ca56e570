"""The recurrent states of all seats at a table, kept from decision to decision of a match.

Knows nothing of networks and of what a state says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import Decisions, Ints


class Memory:
    """The recurrent state of every seat at the table, zeros where a match begins."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._shape(0, 0)

    def recall(self, decisions: Decisions, rows: NDArray[Any]) -> NDArray[np.float32]:
        """Return each seat's state so far in its match, `[rows, size]`."""
        slot, seat = self._places(decisions, rows)
        # A turn that does not come after the last one tells of the same match begun again.
        continues = (self.match[slot, seat] == decisions.match[rows]) & (
            self.turn[slot, seat] < decisions.turn[rows]
        )
        state = self.state[slot, seat]
        state[~continues] = 0
        return state

    def remember(self, decisions: Decisions, rows: NDArray[Any], state: NDArray[Any]) -> None:
        """Keep the states after the decisions `rows`."""
        slot, seat = self._places(decisions, rows)
        self.state[slot, seat] = state
        self.match[slot, seat] = decisions.match[rows]
        self.turn[slot, seat] = decisions.turn[rows]

    def save(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays; empty where nothing is kept."""
        if not self.match.size:
            return {}
        return {"match": self.match.copy(), "turn": self.turn.copy(), "state": self.state.copy()}

    def load(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `save` gave."""
        self._shape(0, 0)
        if saved:
            self.match = np.array(saved["match"], np.int64)
            self.turn = np.array(saved["turn"], np.int32)
            self.state = np.array(saved["state"], np.float32)

    def _shape(self, slots: int, seats: int) -> None:
        self.match = np.full((slots, seats), -1, np.int64)
        self.turn = np.zeros((slots, seats), np.int32)
        self.state = np.zeros((slots, seats, self.size), np.float32)

    def _places(self, decisions: Decisions, rows: NDArray[Any]) -> tuple[Ints, Ints]:
        """Return slots and seats, and make room for those that are new."""
        slot, seat = decisions.slot[rows], decisions.seat[rows]
        slots, seats = self.match.shape
        if len(rows) and (slot.max() >= slots or seat.max() >= seats):
            match, turn, state = self.match, self.turn, self.state
            self._shape(max(slots, int(slot.max()) + 1), max(seats, int(seat.max()) + 1))
            self.match[:slots, :seats], self.turn[:slots, :seats] = match, turn
            self.state[:slots, :seats] = state
        return slot, seat
