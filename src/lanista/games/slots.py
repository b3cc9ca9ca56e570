"""What games written in Python keep for their slots, and what they refuse: one way for all of them.

Holds the arrays of the contract and the words for answers that cannot be taken. Knows nothing of
rules, views or how a match goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import GameError, Spec

Match = TypeVar("Match")


class Results:
    """What has come of each seat's match, `[slots, seats]`, as the contract names it."""

    def __init__(self, slots: int, seats: int) -> None:
        shape = (slots, seats)
        self.reward = np.zeros(shape, np.float32)
        self.shaping = np.zeros(shape, np.float32)
        self.returns = np.zeros(shape, np.float32)
        self.score = np.zeros(shape, np.float32)
        self.done = np.zeros(shape, np.bool_)
        self.cut_off = np.zeros(shape, np.bool_)
        self.place = np.zeros(shape, np.int32)

    def results(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays, to be cleared, or kept and put back."""
        paid = (self.reward, self.shaping, self.returns, self.score)
        return (*paid, self.done, self.cut_off, self.place)


def started(matches: Sequence[Match | None], slot: int) -> Match:
    """Return the match in a slot; refuse a slot that is not there or has none."""
    if not 0 <= slot < len(matches):
        raise GameError(f"slot is {slot}; this game has slots 0 to {len(matches) - 1}.")
    match = matches[slot]
    if match is None:
        raise GameError(f"Slot {slot} has no match; start one.")
    return match


def refuse_rows(rows: Sequence[int], ready: int) -> None:
    """Refuse rows that are named twice or were not among the `ready` ones."""
    if len(set(rows)) != len(rows):
        raise GameError("A row was answered twice in one call.")
    for row in rows:
        if not 0 <= row < ready:
            raise GameError(f"Row {row} was answered, but {ready} are ready.")


def gone(row: int) -> GameError:
    """Return the error of a row that cannot be answered any more."""
    return GameError(
        f"Row {row} was answered already or its match is another now; ask for decisions() again."
    )


def illegal(spec: Spec, head: int, choice: int, seat: int, match: int, turn: int) -> GameError:
    """Return the error of a choice that the mask does not allow."""
    return GameError(
        f"Choice {choice} of head {spec.heads[head].name!r} is not legal for seat {seat} of match "
        f"{match} at turn {turn}; see the decision's mask."
    )
