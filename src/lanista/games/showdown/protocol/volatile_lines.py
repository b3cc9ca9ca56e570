"""What the lines about effects on a Pokémon or a side tell: begun, ended, set off.

Which effects are followed, and under which name, is in effects.py.
"""

from __future__ import annotations

from lanista.games.showdown.protocol.battle_state import FOE, OWN, Known, Mon, Place, read_details
from lanista.games.showdown.protocol.effects import (
    BEST_STATS,
    LAYERED,
    PARTIAL_TRAPS,
    PASSED_OVER,
    SAME_AS,
    SIDE_CONDITIONS,
    VOLATILES,
)
from lanista.games.showdown.protocol.naming import (
    OF,
    Fields,
    Heard,
    credit_ability,
    effect_of,
    place_of,
    side_of,
    standing,
    tag,
)
from lanista.games.showdown.protocol.vocabulary import to_id

FOLLOWED = frozenset(VOLATILES)
FOLLOWED_SIDES = frozenset(SIDE_CONDITIONS)
BOOSTED = ("protosynthesis", "quarkdrive")
NUMBERED = ("perish", "stockpile", "fallen")
FUTURE = frozenset(("futuresight", "doomdesire"))
QUICK = frozenset(("quickclaw", "custapberry", "quickdraw"))
REORDERS = frozenset(("afteryou", "quash"))
SPREADS = frozenset(("mummy", "lingeringaroma"))


def _start(battle: Known, fields: Fields) -> None:
    place = place_of(battle, fields[2])
    if place is None:
        return
    name = effect_of(fields[3])
    if fields[3].startswith("ability: ") and place.mon is not None:
        credit_ability(battle, place.mon, name)
    if name.startswith("type"):
        _change_types(battle, place, fields)
    elif name in FUTURE:
        battle.sides[FOE if place.index < len(battle.sides[OWN].places) else OWN].conditions[
            "futuresight"
        ] = battle.turn
    else:
        _begin(battle, place, name)


def _begin(battle: Known, place: Place, name: str) -> None:
    """Put down an effect; some carry a number or a stat at the end of their name."""
    for stem in BOOSTED:
        if name.startswith(stem) and name[len(stem) :] in BEST_STATS:
            place.volatiles["boosted"] = 1 + BEST_STATS.index(name[len(stem) :])
            return
    for stem in NUMBERED:
        if name.startswith(stem) and name[len(stem) :].isdigit():
            count = int(name[len(stem) :])
            # Three turns are left at first: what grows is how near the end is.
            place.volatiles[stem] = 4 - count if stem == "perish" else count
            return
    name = SAME_AS.get(name, name)
    if name in FOLLOWED:
        place.volatiles[name] = battle.turn
    elif name not in PASSED_OVER:
        battle.strange[f"effect {name}"] += 1


def _change_types(battle: Known, place: Place, fields: Fields) -> None:
    type_names = fields[4] if len(fields) > 4 else ""
    if to_id(fields[3]) == "typeadd":
        place.added = to_id(type_names)
    elif type_names.startswith("["):
        other = place_of(battle, tag(fields, OF))
        place.types = other.current_types() if other is not None else ()
    else:
        place.types = tuple(to_id(name) for name in type_names.split("/") if name)
        place.added = ""


def _end(battle: Known, fields: Fields) -> None:
    place = place_of(battle, fields[2])
    if place is None:
        return
    name = effect_of(fields[3])
    if name in FUTURE:
        side_of(battle, fields[2]).conditions.pop("futuresight", None)
    elif name in PARTIAL_TRAPS or "[partiallytrapped]" in fields:
        place.volatiles.pop("partiallytrapped", None)
        place.volatiles.pop(SAME_AS.get(name, name), None)
    elif name == "typechange":
        place.types = ()
    else:
        stem = next((stem for stem in NUMBERED if name.startswith(stem)), name)
        place.volatiles.pop(SAME_AS.get(stem, stem), None)


def _singlemove(battle: Known, fields: Fields) -> None:
    place = place_of(battle, fields[2])
    if place is not None:
        _begin(battle, place, effect_of(fields[3]))


def _mustrecharge(battle: Known, fields: Fields) -> None:
    place = place_of(battle, fields[2])
    if place is not None:
        place.volatiles["mustrecharge"] = battle.turn


def _prepare(battle: Known, fields: Fields) -> None:
    place = place_of(battle, fields[2])
    if place is not None:
        place.volatiles["prepare"] = battle.turn


def _endability(battle: Known, fields: Fields) -> None:
    place = place_of(battle, fields[2])
    if place is not None:
        place.volatiles["gastroacid"] = battle.turn


def _formechange(battle: Known, fields: Fields) -> None:
    """A change of forme until it leaves the field."""
    place_and_mon = standing(battle, fields[2])
    if place_and_mon is not None:
        place, mon = place_and_mon
        forme = read_details(fields[3])[0]
        place.forme = "" if forme == mon.species else forme
        place.types = ()
        battle.unclear.add(mon)


