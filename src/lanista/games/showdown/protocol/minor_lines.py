"""What the minor protocol lines tell: HP, status, stages, items, abilities, effects.

They begin with a hyphen and follow the move or switch that brought them about. Each function takes
what is known and a line's parts. The others are in lines.py.
"""

from __future__ import annotations

from lanista.games.showdown.protocol.battle_state import BOOSTS, FOE, OWN, Known, read_condition
from lanista.games.showdown.protocol.effects import GUARDS, PROTECTS, REDIRECTS, TERRAINS
from lanista.games.showdown.protocol.naming import (
    FROM,
    OF,
    Heard,
    Parts,
    credit_ability,
    effect_of,
    mon_of,
    place_of,
    standing,
    tag,
)
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.games.showdown.protocol.volatile_lines import VOLATILE_LINES


def _hp(known: Known, parts: Parts) -> None:
    mon = mon_of(known, parts[2])
    if mon is None:
        return
    hp, _, _, status = read_condition(parts[3])
    known.set_hp(mon, hp, place_of(known, parts[2]))
    if status != "fnt":
        mon.status = status


def _status(known: Known, parts: Parts) -> None:
    mon = mon_of(known, parts[2])
    if mon is not None:
        mon.status, mon.slept = parts[3], 0


def _curestatus(known: Known, parts: Parts) -> None:
    mon = mon_of(known, parts[2])
    if mon is not None:
        mon.status, mon.slept = "", 0


def _boost(known: Known, parts: Parts) -> None:
    place = place_of(known, parts[2])
    if place is not None:
        at, amount = BOOSTS.index(parts[3]), int(parts[4])
        change = -amount if parts[1] == "-unboost" else amount
        place.boosts[at] = max(-6, min(6, place.boosts[at] + change))


def _setboost(known: Known, parts: Parts) -> None:
    place = place_of(known, parts[2])
    if place is not None:
        place.boosts[BOOSTS.index(parts[3])] = int(parts[4])


def _swapboost(known: Known, parts: Parts) -> None:
    one, other = place_of(known, parts[2]), place_of(known, parts[3])
    if one is None or other is None:
        return
    told = parts[4] if len(parts) > 4 and not parts[4].startswith("[") else ""
    for name in told.split(", ") if told else BOOSTS:
        at = BOOSTS.index(name)
        one.boosts[at], other.boosts[at] = other.boosts[at], one.boosts[at]


def _copyboost(known: Known, parts: Parts) -> None:
    one, other = place_of(known, parts[2]), place_of(known, parts[3])
    if one is not None and other is not None:
        one.boosts = list(other.boosts)


def _changeboosts(known: Known, parts: Parts) -> None:
    """All of one Pokémon's stages: forgotten, turned round, or only the good or bad ones."""
    place = place_of(known, parts[2])
    if place is None:
        return
    kind = parts[1]
    for at, stage in enumerate(place.boosts):
        if kind == "-invertboost":
            place.boosts[at] = -stage
        elif kind == "-clearboost" or (stage > 0) == (kind == "-clearpositiveboost"):
            place.boosts[at] = 0


def _clearallboost(known: Known, parts: Parts) -> None:
    for place in known.places:
        place.boosts = [0] * len(BOOSTS)


def _item(known: Known, parts: Parts) -> None:
    mon = mon_of(known, parts[2])
    if mon is None:
        return
    item, cause = to_id(parts[3]), tag(parts, FROM)
    if mon.item is None and (not cause or cause == "ability: Frisk"):
        mon.show_item(item)
        return
    known.unclear.add(mon)
    if cause == "move: Trick" and known.used_up == (mon, item):
        return  # Used on arrival: its end is told before it comes.
    mon.take_item(item)
    victim = mon_of(known, tag(parts, OF)) if cause == "ability: Magician" else None
    if victim is not None:
        victim.lose_item(item)
        known.unclear.add(victim)


def _enditem(known: Known, parts: Parts) -> None:
    mon = mon_of(known, parts[2])
    if mon is not None:
        mon.lose_item(to_id(parts[3]))
        known.unclear.add(mon)
        known.used_up = mon, mon.lost_item


