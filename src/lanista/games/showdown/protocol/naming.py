"""How a protocol line names things: who, which effect, from what and of whom.

Finds what a line is about in what is known, and credits items and abilities to those that a line
shows to have them. What a line does is in lines.py and minor_lines.py.
"""

from __future__ import annotations

from collections.abc import Callable

from lanista.games.showdown.protocol.battle_state import FOE, OWN, Known, Mon, Place, Side
from lanista.games.showdown.protocol.effects import plain
from lanista.games.showdown.protocol.vocabulary import dex, to_id

Fields = list[str]
"""A protocol line cut at its bars: nothing, the kind, and what follows."""
Heard = Callable[[Known, Fields], None]
"""What a kind of line does to what is known."""

FROM, OF = "[from] ", "[of] "


def tag(fields: Fields, head: str) -> str:
    """Return what follows `head` in a line's tags; "" if it has no such tag."""
    for field in reversed(fields):
        if field.startswith(head):
            return field[len(head) :]
    return ""


def side_of(battle: Known, ident: str) -> Side:
    """Return the side that "p1a: Name", "p1: Name" or "p1" speaks of."""
    if not ident.startswith(battle.names):
        raise ValueError(f"{ident!r} names no player")
    return battle.sides[OWN if ident.startswith(battle.names[OWN]) else FOE]


def place_of(battle: Known, ident: str) -> Place | None:
    """Return the place that "p1a: Name" speaks of; None for a Pokémon on the bench."""
    side = side_of(battle, ident)
    if ident[2:3] in ("", ":"):
        return None
    return side.places["ab".index(ident[2])]


def standing(battle: Known, ident: str) -> tuple[Place, Mon] | None:
    """Return a place and who stands there; None for a Pokémon on the bench."""
    place = place_of(battle, ident)
    return (place, place.mon) if place is not None and place.mon is not None else None


def mon_of(battle: Known, ident: str) -> Mon | None:
    """Return the Pokémon that a line speaks of, on the field or on the bench."""
    place = place_of(battle, ident)
    if place is not None:
        return place.mon
    return side_of(battle, ident).named(ident.partition(": ")[2])


def effect_of(name: str) -> str:
    """Return the id of "move: Leech Seed" or "Leech Seed"."""
    return to_id(plain(name))


def credit(battle: Known, fields: Fields) -> None:
    """Know from `[from] item: …` or `[from] ability: …` who has it."""
    kind, _, name = tag(fields, FROM).partition(": ")
    # A stolen item's first line names the thief's ability as if it were the victim's.
    if kind not in ("item", "ability") or fields[1] == "-enditem":
        return
    holder = _holder(battle, fields, to_id(name))
    mon = mon_of(battle, holder) if holder else None
    if mon is None:
        return
    if kind == "ability":
        credit_ability(battle, mon, to_id(name))
    else:
        mon.show_item(to_id(name))


def credit_ability(battle: Known, mon: Mon, ability: str) -> None:
    """Know a Pokémon's ability from its effect, unless it is acting with another's."""
    possible = dex().species_of(mon.species).abilities
    if possible and possible[0].startswith("asone"):
        ability = possible[0]  # It acts under the names of the two abilities it joins.
    place = next((place for place in battle.places if place.mon is mon), None)
    if place is not None and place.moves is not None:
        place.ability = ability  # Transformed: it acts with another's.
    elif place is None or not place.ability:
        mon.ability = ability


def _holder(battle: Known, fields: Fields, effect: str) -> str:
    """Return who has the item or ability that a line names as its cause."""
    of = tag(fields, OF)
    subject = fields[2] if fields[2].startswith(battle.names) else of
    if not of:
        return subject
    # A heal names whoever set it off, mostly the attacker; the ability is the healed one's.
    if fields[1] == "-heal":
        return of if effect == "hospitality" else subject
    # An item that is found or stolen comes to the one with the ability; Frisk looks at another's.
    if fields[1] in ("-item", "-ability"):
        return of if effect == "frisk" else subject
    return of
