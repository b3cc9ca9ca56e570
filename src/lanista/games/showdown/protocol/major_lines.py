"""What the major protocol lines tell: who is there, who moves, who falls, which turn it is.

Each function takes what is known and a line's parts. The lines that begin with a hyphen are in
minor_lines.py.
"""

from __future__ import annotations

from typing import Any

from lanista.games.showdown.protocol.battle_state import (
    DRAGGED,
    KEPT_FROM_MOVING,
    MOVED,
    SWITCHED,
    Event,
    Known,
    Mon,
    base_of,
    read_condition,
    read_details,
)
from lanista.games.showdown.protocol.effects import UNTIL_NEXT_MOVE
from lanista.games.showdown.protocol.naming import (
    FROM,
    OF,
    Fields,
    Heard,
    credit_ability,
    effect_of,
    mon_of,
    place_of,
    side_of,
    standing,
    tag,
)
from lanista.games.showdown.protocol.speeds import heard_move
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.games.showdown.teams.sets import unpack

NEVER_OWN = frozenset(("struggle", "recharge"))
"""Moves that everybody has when there is nothing else."""
TERA = "tera:"
REMEMBERED = (
    *("hp", "status", "slept", "appeared", "item", "lost_item", "brought", "ability"),
    *("tera", "terastallized", "speed_low", "speed_high"),
)
"""What is given back to a Pokémon that was only imitated."""


def _poke(battle: Known, fields: Fields) -> None:
    side = side_of(battle, fields[2])
    species, level, gender = read_details(fields[3])
    side.add(Mon("", species, level, gender))
    side.previewed = True


def _teamsize(battle: Known, fields: Fields) -> None:
    side_of(battle, fields[2]).size = int(fields[3])


def _showteam(battle: Known, fields: Fields) -> None:
    """An open team sheet: all but the stats."""
    side = side_of(battle, fields[2])
    for mon_set in unpack("|".join(fields[3:])):
        for mon in side.mons:
            if mon_set.species in (mon.species, mon.base) or base_of(mon_set.species) == mon.base:
                mon.item = mon.brought = mon_set.item
                mon.ability = mon_set.ability
                mon.tera = mon_set.tera
                mon.moves = dict.fromkeys(mon_set.moves, 0)


def _switch(battle: Known, fields: Fields) -> None:
    place = place_of(battle, fields[2])
    if place is None:
        raise ValueError(f"{fields[2]!r} is no place")
    mon = side_of(battle, fields[2]).recognise(fields[2].partition(": ")[2], fields[3])
    place.before = _memory(mon)
    place.enter(mon, battle.turn, to_id(tag(fields, FROM)))
    mon.appeared = True
    hp, _, _, status = read_condition(fields[4])
    mon.hp, mon.status = hp, "" if status == "fnt" else status
    if TERA in fields[3]:
        mon.tera, mon.terastallized = to_id(fields[3].partition(TERA)[2]), True
    if mon.ability:
        place.ability = ""
    event = battle.begin(SWITCHED if fields[1] == "switch" else DRAGGED, place.index)
    event.species = mon.species


def _memory(mon: Mon) -> dict[str, Any]:
    return {name: getattr(mon, name) for name in REMEMBERED} | {"moves": dict(mon.moves)}


def _replace(battle: Known, fields: Fields) -> None:
    """An Illusion ends: what was seen since it came in belongs to another Pokémon."""
    place = place_of(battle, fields[2])
    if place is None or place.mon is None:
        raise ValueError(f"{fields[2]!r} replaces nobody")
    shown, before = place.mon, place.before
    real = side_of(battle, fields[2]).recognise(fields[2].partition(": ")[2], fields[3])
    if real is shown:
        return
    real.hp, real.status, real.slept, real.appeared = shown.hp, shown.status, shown.slept, True
    for move, uses in shown.moves.items():
        if uses > before["moves"].get(move, -1):
            fresh = uses - before["moves"].get(move, 0)
            real.moves[move] = real.moves.get(move, 0) + fresh
    if shown.item != before["item"]:
        real.item, real.lost_item, real.brought = shown.item, shown.lost_item, shown.brought
    if shown.terastallized != before["terastallized"]:
        real.tera, real.terastallized = shown.tera, True
    for name, value in before.items():
        setattr(shown, name, value)
    real.ability = "illusion"
    place.mon = real


def _swap(battle: Known, fields: Fields) -> None:
    """Two Pokémon of a side change places."""
    place = place_of(battle, fields[2])
    if place is None:
        raise ValueError(f"{fields[2]!r} is no place")
    places = side_of(battle, fields[2]).places
    other = places[int(fields[3])] if fields[3].isdigit() else place_of(battle, fields[3])
    if other is None or other is place:
        return
    at, to = places.index(place), places.index(other)
    places[at], places[to] = other, place
    place.index, other.index = other.index, place.index
    battle.places[place.index], battle.places[other.index] = place, other
    battle.unordered = True