def _ability(known: Known, parts: Parts) -> None:
    found = standing(known, parts[2])
    if found is None:
        return
    place, mon = found
    ability, cause = to_id(parts[3]), tag(parts, FROM)
    if cause == "ability: Trace":
        mon.ability, place.ability = "trace", ability
        source = mon_of(known, tag(parts, OF))
        if source is not None:
            credit_ability(known, source, ability)
    elif cause:
        place.ability = ability
    else:
        credit_ability(known, mon, ability)
    if cause:
        known.unclear.add(mon)


def _terastallize(known: Known, parts: Parts) -> None:
    mon = mon_of(known, parts[2])
    if mon is not None:
        mon.tera, mon.terastallized = to_id(parts[3]), True
        known.sides[OWN if parts[2].startswith(known.names[OWN]) else FOE].terastallized = True


def _weather(known: Known, parts: Parts) -> None:
    weather = to_id(parts[2])
    if weather == "none":
        known.weather = ""
    elif weather != known.weather or "[upkeep]" not in parts:
        known.weather, known.weather_since = weather, known.turn


def _fieldstart(known: Known, parts: Parts) -> None:
    name = effect_of(parts[2])
    if name in TERRAINS:
        known.terrain, known.terrain_since = name, known.turn
    else:
        known.rooms[name] = known.turn


def _fieldend(known: Known, parts: Parts) -> None:
    name = effect_of(parts[2])
    if name in TERRAINS:
        known.terrain = ""
    else:
        known.rooms.pop(name, None)


def _singleturn(known: Known, parts: Parts) -> None:
    place = place_of(known, parts[2])
    if place is None:
        return
    name = effect_of(parts[3])
    if name in PROTECTS or name in GUARDS:
        in_a_row = place.protected >= known.turn - 1
        place.protects = place.protects + 1 if in_a_row else 1
        place.protected = known.turn
        place.single.add("protect" if name in PROTECTS else "guard")
    elif name in REDIRECTS:
        place.single.add("redirect")
    else:
        place.single.add(name)


def _crit(known: Known, parts: Parts) -> None:
    known.event().crit = 1


def _effective(known: Known, parts: Parts) -> None:
    known.event().effective = 1 if parts[1] == "-supereffective" else -1


def _miss(known: Known, parts: Parts) -> None:
    known.event().missed = 1


def _fail(known: Known, parts: Parts) -> None:
    known.event().failed = 1


def _immune(known: Known, parts: Parts) -> None:
    known.event().immune = 1


def _block(known: Known, parts: Parts) -> None:
    known.event().blocked = 1
    kind, _, name = parts[3].partition(": ") if len(parts) > 3 else ("", "", "")
    mon = mon_of(known, tag(parts, OF) or parts[2])
    if mon is not None and kind == "ability":
        credit_ability(known, mon, to_id(name))
    elif mon is not None and kind == "item":
        mon.show_item(to_id(name))


def _waiting(known: Known, parts: Parts) -> None:
    known.unordered = True


MINOR_LINES: dict[str, Heard] = {
    **dict.fromkeys(("-damage", "-heal", "-sethp"), _hp),
    **dict.fromkeys(("-boost", "-unboost"), _boost),
    **dict.fromkeys(
        ("-clearboost", "-clearnegativeboost", "-clearpositiveboost", "-invertboost"),
        _changeboosts,
    ),
    **dict.fromkeys(("-supereffective", "-resisted"), _effective),
    **dict.fromkeys(("-fail", "-notarget"), _fail),
    "-status": _status,
    "-curestatus": _curestatus,
    "-setboost": _setboost,
    "-swapboost": _swapboost,
    "-copyboost": _copyboost,
    "-clearallboost": _clearallboost,
    "-item": _item,
    "-enditem": _enditem,
    "-ability": _ability,
    "-terastallize": _terastallize,
    "-weather": _weather,
    "-fieldstart": _fieldstart,
    "-fieldend": _fieldend,
    "-singleturn": _singleturn,
    "-crit": _crit,
    "-miss": _miss,
    "-immune": _immune,
    "-block": _block,
    "-waiting": _waiting,
    **VOLATILE_LINES,
}
QUIET_MINOR = frozenset(
    ("-anim", "-hitcount", "-ohko", "-combine", "-nothing", "-center", "-primal", "-fieldactivate")
)
"""Lines that say nothing an observation needs."""
