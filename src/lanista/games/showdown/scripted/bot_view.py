"""What a bot sees of the field: fighters and their orders, out of a seat's own tracker.

Guesses what the seat has not been told by the species alone. Never looks at the other seat.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanista.games.showdown.protocol.battle_state import FOE, FULL, OWN, Known, Mon, Place
from lanista.games.showdown.protocol.requests import OwnMon
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.scripted.damage import Fighter, Ground, guessed_stats

SCREENS = frozenset(("reflect", "lightscreen", "auroraveil"))


@dataclass(frozen=True)
class Standing:
    """A fighter and where it stands."""

    fighter: Fighter
    place: Place | None
    """None for one on the bench."""


def ground_of(tracker: Tracker) -> Ground:
    """Return what holds for everybody."""
    battle = tracker.battle
    doubles = len(battle.sides[OWN].places) > 1
    return Ground(battle.weather, battle.terrain, doubles)


def own_fighter(tracker: Tracker, at: int) -> Fighter:
    """Return one of the seat's own Pokémon by its place in the party."""
    battle, mon = tracker.battle, tracker.own.party[at]
    places = battle.sides[OWN].places
    place = places[at] if at < len(places) else None
    born = dex().species_of(mon.species).types
    types = (mon.tera,) if mon.terastallized and mon.tera != "stellar" else born
    if place is not None and place.mon is not None:
        types = place.current_types() or types
    return Fighter(
        species=mon.species,
        level=mon.level,
        types=types,
        born=born,
        stats=tuple(mon.stats),
        most_hp=max(mon.most, 1),
        hp=mon.hp / FULL,
        boosts=tuple(place.boosts) if place is not None else (0,) * 7,
        status=mon.status,
        item=mon.item,
        ability=mon.ability,
        terastallized=mon.terastallized,
        screens=_screens(battle, OWN),
        fallen=_fallen(tracker.own.party),
    )


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
    species = place.species if place is not None else mon.species
    dex_entry = dex().species_of(species)
    most_hp, stats = guessed_stats(dex_entry.stats, mon.level)
    ability = (place.ability if place is not None else "") or mon.ability
    if not ability and len(dex_entry.abilities) == 1:
        ability = dex_entry.abilities[0]
    return Fighter(
        species=species,
        level=mon.level,
        types=place.current_types() if place is not None else dex_entry.types,
        born=dex_entry.types,
        stats=stats,
        most_hp=max(most_hp, 1),
        hp=mon.hp / FULL,
        boosts=tuple(place.boosts) if place is not None else (0,) * 7,
        status=mon.status,
        item=mon.item,
        ability=ability,
        terastallized=mon.terastallized,
        screens=_screens(battle, FOE),
        fallen=sum(teammate.hp <= 0 for teammate in battle.sides[FOE].mons),
    )


def _screens(battle: Known, side: int) -> frozenset[str]:
    return SCREENS & battle.sides[side].conditions.keys()


def _fallen(party: list[OwnMon]) -> int:
    return sum(mon.fainted for mon in party)
