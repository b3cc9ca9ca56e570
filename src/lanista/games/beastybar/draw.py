"""A position of Beasty Bar as a few lines of text for a terminal.

Takes plain numbers, so that either engine can be drawn. Knows no rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lanista.games.beastybar.animals import POINTS, SPECIES

Animal = tuple[int, int]
"""A species' index and its owner's seat."""

ROOM = 5


def draw(
    line: Sequence[Animal],
    hands: Sequence[Iterable[int] | None],
    bar: Iterable[Animal],
    out: Iterable[Animal],
    to_move: int | None,
    *,
    piles: Sequence[int] = (),
    turn: int | None = None,
) -> str:
    """Return a picture of a position.

    `hands` has the species in each seat's hand, None for a hand not to be shown. `piles` has how
    many cards each seat has still to draw. `to_move` is None once the match is over.
    """
    entered, gone = list(bar), list(out)
    places = [f"{SPECIES[species]}:{owner}" for species, owner in line]
    places += ["·"] * (ROOM - len(places))
    rows = [_heading(to_move, turn), f"Gate ▸ {'  '.join(places)} ◂ exit"]
    for seat, hand in enumerate(hands):
        pile = piles[seat] if piles else None
        rows += _seat_rows(seat, hand, pile, _of(seat, entered), _of(seat, gone), to_move)
    return "\n".join(rows)


def _heading(to_move: int | None, turn: int | None) -> str:
    played = "" if turn is None else f"{turn} turns played, "
    return played + ("the match is over" if to_move is None else f"seat {to_move} to play")


def _seat_rows(
    seat: int,
    hand: Iterable[int] | None,
    pile: int | None,
    entered: list[int],
    gone: list[int],
    to_move: int | None,
) -> list[str]:
    mark = "▸" if seat == to_move else " "
    cards = "not shown" if hand is None else _names(sorted(hand))
    more = "" if not pile else f" (+{pile} to draw)"
    points = sum(POINTS[species] for species in entered)
    return [
        f"{mark} seat {seat}  hand       {cards}{more}",
        f"          bar        {_names(entered)} = {points} points",
        f"          THAT'S IT  {_names(gone)}",
    ]


def _of(seat: int, animals: list[Animal]) -> list[int]:
    return [species for species, owner in animals if owner == seat]


def _names(species: Iterable[int]) -> str:
    return ", ".join(SPECIES[s] for s in species) or "—"
