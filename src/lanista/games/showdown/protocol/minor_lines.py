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
    Fields,
    Heard,
    credit_ability,
    effect_of,
    mon_of,
    place_of,
    standing,
    tag,
)
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.games.showdown.protocol.volatile_lines import VOLATILE_LINES


def _hp(battle: Known, fields: Fields) -> None:
    mon = mon_of(battle, fields[2])
    if mon is None:
        return
    hp, _, _, status = read_condition(fields[3])
    battle.set_hp(mon, hp, place_of(battle, fields[2]))
    if status != "fnt":
        mon.status = status


def _status(battle: Known, fields: Fields) -> None:
    mon = mon_of(battle, fields[2])
    if mon is not None:
        mon.status, mon.slept = fields[3], 0


def _curestatus(battle: Known, fields: Fields) -> None:
    mon = mon_of(battle, fields[2])
    if mon is not None:
        mon.status, mon.slept = "", 0


def _boost(battle: Known, fields: Fields) -> None:
    place = place_of(battle, fields[2])
    if place is not None:
        at, amount = BOOSTS.index(fields[3]), int(fields[4])
        change = -amount if fields[1] == "-unboost" else amount
        place.boosts[at] = max(-6, min(6, place.boosts[at] + change))


def _setboost(battle: Known, fields: Fields) -> None:
    place = place_of(battle, fields[2])
    if place is not None:
        place.boosts[BOOSTS.index(fields[3])] = int(fields[4])


def _swapboost(battle: Known, fields: Fields) -> None:
    one, other = place_of(battle, fields[2]), place_of(battle, fields[3])
    if one is None or other is None:
        return
    stat_names = fields[4] if len(fields) > 4 and not fields[4].startswith("[") else ""
    for name in stat_names.split(", ") if stat_names else BOOSTS:
        at = BOOSTS.index(name)
        one.boosts[at], other.boosts[at] = other.boosts[at], one.boosts[at]


def _copyboost(battle: Known, fields: Fields) -> None:
    one, other = place_of(battle, fields[2]), place_of(battle, fields[3])
    if one is not None and other is not None:
        one.boosts = list(other.boosts)


def _changeboosts(battle: Known, fields: Fields) -> None:
    """All of one Pokémon's stages: forgotten, turned round, or only the good or bad ones."""
    place = place_of(battle, fields[2])
    if place is None:
        return
    kind = fields[1]
    for at, stage in enumerate(place.boosts):
        if kind == "-invertboost":
            place.boosts[at] = -stage
        elif kind == "-clearboost" or (stage > 0) == (kind == "-clearpositiveboost"):
            place.boosts[at] = 0


def _clearallboost(battle: Known, fields: Fields) -> None:
    for place in battle.places:
        place.boosts = [0] * len(BOOSTS)


def _item(battle: Known, fields: Fields) -> None:
    mon = mon_of(battle, fields[2])
    if mon is None:
        return
    item, cause = to_id(fields[3]), tag(fields, FROM)
    if mon.item is None and (not cause or cause == "ability: Frisk"):
        mon.show_item(item)
        return
    battle.unclear.add(mon)
    if cause == "move: Trick" and battle.used_up == (mon, item):
        return  # Used on arrival: its end is told before it comes.
    mon.take_item(item)
    victim = mon_of(battle, tag(fields, OF)) if cause == "ability: Magician" else None
    if victim is not None:
        victim.lose_item(item)
        battle.unclear.add(victim)


def _enditem(battle: Known, fields: Fields) -> None:
    mon = mon_of(battle, fields[2])
    if mon is not None:
        mon.lose_item(to_id(fields[3]))
        battle.unclear.add(mon)
        battle.used_up = mon, mon.lost_item


def _ability(battle: Known, fields: Fields) -> None:
    place_and_mon = standing(battle, fields[2])
    if place_and_mon is None:
        return
    place, mon = place_and_mon
    ability, cause = to_id(fields[3]), tag(fields, FROM)
    if cause == "ability: Trace":
        mon.ability, place.ability = "trace", ability
        source = mon_of(battle, tag(fields, OF))
        if source is not None:
            credit_ability(battle, source, ability)
    elif cause:
        place.ability = ability
    else:
        credit_ability(battle, mon, ability)
    if cause:
        battle.unclear.add(mon)


def _terastallize(battle: Known, fields: Fields) -> None:
    mon = mon_of(battle, fields[2])
    if mon is not None:
        mon.tera, mon.terastallized = to_id(fields[3]), True
        battle.sides[OWN if fields[2].startswith(battle.names[OWN]) else FOE].terastallized = True


def _weather(battle: Known, fields: Fields) -> None:
    weather = to_id(fields[2])
    if weather == "none":
        battle.weather = ""
    elif weather != battle.weather or "[upkeep]" not in fields:
        battle.weather, battle.weather_since = weather, battle.turn


def _fieldstart(battle: Known, fields: Fields) -> None:
    name = effect_of(fields[2])
    if name in TERRAINS:
        battle.terrain, battle.terrain_since = name, battle.turn
    else:
        battle.rooms[name] = battle.turn


def _fieldend(battle: Known, fields: Fields) -> None:
    name = effect_of(fields[2])
    if name in TERRAINS:
        battle.terrain = ""
    else:
        battle.rooms.pop(name, None)


def _singleturn(battle: Known, fields: Fields) -> None:
    place = place_of(battle, fields[2])
    if place is None:
        return
    name = effect_of(fields[3])
    if name in PROTECTS or name in GUARDS:
        in_a_row = place.protected >= battle.turn - 1
        place.protects = place.protects + 1 if in_a_row else 1
        place.protected = battle.turn
        place.single.add("protect" if name in PROTECTS else "guard")
    elif name in REDIRECTS:
        place.single.add("redirect")
    else:
        place.single.add(name)


def _crit(battle: Known, fields: Fields) -> None:
    battle.event().crit = 1


def _effective(battle: Known, fields: Fields) -> None:
    battle.event().effective = 1 if fields[1] == "-supereffective" else -1


def _miss(battle: Known, fields: Fields) -> None:
    battle.event().missed = 1


def _fail(battle: Known, fields: Fields) -> None:
    battle.event().failed = 1


def _immune(battle: Known, fields: Fields) -> None:
    battle.event().immune = 1


def _block(battle: Known, fields: Fields) -> None:
    battle.event().blocked = 1
    kind, _, name = fields[3].partition(": ") if len(fields) > 3 else ("", "", "")
    mon = mon_of(battle, tag(fields, OF) or fields[2])
    if mon is not None and kind == "ability":
        credit_ability(battle, mon, to_id(name))
    elif mon is not None and kind == "item":
        mon.show_item(to_id(name))


def _waiting(battle: Known, fields: Fields) -> None:
    battle.unordered = True


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
