"""What a battle log can say of a side's orders: the orders, the decisions, and what is unknown.

What did not show is `Unknown` with a reason. Who reads it off a log is spectator_witness.py; how an
order is numbered is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanista.games.showdown.protocol.battle_state import Known, Mon, Place
from lanista.games.showdown.protocol.vocabulary import dex

BRINGS = 4
"""How many of a previewed team play."""


@dataclass(frozen=True)
class Move:
    """A move, as it was chosen."""

    move: str
    target: int = 0
    """The simulator's number of the place; 0 where there is none to choose."""
    tera: bool = False
    alone: bool = False
    """Nothing else was offered: a lock, a recharge, Struggle."""


@dataclass(frozen=True)
class Switch:
    """Bring in a Pokémon, by its place among the side's `mons`."""

    mon: int


@dataclass(frozen=True)
class Revive:
    """Raise a fainted Pokémon, by its place among the side's `mons`."""

    mon: int


@dataclass(frozen=True)
class Pass:
    """Nobody there who could do anything."""


@dataclass(frozen=True)
class Bring:
    """A team preview: who leads and who follows, by their places among the side's `mons`."""

    leaders: tuple[int, ...]
    others: tuple[int, ...]


@dataclass(frozen=True)
class Unknown:
    """What was chosen did not show."""

    why: str


Order = Move | Switch | Revive | Pass | Bring | Unknown


@dataclass
class Decision:
    """One decision of one side."""

    segment: int
    """It was made when this many segments had been heard."""
    seat: int
    kind: int
    orders: list[Order]
    """One for each place; one alone at team preview."""

    @property
    def unknown(self) -> list[str]:
        """Why parts of it are unknown."""
        return [order.why for order in self.orders if isinstance(order, Unknown)]


@dataclass(frozen=True)
class Stance:
    """What decides, beside the move itself, whom a move can be aimed at."""

    ghost: bool
    stellar: bool
    healblocked: bool

    @classmethod
    def of(cls, place: Place) -> Stance:
        """Return the stance of who is in a place."""
        ghost = "ghost" in place.current_types()
        return cls(ghost, place.species == "terapagosstellar", "healblock" in place.volatiles)

    def aim(self, move: str) -> str:
        """Return what a request says of whom a move can be aimed at."""
        if move == "curse":
            return "normal" if self.ghost else "self"
        if move == "pollenpuff" and self.healblocked:
            return "adjacentFoe"
        if move == "terastarstorm" and self.stellar:
            return "allAdjacentFoes"
        return dex().targets.get(move, "normal")


@dataclass
class Told:
    """All that a log tells of its battle."""

    segments: list[list[str]]
    decisions: list[Decision]
    battle: Known
    """As it stood at the end; side 0 is seat 0's."""
    born: dict[Mon, str]
    """By Pokémon: the species it first came in as."""
    disguised: tuple[bool, bool]
    """By seat: a Pokémon may have stood there as another, so that no name can be trusted."""


def stands(place: Place) -> bool:
    """Return whether somebody who has not fainted is in a place."""
    return place.mon is not None and place.mon.hp > 0
