"""Which deals a learner lost lately, and when it gets one of them again.

A deal is what a game's own chance makes of a match: teams, cards, a map. A share of the matches
repeats a lost one from the same seat, so that what the learner does badly with comes up more
often. Which match does is fixed by its id and by what was lost before, which is saved with the
matches. Knows nothing of games and of who the opponents are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanista.games.streams import Stream

KEPT = 256
"""Lost deals of one worker; the oldest make room."""
_FINE = 1 << 20
_SEED = 0x105DEA15
"""Sets these draws apart from those of games and players."""

Ids = NDArray[np.int64]
Seats = NDArray[np.int32]


class LostDeals:
    """Deals and seats in which the learner lost, newest last."""

    def __init__(self, share: float, learner: int) -> None:
        """`share` of matches are to be lost ones; `learner` is its number in a seating."""
        self.share, self.learner = share, learner
        self._lost: list[tuple[int, int]] = []

    def draw(self, matches: Ids, seated: Seats) -> tuple[Ids, Seats]:
        """Return the deals of new matches, and who sits where: a lost deal is had from its seat."""
        deals, seated = matches.copy(), seated.copy()
        if not self._lost:
            return deals, seated
        for row, match in enumerate(matches.tolist()):
            stream = Stream.keyed(_SEED, match, 0, "chance")
            if stream.below(_FINE) >= self.share * _FINE:
                continue
            deal, seat = self._lost[stream.below(len(self._lost))]
            places = np.flatnonzero(seated[row] == self.learner)
            if len(places):
                deals[row] = deal
                if seat not in places:
                    seated[row] = np.roll(seated[row], seat - places[0])
        return deals, seated

    def note(self, deals: Ids, seated: Seats, returns: NDArray[np.floating]) -> None:
        """Take in matches that ended: what was won is left, what was lost to others is kept."""
        for deal, players, gained in zip(deals.tolist(), seated, returns, strict=True):
            own = np.flatnonzero(players == self.learner)
            if not 0 < len(own) < len(players):
                continue  # Against itself somebody always loses.
            for seat in own.tolist():
                lost = (deal, seat)
                self._lost = [kept for kept in self._lost if kept != lost]
                if gained[seat] < 0:
                    self._lost.append(lost)
        del self._lost[:-KEPT]

    def save(self) -> NDArray[np.int64]:
        """Return what is kept, `[lost, 2]`: deal and seat."""
        return np.array(self._lost, np.int64).reshape(-1, 2)

    def load(self, saved: NDArray[np.int64]) -> None:
        """Restore what `save` gave."""
        self._lost = [(deal, seat) for deal, seat in saved.tolist()]
