"""What a step of a battle hands over: each player's own lines and request.

Knows the protocol only as far as to tell who may see a line. What lines mean is not its business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SEATS = 2
SPLIT = "|split|p"

Request = Mapping[str, Any]
"""A request as the simulator wrote it, read from JSON."""


@dataclass(frozen=True)
class View:
    """What one player has been told since the last update."""

    lines: tuple[str, ...]
    """Protocol lines as this player sees them, oldest first; they precede the request."""
    request: Request | None
    """What the player is asked now; None once the battle has ended."""
    refused: str = ""
    """Why the last choice could not be taken, where the request had said "maybe"."""

    @property
    def waits(self) -> bool:
        """Whether the player has nothing to choose."""
        return self.request is None or bool(self.request.get("wait"))


@dataclass(frozen=True)
class Update:
    """One battle after it moved on, or after a choice was refused."""

    slot: int
    views: tuple[View, View]
    ended: bool = False
    winner: int = -1
    """The seat that won; -1 while the battle goes on and for a tie."""
    cut_off: bool = False
    """The worker or the simulator broke down: no result, and the views are empty."""
    reason: str = ""
    """Why the battle was cut off."""


def lines_for(log: Sequence[str], seat: int) -> tuple[str, ...]:
    """Return what `seat` sees of a log; after `|split|pN` come pN's line and everybody else's."""
    visible: list[str] = []
    at = 0
    while at < len(log):
        line = log[at]
        if not line.startswith(SPLIT):
            visible.append(line)
            at += 1
            continue
        own = line == f"{SPLIT}{seat + 1}"
        shown = log[at + 1 if own else at + 2]
        if shown:
            visible.append(shown)
        at += 3
    return tuple(visible)
