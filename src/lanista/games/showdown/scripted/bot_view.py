"""What a bot sees of the field: fighters and their orders, out of a seat's own tracker.

Guesses what the seat has not been told by the species alone. Never looks at the other seat.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanista.games.showdown.protocol.battle_state import FOE, Known, Mon, Place
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.scripted.damage import Fighter, Ground
from lanista.games.showdown.scripted.fighters import (
    ground_between,
    sheet_of_foe,
    sheet_of_party,
)
from lanista.games.showdown.scripted.reckoning import Air, Sheet, air


@dataclass(slots=True)
class Standing:
    """A fighter and where it stands."""

    sheet: Sheet
    place: Place

    @property
    def fighter(self) -> Fighter:
        """The fighter itself."""
        return self.sheet.fighter


def ground_of(tracker: Tracker) -> Ground:
    """Return what holds for everybody."""
    return ground_between(tracker.battle)


def air_of(tracker: Tracker) -> Air:
    """Return the same as it is reckoned with."""
    return air(ground_of(tracker))


def own_sheet(tracker: Tracker, at: int) -> Sheet:
    """Return one of the seat's own Pokémon by its place in the party."""
    return sheet_of_party(tracker.battle, tracker.own, at)


def foes(tracker: Tracker) -> list[Standing | None]:
    """Return the opponent's Pokémon by place on the field; None where nobody stands."""
    return [
        Standing(foe_sheet(tracker.battle, place.mon, place), place)
        if place.mon is not None and place.mon.hp > 0
        else None
        for place in tracker.battle.sides[FOE].places
    ]


def foe_sheet(battle: Known, mon: Mon, place: Place | None = None) -> Sheet:
    """Return an opponent's Pokémon as an ordinary one of its species."""
    return sheet_of_foe(battle, mon, place)
