"""Bounds of an opponent's speed, from who moved first.

A bound is of the *acting speed*: the Speed stat with what the item makes of it, before stages,
paralysis, Tailwind and a Speed raised by Protosynthesis or Quark Drive. It is drawn only where
nothing hidden can have changed the order: moves of one known priority, both chosen for this turn;
no ability that could change order (the dex says which do); and, where the opponent moved later, an
item that is known. Bounds are forgotten when the item changes. Where that cannot be said, there is
no bound.
"""

from __future__ import annotations

from functools import lru_cache

from lanista.games.showdown.protocol.battle_state import FOE, OWN, Known, Mon, Place
from lanista.games.showdown.protocol.vocabulary import dex

REORDERING = frozenset(
    (
        *("afteryou", "quash", "round", "instruct", "encore", "shelltrap", "firepledge"),
        *("waterpledge", "grasspledge", "allyswitch"),
    )
)
"""Moves after which the rest of a turn is not in order of speed."""
TOLD = frozenset(("protosynthesis", "quarkdrive"))
"""Abilities whose effect on speed is always announced."""
SCARF, SCARF_FACTOR = "choicescarf", 1.5
SPEED = 4
"""Speed's place among the stages; `boosted` counts one more."""
ROUNDING = 2
"""By how much an acting speed can be off: the simulator rounds down after every step."""


def heard_move(battle: Known, place: Place, move: str) -> None:
    """Compare a Pokémon that moves by its own choice with the opponents that moved before it."""
    if battle.unordered:
        return
    if move in REORDERING:
        battle.unordered = True
        return
    dex_move, mon = dex().move_of(move), place.mon
    if mon is None or not dex_move.steady:
        return
    own = place.index < len(battle.places) // 2
    for index, earlier, priority, paces, trick_room in battle.acted:
        if priority != dex_move.priority or (index < len(battle.places) // 2) == own:
            continue
        if earlier in battle.unclear or mon in battle.unclear:
            continue
        first, later = paces[index], paces[place.index]
        if first and later and first[0] is earlier and later[0] is mon:
            _compare(first, later, own_later=own, trick_room=trick_room)
    trick_room = "trickroom" in battle.rooms
    paces = [_pace(battle, other_place) for other_place in battle.places]
    battle.acted.append((place.index, mon, dex_move.priority, paces, trick_room))


def _compare(
    first: tuple[Mon, float], later: tuple[Mon, float], *, own_later: bool, trick_room: bool
) -> None:
    foe, factor = first if own_later else later
    own_speed = later[1] if own_later else first[1]
    if not own_later and (foe.item is None or foe.item in dex().order - {SCARF}):
        return  # It may have moved later because of what it holds.
    if own_later != trick_room:
        low = int((own_speed - ROUNDING) / factor) - ROUNDING
        foe.speed_low = max(foe.speed_low, low)
    else:
        high = int((own_speed + ROUNDING) / factor) + ROUNDING
        foe.speed_high = min(foe.speed_high or high, high)


def ability_factor(place: Place) -> float:
    """Return what Protosynthesis or Quark Drive multiplies the speed of who stands there by."""
    return 1.5 if place.volatiles.get("boosted") == SPEED + 1 else 1.0


def _pace(battle: Known, place: Place) -> tuple[Mon, float] | None:
    """Return an own Pokémon's speed, or what an opponent's is multiplied by; None if unsure."""
    mon = place.mon
    if mon is None or place.odd or place.forme or "magicroom" in battle.rooms:
        return None
    own = place.index < len(battle.places) // 2
    side = battle.sides[OWN if own else FOE]
    if "grasspledge" in side.conditions or "embargo" in place.volatiles:
        return None
    stage = place.boosts[SPEED]
    factor = (2 + stage) / 2 if stage >= 0 else 2 / (2 - stage)
    if "tailwind" in side.conditions:
        factor *= 2
    if mon.status == "par":
        factor /= 2
    factor *= ability_factor(place)
    if own:
        speed = _own_speed(battle, place, mon)
        return (mon, speed * factor) if speed else None
    ability = place.ability or mon.ability
    possible = (ability,) if ability else dex().species_of(mon.species).abilities
    return (mon, factor) if _can_be_read(possible) else None


def _own_speed(battle: Known, place: Place, mon: Mon) -> float:
    speed, item, ability = battle.own_speeds.get(mon.name, (0, "", ""))
    if place.ability or not _can_be_read((ability,)) or ability == "klutz":
        return 0
    if item == SCARF:
        return speed * SCARF_FACTOR
    return 0 if item in dex().order else speed


@lru_cache(maxsize=1 << 12)
def _can_be_read(abilities: tuple[str, ...]) -> bool:
    """Return whether none of these abilities could change the order unseen."""
    return bool(abilities) and not (set(abilities) - TOLD) & dex().order


@lru_cache(maxsize=1 << 12)
def stat_range(base: int, level: int) -> tuple[int, int]:
    """Return the least and the most that a Speed stat of this base can be."""
    least = (2 * base * level // 100 + 5) * 9 // 10
    most = ((2 * base + 31 + 63) * level // 100 + 5) * 11 // 10
    return least, most


def bounds(mon: Mon) -> tuple[int, int]:
    """Return the least and the most that an opponent's acting speed can be; 0, 0 if unknown."""
    if mon.species not in dex().species:
        return 0, 0
    low, high = stat_range(dex().species_of(mon.species).stats[5], mon.level)
    if mon.item is None or mon.item == SCARF:
        high = int(high * SCARF_FACTOR)
    if mon.item is None or (mon.item in dex().order and mon.item != SCARF):
        low //= 2
    if mon.item == SCARF:
        low = int(low * SCARF_FACTOR)
    return max(low, mon.speed_low), min(high, mon.speed_high or high)
