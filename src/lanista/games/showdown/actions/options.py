"""What a seat can order, one place on the field at a time, with whom each order hits.

Lists orders in the numbers of orders.py out of what the seat is asked. Judges nothing; which pairs
of orders are legal is the mask's to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from lanista.games.showdown.actions import orders
from lanista.games.showdown.protocol.requests import FORCED
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.protocol.vocabulary import dex

HITS_FOES = frozenset(("allAdjacentFoes", "allAdjacent", "randomNormal", "foeSide", "all", "any"))
SPREADS = frozenset(("allAdjacentFoes", "allAdjacent"))
OWN_SIDE = frozenset(
    ("self", "allySide", "allyTeam", "allies", "adjacentAlly", "adjacentAllyOrSelf")
)
MOVE, SWITCH, PASS = range(3)


@dataclass(frozen=True)
class Option:
    """One order of one place."""

    order: int
    kind: int
    move: str = ""
    foes: tuple[int, ...] = ()
    """The opponent's places that a move is aimed at; several where it hits all or any of them."""
    spread: bool = False
    """It hits all of them rather than one."""
    ally: bool = False
    """It hits the ally too, or the ally alone."""
    tera: str = ""
    """The type that the Pokémon turns into."""
    party: int = -1
    """Whom a switch brings in, or a revival raises: a place in the party."""


def options_of(tracker: Tracker, slot: int) -> Iterator[Option]:
    """Yield what the Pokémon in a place can be ordered, legal or not."""
    doubles = len(tracker.battle.sides[0].places) > 1
    own = tracker.own
    if own.kind != FORCED and slot < len(own.active):
        active = own.active[slot]
        for at, move in enumerate(active["moves"]):
            tera = own.party[slot].tera if active.get("canTerastallize") else None
            yield from _aims(doubles, slot, at, move["id"], move.get("target", ""), tera)
    yield from _switches(tracker, doubles, slot)
    yield Option(orders.PASS if doubles else orders.SINGLES_PASS, PASS)


@lru_cache(maxsize=1 << 14)
def _aims(
    doubles: bool, slot: int, at: int, move: str, target: str, tera: str | None
) -> tuple[Option, ...]:
    """Return a move at all it can be aimed at, each followed by the same and terastallize."""
    options: list[Option] = []
    for option in _plain_aims(doubles, slot, at, move, target):
        options.append(option)
        if tera is not None:
            options.append(_turned(option, doubles, tera))
    return tuple(options)


def _plain_aims(doubles: bool, slot: int, at: int, move: str, target: str) -> Iterator[Option]:
    if not doubles:
        harmless = target in OWN_SIDE
        yield Option(at, MOVE, move, () if harmless else (0,))
        return
    chosen = orders.CHOSEN_TARGETS.get(target)
    if chosen is None:
        damages = dex().move_of(move).power > 0 or target in HITS_FOES
        foes = (0, 1) if damages and target not in OWN_SIDE else ()
        ally = target == "allAdjacent"
        yield Option(5 * at + 2, MOVE, move, foes, spread=target in SPREADS, ally=ally)
        return
    for aim in chosen[slot]:
        aimed = (aim - 1,) if aim > 0 else ()
        yield Option(5 * at + aim + 2, MOVE, move, aimed, ally=aim == -2 + slot)


def _turned(option: Option, doubles: bool, tera: str) -> Option:
    step = orders.TERA if doubles else orders.SINGLES_TERA
    return Option(
        option.order + step,
        option.kind,
        option.move,
        option.foes,
        option.spread,
        option.ally,
        tera,
    )


def _switches(tracker: Tracker, doubles: bool, slot: int) -> Iterator[Option]:
    places = 2 if doubles else 1
    first = orders.SWITCH if doubles else orders.SINGLES_SWITCH
    for at in range(places, len(tracker.own.party)):
        yield Option(first + at - places, SWITCH, party=at)
    if doubles and tracker.own.party[slot].reviving:
        for at in range(2):
            yield Option(1 - at, SWITCH, party=at)
