"""Draws a match of MicroRTS as text, as seat 0 sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanista.games.microrts.boards import Boards

SIGNS = ".$bkwlhr"
"""An empty cell, a deposit, base, barracks, worker, light, heavy, ranged; seat 0 in capitals."""


def picture(boards: Boards, slot: int) -> str:
    """Return the board of a slot with its clock and stores."""
    _, _, owner, kind = boards.units_now[slot, :, :-1]
    signs = [
        SIGNS[unit].upper() if who == 1 else SIGNS[unit]
        for unit, who in zip(kind.tolist(), owner.tolist(), strict=True)
    ]
    side = boards.side
    rows = ["".join(signs[at : at + side]) for at in range(0, side * side, side)]
    first, second = boards.stock[slot].tolist()
    clock = f"tick {boards.time[slot]} of {boards.longest}   stores {first} and {second}"
    legend = "SEAT 0 in capitals   b base  k barracks  w worker  l light  h heavy  r ranged  $ ore"
    return "\n".join([clock, *rows, legend])
