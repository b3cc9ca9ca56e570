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
    Heard,
    Parts,
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
    *("hp", "status", "slept", "seen", "item", "lost_item", "brought", "ability"),
    *("tera", "terastallized", "speed_low", "speed_high"),
)
"""What is given back to a Pokémon that was only imitated."""


def _poke(known: Known, parts: Parts) -> None:
    side = side_of(known, parts[2])
    species, level, gender = read_details(parts[3])
    side.add(Mon("", species, level, gender))
    side.previewed = True


def _teamsize(known: Known, parts: Parts) -> None:
    side_of(known, parts[2]).size = int(parts[3])


def _showteam(known: Known, parts: Parts) -> None:
    """An open team sheet: all but the stats."""
    side = side_of(known, parts[2])
    for told in unpack("|".join(parts[3:])):
        for mon in side.mons:
            if told.species in (mon.species, mon.base) or base_of(told.species) == mon.base:
                mon.item = mon.brought = told.item
                mon.ability = told.ability
                mon.tera = told.tera
                mon.moves = dict.fromkeys(told.moves, 0)


def _switch(known: Known, parts: Parts) -> None:
    place = place_of(known, parts[2])
    if place is None:
        raise ValueError(f"{parts[2]!r} is no place")
    mon = side_of(known, parts[2]).recognise(parts[2].partition(": ")[2], parts[3])
    place.before = _memory(mon)
    place.enter(mon, known.turn, to_id(tag(parts, FROM)))
    mon.seen = True
    hp, _, _, status = read_condition(parts[4])
    mon.hp, mon.status = hp, "" if status == "fnt" else status
    if TERA in parts[3]:
        mon.tera, mon.terastallized = to_id(parts[3].partition(TERA)[2]), True
    if mon.ability:
        place.ability = ""
    event = known.begin(SWITCHED if parts[1] == "switch" else DRAGGED, place.index)
    event.species = mon.species


def _memory(mon: Mon) -> dict[str, Any]:
    return {name: getattr(mon, name) for name in REMEMBERED} | {"moves": dict(mon.moves)}


def _replace(known: Known, parts: Parts) -> None:
    """An Illusion ends: what was seen since it came in belongs to another Pokémon."""
    place = place_of(known, parts[2])
    if place is None or place.mon is None:
        raise ValueError(f"{parts[2]!r} replaces nobody")
    shown, before = place.mon, place.before
    real = side_of(known, parts[2]).recognise(parts[2].partition(": ")[2], parts[3])
    if real is shown:
        return
    real.hp, real.status, real.slept, real.seen = shown.hp, shown.status, shown.slept, True
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


def _swap(known: Known, parts: Parts) -> None:
    """Two Pokémon of a side change places."""
    place = place_of(known, parts[2])
    if place is None:
        raise ValueError(f"{parts[2]!r} is no place")
    places = side_of(known, parts[2]).places
    other = places[int(parts[3])] if parts[3].isdigit() else place_of(known, parts[3])
    if other is None or other is place:
        return
    at, to = places.index(place), places.index(other)
    places[at], places[to] = other, place
    place.index, other.index = other.index, place.index
    known.places[place.index], known.places[other.index] = place, other
    known.unordered = True


def _forme(known: Known, parts: Parts) -> None:
    """A change of forme for good."""
    mon, place = mon_of(known, parts[2]), place_of(known, parts[2])
    if mon is None:
        return
    mon.species = read_details(parts[3])[0]
    if place is not None:
        place.forme, place.types = "", ()
    mon.ability = ""
    mon.speed_low = mon.speed_high = 0
    known.unclear.add(mon)


def _move(known: Known, parts: Parts) -> None:
    found = standing(known, parts[2])
    if found is None:
        return
    place, mon = found
    move, cause = to_id(parts[3]), tag(parts, FROM)
    called = cause not in ("", "lockedmove")
    for name in UNTIL_NEXT_MOVE:
        place.volatiles.pop(name, None)
    if cause == "lockedmove":
        place.volatiles["lockedmove"] = known.turn
    else:
        place.volatiles.pop("lockedmove", None)
    if not called:
        place.last_move = move
        if move not in NEVER_OWN:
            moves = mon.moves if place.moves is None else place.moves
            moves[move] = moves.get(move, 0) + (not cause)
        heard_move(known, place, move)
    event = known.begin(MOVED, place.index)
    event.move, event.species = move, mon.species
    if "[miss]" in parts:
        event.missed = 1
    if "[notarget]" in parts:
        event.failed = 1
    _aim(known, event, parts[4] if len(parts) > 4 else "")


def _aim(known: Known, event: Event, target: str) -> None:
    if target[:2] in known.names and target[2:3] not in ("", ":"):
        place = place_of(known, target)
        event.target = place.index if place is not None else -1


def _cant(known: Known, parts: Parts) -> None:
    mover, reason = parts[2], parts[3]
    if reason.startswith("ability: "):
        holder = mon_of(known, mover)
        if holder is not None:
            credit_ability(known, holder, effect_of(reason))
        # An ability that stops another's move is named with its holder; the mover comes after.
        mover = tag(parts, OF) or mover
    found = standing(known, mover)
    if found is None:
        return
    place, mon = found
    if reason == "slp":
        mon.slept += 1
    place.volatiles.pop("mustrecharge", None)
    event = known.begin(KEPT_FROM_MOVING, place.index)
    event.species = mon.species
    if len(parts) > 4 and not parts[4].startswith("["):
        event.move = to_id(parts[4])
        if event.move not in NEVER_OWN and place.moves is None:
            mon.moves.setdefault(event.move, 0)


def _faint(known: Known, parts: Parts) -> None:
    found = standing(known, parts[2])
    if found is None:
        return
    place, mon = found
    known.set_hp(mon, 0, place)
    mon.status = ""
    mon.terastallized = False
    known.event().fell[place.index] = 1
    place.clear(known.turn)
    for partner in side_of(known, parts[2]).places:
        partner.volatiles.pop("commanding", None)
        partner.volatiles.pop("commanded", None)


def _turn(known: Known, parts: Parts) -> None:
    known.turn = int(parts[2])
    known.turn_over = True
    known.unordered = False
    known.acted.clear()
    known.unclear.clear()
    for place in known.places:
        place.single.clear()


def _gap(known: Known, parts: Parts) -> None:
    """An empty line: before a turn's first line, and before what the turn's end does."""
    known.gap = not known.turn_over


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
