"""What a bot sees of the field: fighters and their orders, out of a seat's own tracker.

Guesses what the seat has not been told by the species alone. Never looks at the other seat.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanista.games.showdown.protocol.battle_state import FOE, Known, Mon, Place
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.scripted.damage import Fighter, Ground
from lanista.games.showdown.scripted.fighters import (
    fighter_of_foe,
    fighter_of_party,
    ground_between,
)


@dataclass(frozen=True)
class Standing:
    """A fighter and where it stands."""

    fighter: Fighter
    place: Place | None
    """None for one on the bench."""


def ground_of(tracker: Tracker) -> Ground:
    """Return what holds for everybody."""
    return ground_between(tracker.battle)


def own_fighter(tracker: Tracker, at: int) -> Fighter:
    """Return one of the seat's own Pokémon by its place in the party."""
    return fighter_of_party(tracker.battle, tracker.own, at)


def foes(tracker: Tracker) -> list[Standing | None]:
    """Return the opponent's Pokémon by place on the field; None where nobody stands."""
    return [
        Standing(foe_fighter(tracker.battle, place.mon, place), place)
        if place.mon is not None and place.mon.hp > 0
        else None
        for place in tracker.battle.sides[FOE].places
    ]


def foe_fighter(battle: Known, mon: Mon, place: Place | None = None) -> Fighter:
    """Return an opponent's Pokémon as an ordinary one of its species."""
    return fighter_of_foe(battle, mon, place)
