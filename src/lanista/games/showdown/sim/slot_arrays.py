"""The arrays of a game's slots: what is seen and allowed, and what has come of it.

Fills them from a match. Knows nothing of workers, answers or the order of things.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import Spec
from lanista.games.showdown.actions.orders import Orders
from lanista.games.showdown.observation.description import write_mask
from lanista.games.showdown.sim.match import Match
from lanista.games.showdown.sim.views import SEATS, Update
from lanista.games.slots import Results


class Tables(Results):
    """Arrays `[slots, seats, …]`: those of the contract, and what is seen and allowed."""

    def __init__(self, slots: int, spec: Spec, orders: Orders, previews: int) -> None:
        super().__init__(slots, SEATS)
        shape = (slots, SEATS)
        self.material = np.zeros(shape, np.float64)
        self.mask = np.zeros((*shape, spec.choices), np.bool_)
        self.observation = np.zeros((*shape, spec.observation.length), spec.observation.dtype)
        self.unread = np.zeros(shape, np.bool_)
        """Seats whose players look at no observation."""
        self._orders, self._previews = orders, previews

    def all(self) -> tuple[NDArray[Any], ...]:
        """Return every array, to be kept and put back."""
        return (*self.results(), self.material, self.mask, self.observation)

    def clear(self, slot: int) -> None:
        """Make a slot ready for another match."""
        for array in self.all():
            array[slot] = 0

    def pay_out(self, slot: int, match: Match) -> None:
        """Let go what was paid to seats that have decided since."""
        for seat in match.answers:
            self.reward[slot, seat] = self.shaping[slot, seat] = 0

    def show(self, slot: int, match: Match) -> None:
        """Write what each seat that is asked sees and may choose, and pay the shaping.

        Shaping is what the lead in material has grown by, so it sums to zero over the seats.
        """
        for seat in range(SEATS):
            if match.asks(seat):
                if not self.unread[slot, seat]:
                    match.tracker(seat).encode(self.observation[slot, seat])
                request = match.requests[seat]
                write_mask(request, self._orders, self._previews, self.mask[slot, seat])
        first, second = match.material()
        if match.turn:
            before = self.material[slot]
            gain = (first - before[0]) - (second - before[1])
            self.shaping[slot, 0] += gain
            self.shaping[slot, 1] -= gain
        self.material[slot] = first, second

    def finish(self, slot: int, match: Match, update: Update) -> None:
        """Write a match's result, or that it has none."""
        self.done[slot] = True
        if update.ended and update.winner >= 0:
            self.returns[slot] = -1
            self.returns[slot, update.winner] = 1
        self.cut_off[slot] = not update.ended
        self.reward[slot] += self.returns[slot]
        self.score[slot] = match.standing(update) if update.ended else 0
        self.place[slot] = 1 + (self.returns[slot] < self.returns[slot].max())
