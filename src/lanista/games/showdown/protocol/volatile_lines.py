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
    Heard,
    Parts,
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


def _start(known: Known, parts: Parts) -> None:
    place = place_of(known, parts[2])
    if place is None:
        return
    name = effect_of(parts[3])
    if parts[3].startswith("ability: ") and place.mon is not None:
        credit_ability(known, place.mon, name)
    if name.startswith("type"):
        _change_types(known, place, parts)
    elif name in FUTURE:
        known.sides[FOE if place.index < len(known.sides[OWN].places) else OWN].conditions[
            "futuresight"
        ] = known.turn
    else:
        _begin(known, place, name)


def _begin(known: Known, place: Place, name: str) -> None:
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
        place.volatiles[name] = known.turn
    elif name not in PASSED_OVER:
        known.strange[f"effect {name}"] += 1


def _change_types(known: Known, place: Place, parts: Parts) -> None:
    told = parts[4] if len(parts) > 4 else ""
    if to_id(parts[3]) == "typeadd":
        place.added = to_id(told)
    elif told.startswith("["):
        other = place_of(known, tag(parts, OF))
        place.types = other.current_types() if other is not None else ()
    else:
        place.types = tuple(to_id(each) for each in told.split("/") if each)
        place.added = ""


def _end(known: Known, parts: Parts) -> None:
    place = place_of(known, parts[2])
    if place is None:
        return
    name = effect_of(parts[3])
    if name in FUTURE:
        side_of(known, parts[2]).conditions.pop("futuresight", None)
    elif name in PARTIAL_TRAPS or "[partiallytrapped]" in parts:
        place.volatiles.pop("partiallytrapped", None)
        place.volatiles.pop(SAME_AS.get(name, name), None)
    elif name == "typechange":
        place.types = ()
    else:
        stem = next((stem for stem in NUMBERED if name.startswith(stem)), name)
        place.volatiles.pop(SAME_AS.get(stem, stem), None)


def _singlemove(known: Known, parts: Parts) -> None:
    place = place_of(known, parts[2])
    if place is not None:
        _begin(known, place, effect_of(parts[3]))


def _mustrecharge(known: Known, parts: Parts) -> None:
    place = place_of(known, parts[2])
    if place is not None:
        place.volatiles["mustrecharge"] = known.turn


def _prepare(known: Known, parts: Parts) -> None:
    place = place_of(known, parts[2])
    if place is not None:
        place.volatiles["prepare"] = known.turn


def _endability(known: Known, parts: Parts) -> None:
    place = place_of(known, parts[2])
    if place is not None:
        place.volatiles["gastroacid"] = known.turn


def _formechange(known: Known, parts: Parts) -> None:
    """A change of forme until it leaves the field."""
    found = standing(known, parts[2])
    if found is not None:
        place, mon = found
        forme = read_details(parts[3])[0]
        place.forme = "" if forme == mon.species else forme
        place.types = ()
        known.unclear.add(mon)


def _transform(known: Known, parts: Parts) -> None:
    found, into = standing(known, parts[2]), standing(known, parts[3])
    if found is None or into is None:
        return
    (place, mon), (model, other) = found, into
    place.forme, place.types, place.added = model.species, model.types, model.added
    place.boosts = list(model.boosts)
    place.volatiles["transform"] = known.turn
    if model.index < len(known.sides[OWN].places):
        place.ability = model.ability or known.own_speeds.get(other.name, (0, "", ""))[2]
        copied = known.own_moves.get(other.name, ())
    else:
        place.ability = model.ability or other.ability
        copied = tuple(model.moves or other.moves)
    place.moves = dict.fromkeys(copied, 0)
    known.unclear.add(mon)


def _activate(known: Known, parts: Parts) -> None:
    found = standing(known, parts[2]) if parts[2] else None
    if found is None:
        return
    place, mon = found
    kind, _, name = parts[3].rpartition(": ")
    effect = to_id(name)
    if kind == "ability":
        _activate_ability(known, place, mon, effect, parts)
    elif kind == "item":
        if "[consumed]" in parts:
            mon.lose_item(effect)
        else:
            mon.show_item(effect)
    else:
        _activate_move(known, place, mon, effect, parts)
    if effect in QUICK:
        known.unclear.add(mon)


def _activate_ability(known: Known, place: Place, mon: Mon, ability: str, parts: Parts) -> None:
    credit_ability(known, mon, ability)
    other = standing(known, tag(parts, OF)) if tag(parts, OF) else None
    if ability == "commander" and other is not None:
        place.volatiles["commanding"] = other[0].volatiles["commanded"] = known.turn
    elif ability == "symbiosis" and other is not None:
        mon.lose_item(to_id(parts[4]))
        other[1].take_item(to_id(parts[4]))
        known.unclear |= {mon, other[1]}
    elif ability in SPREADS and len(parts) > 4 and parts[4].startswith(known.names):
        changed = place_of(known, parts[4])
        if changed is not None:
            changed.ability = ability


def _activate_move(known: Known, place: Place, mon: Mon, effect: str, parts: Parts) -> None:
    if effect in ("protect", "maxguard", "wideguard", "quickguard", "matblock", "craftyshield"):
        known.event().blocked = 1
    elif effect == "poltergeist" and len(parts) > 4:
        mon.show_item(to_id(parts[4]))
    elif effect == "trapped":
        place.volatiles["trapped"] = known.turn
    elif effect in PARTIAL_TRAPS:
        place.volatiles["partiallytrapped"] = known.turn
    elif effect in REORDERS:
        known.unordered = True
    elif effect == "speedswap":
        other = place_of(known, tag(parts, OF))
        place.odd = True
        if other is not None:
            other.odd = True
    elif effect == "skillswap":
        _swap_abilities(known, place, mon, parts)


def _swap_abilities(known: Known, place: Place, mon: Mon, parts: Parts) -> None:
    other = standing(known, tag(parts, OF))
    if other is None:
        return
    known.unclear |= {mon, other[1]}
    if len(parts) > 5 and parts[4] and not parts[4].startswith("["):
        credit_ability(known, mon, to_id(parts[5]))
        credit_ability(known, other[1], to_id(parts[4]))
        place.ability, other[0].ability = to_id(parts[4]), to_id(parts[5])


def _sidestart(known: Known, parts: Parts) -> None:
    conditions, name = side_of(known, parts[2]).conditions, effect_of(parts[3])
    if name not in FOLLOWED_SIDES:
        if name not in PASSED_OVER:
            known.strange[f"side effect {name}"] += 1
    elif name in LAYERED:
        conditions[name] = conditions.get(name, 0) + 1
    else:
        conditions[name] = known.turn


def _sideend(known: Known, parts: Parts) -> None:
    side_of(known, parts[2]).conditions.pop(effect_of(parts[3]), None)


def _swapsides(known: Known, parts: Parts) -> None:
    own, foe = known.sides
    own.conditions, foe.conditions = foe.conditions, own.conditions
    # A blow that is already foreseen still falls where it was aimed.
    ahead = [side.conditions.pop("futuresight", None) for side in known.sides]
    for side, since in zip(known.sides, reversed(ahead), strict=True):
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