def _forme(battle: Known, fields: Fields) -> None:
    """A change of forme for good."""
    mon, place = mon_of(battle, fields[2]), place_of(battle, fields[2])
    if mon is None:
        return
    mon.species = read_details(fields[3])[0]
    if place is not None:
        place.forme, place.types = "", ()
    mon.ability = ""
    mon.speed_low = mon.speed_high = 0
    battle.unclear.add(mon)


def _move(battle: Known, fields: Fields) -> None:
    place_and_mon = standing(battle, fields[2])
    if place_and_mon is None:
        return
    place, mon = place_and_mon
    move, cause = to_id(fields[3]), tag(fields, FROM)
    called = cause not in ("", "lockedmove")
    for name in UNTIL_NEXT_MOVE:
        place.volatiles.pop(name, None)
    if cause == "lockedmove":
        place.volatiles["lockedmove"] = battle.turn
    else:
        place.volatiles.pop("lockedmove", None)
    if not called:
        place.last_move = move
        if move not in NEVER_OWN:
            moves = mon.moves if place.moves is None else place.moves
            moves[move] = moves.get(move, 0) + (not cause)
        heard_move(battle, place, move)
    event = battle.begin(MOVED, place.index)
    event.move, event.species = move, mon.species
    if "[miss]" in fields:
        event.missed = 1
    if "[notarget]" in fields:
        event.failed = 1
    _aim(battle, event, fields[4] if len(fields) > 4 else "")


def _aim(battle: Known, event: Event, target: str) -> None:
    if target[:2] in battle.names and target[2:3] not in ("", ":"):
        place = place_of(battle, target)
        event.target = place.index if place is not None else -1


def _cant(battle: Known, fields: Fields) -> None:
    mover, reason = fields[2], fields[3]
    if reason.startswith("ability: "):
        holder = mon_of(battle, mover)
        if holder is not None:
            credit_ability(battle, holder, effect_of(reason))
        # An ability that stops another's move is named with its holder; the mover comes after.
        mover = tag(fields, OF) or mover
    place_and_mon = standing(battle, mover)
    if place_and_mon is None:
        return
    place, mon = place_and_mon
    if reason == "slp":
        mon.slept += 1
    place.volatiles.pop("mustrecharge", None)
    event = battle.begin(KEPT_FROM_MOVING, place.index)
    event.species = mon.species
    if len(fields) > 4 and not fields[4].startswith("["):
        event.move = to_id(fields[4])
        if event.move not in NEVER_OWN and place.moves is None:
            mon.moves.setdefault(event.move, 0)


def _faint(battle: Known, fields: Fields) -> None:
    place_and_mon = standing(battle, fields[2])
    if place_and_mon is None:
        return
    place, mon = place_and_mon
    battle.set_hp(mon, 0, place)
    mon.status = ""
    mon.terastallized = False
    battle.event().fell[place.index] = 1
    place.clear(battle.turn)
    for partner in side_of(battle, fields[2]).places:
        partner.volatiles.pop("commanding", None)
        partner.volatiles.pop("commanded", None)


def _turn(battle: Known, fields: Fields) -> None:
    battle.turn = int(fields[2])
    battle.turn_over = True
    battle.unordered = False
    battle.acted.clear()
    battle.unclear.clear()
    for place in battle.places:
        place.single.clear()


def _gap(battle: Known, fields: Fields) -> None:
    """An empty line: before a turn's first line, and before what the turn's end does."""
    battle.gap = not battle.turn_over


LINES: dict[str, Heard] = {
    "poke": _poke,
    "teamsize": _teamsize,
    "showteam": _showteam,
    "switch": _switch,
    "drag": _switch,
    "replace": _replace,
    "swap": _swap,
    "detailschange": _forme,
    "move": _move,
    "cant": _cant,
    "faint": _faint,
    "turn": _turn,
    "": _gap,
}
QUIET = frozenset(
    (
        # Who plays what, by which rules.
        *("player", "gametype", "gen", "tier", "rated", "rule", "clearpoke", "teampreview"),
        *("start",),
        # Talk, pages and clocks.
        *("j", "J", "join", "l", "L", "leave", "n", "N", "name", "c", "c:", "chat", "raw"),
        *("html", "uhtml", "uhtmlchange", "inactive", "inactiveoff", "t:"),
        *("message", "-message", "-hint", "debug", "error", "bigerror", "request", "title"),
        *("init", "deinit", "expire", "askreg"),
        # How it ends is told apart from the lines.
        *("win", "tie", "upkeep"),
    )
)
"""Lines that say nothing an observation needs."""