def _transform(battle: Known, fields: Fields) -> None:
    user, copied_from = standing(battle, fields[2]), standing(battle, fields[3])
    if user is None or copied_from is None:
        return
    (place, mon), (model, other) = user, copied_from
    place.forme, place.types, place.added = model.species, model.types, model.added
    place.boosts = list(model.boosts)
    place.volatiles["transform"] = battle.turn
    if model.index < len(battle.sides[OWN].places):
        place.ability = model.ability or battle.own_speeds.get(other.name, (0, "", ""))[2]
        copied = battle.own_moves.get(other.name, ())
    else:
        place.ability = model.ability or other.ability
        copied = tuple(model.moves or other.moves)
    place.moves = dict.fromkeys(copied, 0)
    battle.unclear.add(mon)


def _activate(battle: Known, fields: Fields) -> None:
    place_and_mon = standing(battle, fields[2]) if fields[2] else None
    if place_and_mon is None:
        return
    place, mon = place_and_mon
    kind, _, name = fields[3].rpartition(": ")
    effect = to_id(name)
    if kind == "ability":
        _activate_ability(battle, place, mon, effect, fields)
    elif kind == "item":
        if "[consumed]" in fields:
            mon.lose_item(effect)
        else:
            mon.show_item(effect)
    else:
        _activate_move(battle, place, mon, effect, fields)
    if effect in QUICK:
        battle.unclear.add(mon)


def _activate_ability(battle: Known, place: Place, mon: Mon, ability: str, fields: Fields) -> None:
    credit_ability(battle, mon, ability)
    other = standing(battle, tag(fields, OF)) if tag(fields, OF) else None
    if ability == "commander" and other is not None:
        place.volatiles["commanding"] = other[0].volatiles["commanded"] = battle.turn
    elif ability == "symbiosis" and other is not None:
        mon.lose_item(to_id(fields[4]))
        other[1].take_item(to_id(fields[4]))
        battle.unclear |= {mon, other[1]}
    elif ability in SPREADS and len(fields) > 4 and fields[4].startswith(battle.names):
        changed = place_of(battle, fields[4])
        if changed is not None:
            changed.ability = ability


def _activate_move(battle: Known, place: Place, mon: Mon, effect: str, fields: Fields) -> None:
    if effect in ("protect", "maxguard", "wideguard", "quickguard", "matblock", "craftyshield"):
        battle.event().blocked = 1
    elif effect == "poltergeist" and len(fields) > 4:
        mon.show_item(to_id(fields[4]))
    elif effect == "trapped":
        place.volatiles["trapped"] = battle.turn
    elif effect in PARTIAL_TRAPS:
        place.volatiles["partiallytrapped"] = battle.turn
    elif effect in REORDERS:
        battle.unordered = True
    elif effect == "speedswap":
        other = place_of(battle, tag(fields, OF))
        place.odd = True
        if other is not None:
            other.odd = True
    elif effect == "skillswap":
        _swap_abilities(battle, place, mon, fields)


def _swap_abilities(battle: Known, place: Place, mon: Mon, fields: Fields) -> None:
    other = standing(battle, tag(fields, OF))
    if other is None:
        return
    battle.unclear |= {mon, other[1]}
    if len(fields) > 5 and fields[4] and not fields[4].startswith("["):
        credit_ability(battle, mon, to_id(fields[5]))
        credit_ability(battle, other[1], to_id(fields[4]))
        place.ability, other[0].ability = to_id(fields[4]), to_id(fields[5])


def _sidestart(battle: Known, fields: Fields) -> None:
    conditions, name = side_of(battle, fields[2]).conditions, effect_of(fields[3])
    if name not in FOLLOWED_SIDES:
        if name not in PASSED_OVER:
            battle.strange[f"side effect {name}"] += 1
    elif name in LAYERED:
        conditions[name] = conditions.get(name, 0) + 1
    else:
        conditions[name] = battle.turn


def _sideend(battle: Known, fields: Fields) -> None:
    side_of(battle, fields[2]).conditions.pop(effect_of(fields[3]), None)


def _swapsides(battle: Known, fields: Fields) -> None:
    own, foe = battle.sides
    own.conditions, foe.conditions = foe.conditions, own.conditions
    # A blow that is already foreseen still falls where it was aimed.
    ahead = [side.conditions.pop("futuresight", None) for side in battle.sides]
    for side, since in zip(battle.sides, reversed(ahead), strict=True):
        if since is not None:
            side.conditions["futuresight"] = since


VOLATILE_LINES: dict[str, Heard] = {
    "-start": _start,
    "-end": _end,
    "-activate": _activate,
    "-singlemove": _singlemove,
    "-mustrecharge": _mustrecharge,
    "-prepare": _prepare,
    "-endability": _endability,
    "-formechange": _formechange,
    "-transform": _transform,
    "-sidestart": _sidestart,
    "-sideend": _sideend,
    "-swapsideconditions": _swapsides,
}
