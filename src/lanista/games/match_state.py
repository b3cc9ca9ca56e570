"""One match of a game in Python, as its slot holds it, and a copy to be played on.

Knows nothing of rules: the state is the game's own, and so is how it is copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lanista.games.hooks import View
from lanista.games.streams import Stream


@dataclass(eq=False)
class Match:
    """One match in a slot."""

    id: int
    deal: int
    state: Any
    rng: Stream
    turn: int = 0
    playing: bool = True
    views: dict[int, View] = field(default_factory=dict)
    answers: dict[int, list[int]] = field(default_factory=dict)
    history: list[int] = field(default_factory=list)
    """Every answer so far, flat, by turn and seat."""
    resampled: bool = False

    def copied(self, state: Any, rng: Stream) -> Match:
        """Return the same match with a copy of its state and of the chance that is to come."""
        return Match(
            self.id,
            self.deal,
            state,
            rng,
            self.turn,
            self.playing,
            {**self.views},
            {**self.answers},
            [*self.history],
            self.resampled,
        )
