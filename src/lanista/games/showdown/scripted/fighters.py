"""Makes fighters of what a seat knows, and says what they threaten and how fast they are.

Guesses what the seat has not been told by the species alone. Bots and observations share it, so
that a policy can see whatever a bot reckons with. Never looks at the other seat.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from lanista.games.showdown.protocol.battle_state import FOE, FULL, OWN, Known, Mon, Place
from lanista.games.showdown.protocol.requests import Own, OwnMon
from lanista.games.showdown.protocol.vocabulary import Move, dex
from lanista.games.showdown.scripted.damage import (
    ENOUGH_SHOWN,
    GUESSED_POWER,
    SPEED,
    Fighter,
    Ground,
    expected_share,
    guessed_stats,
)
from lanista.games.showdown.scripted.reckoning import Sheet

SCREENS = frozenset(("reflect", "lightscreen", "auroraveil"))
_NO_SCREENS = frozenset[str]()
_NO_BOOSTS = (0,) * 7


def ground_between(battle: Known) -> Ground:
    """Return what holds for everybody."""
    return Ground(battle.weather, battle.terrain, len(battle.sides[OWN].places) > 1)


def sheet_of_party(battle: Known, own: Own, at: int) -> Sheet:
    """Return one of the seat's own Pokémon by its place in the party, as it is reckoned with.

    The one of before where nothing is new: it stays with the Pokémon.
    """
    mon = own.party[at]
    places = battle.sides[OWN].places
    place = places[at] if at < len(places) else None
    born = dex().species_of(mon.species).types
    types = (mon.tera,) if mon.terastallized and mon.tera != "stellar" else born
    if place is not None and place.mon is not None:
        types = place.current_types() or types
    boosts = tuple(place.boosts) if place is not None else _NO_BOOSTS
    key = (types, boosts, _screens(battle, OWN), _fallen(own.party))
    if mon.reckoned[0] != key:
        fighter = Fighter(
            species=mon.species,
            level=mon.level,
            types=types,
            born=born,
            stats=tuple(mon.stats),
            most_hp=max(mon.most, 1),
            hp=mon.hp / FULL,
            boosts=boosts,
            status=mon.status,
            item=mon.item,
            ability=mon.ability,
            terastallized=mon.terastallized,
            screens=key[2],
            fallen=key[3],
        )
        mon.reckoned = key, Sheet(fighter)
    sheet: Sheet = mon.reckoned[1]
    return sheet


def sheet_of_foe(battle: Known, mon: Mon, place: Place | None = None) -> Sheet:
    """Return an opponent's Pokémon as an ordinary one of its species, as it is reckoned with."""
    species = place.species if place is not None else mon.species
    dex_entry = dex().species_of(species)
    ability = (place.ability if place is not None else "") or mon.ability
    if not ability and len(dex_entry.abilities) == 1:
        ability = dex_entry.abilities[0]
    types = place.current_types() if place is not None else dex_entry.types
    boosts = tuple(place.boosts) if place is not None else _NO_BOOSTS
    fallen = sum([teammate.hp <= 0 for teammate in battle.sides[FOE].mons])
    key = (
        *(species, mon.level, types, mon.hp, boosts, mon.status, mon.item, ability),
        *(mon.terastallized, _screens(battle, FOE), fallen),
    )
    if mon.reckoned[0] != key:
        most_hp, stats = guessed_stats(dex_entry.stats, mon.level)
        fighter = Fighter(
            species=species,
            level=mon.level,
            types=types,
            born=dex_entry.types,
            stats=stats,
            most_hp=max(most_hp, 1),
            hp=mon.hp / FULL,
            boosts=boosts,
            status=mon.status,
            item=mon.item,
            ability=ability,
            terastallized=mon.terastallized,
            screens=key[9],
            fallen=fallen,
        )
        mon.reckoned = key, Sheet(fighter)
    sheet: Sheet = mon.reckoned[1]
    return sheet


def fighter_of_party(battle: Known, own: Own, at: int) -> Fighter:
    """Return one of the seat's own Pokémon by its place in the party."""
    return sheet_of_party(battle, own, at).fighter


def fighter_of_foe(battle: Known, mon: Mon, place: Place | None = None) -> Fighter:
    """Return an opponent's Pokémon as an ordinary one of its species."""
    return sheet_of_foe(battle, mon, place).fighter


def threat(moves: Collection[str], attacker: Fighter, target: Fighter, ground: Ground) -> float:
    """Return what an opponent can do to a Pokémon: by moves it showed, or by its own types."""
    shares = [expected_share(attacker, move, target, ground) for move in moves]
    if len(shares) < ENOUGH_SHOWN:
        category = 1 if attacker.stats[0] >= attacker.stats[2] else 2
        for type in attacker.types:
            like = _like(type, category)
            shares.append(expected_share(attacker, "", target, ground, dex_move=like))
    return max(shares, default=0.0)


def pace(fighter: Fighter, *, tailwind: bool) -> float:
    """Return how fast a fighter acts."""
    speed = fighter.stat(SPEED) * (2 if tailwind else 1)
    if fighter.item == "choicescarf":
        speed *= 1.5
    return speed / 2 if fighter.status == "par" else speed


@lru_cache(maxsize=256)
def _like(type: str, category: int) -> Move:
    """Return an ordinary attack of a type."""
    return Move(0, type, category, GUESSED_POWER, 100, 0, steady=True)


def _screens(battle: Known, side: int) -> frozenset[str]:
    conditions = battle.sides[side].conditions
    return SCREENS.intersection(conditions) if conditions else _NO_SCREENS


def _fallen(party: list[OwnMon]) -> int:
    return sum([mon.fainted for mon in party])
