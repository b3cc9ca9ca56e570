"""Says a choice in words: who does what to whom, by name instead of by number.

Reads names off the request and off what the seat knows of the opponent's places.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanista.games.showdown.actions.orders import (
    PASS,
    PREVIEWS,
    SINGLES_PASS,
    SINGLES_SWITCH,
    SINGLES_TERA,
    SLOT_ORDERS,
    SWITCH,
    TERA,
    reviving,
)
from lanista.games.showdown.sim.views import Request


def choice_words(request: Request, choice: int, foes: Sequence[str]) -> str:
    """Return a choice of the head that is asked; `foes` are the names by place on the field."""
    party = [_name(mon) for mon in request["side"]["pokemon"]]
    if request.get("teamPreview"):
        chosen = [party[at - 1] for at in PREVIEWS[choice]]
        return f"{' and '.join(chosen[:2])} lead, {' and '.join(chosen[2:])} follow"
    if len(request.get("forceSwitch") or request.get("active") or ()) < 2:
        return _singles(request, party, choice, foes)
    orders = divmod(choice, SLOT_ORDERS)
    words = (_doubles(request, party, place, order, foes) for place, order in enumerate(orders))
    return "; ".join(words)


def _name(mon: dict[str, str]) -> str:
    return mon["details"].partition(",")[0]


def _doubles(
    request: Request, party: Sequence[str], place: int, order: int, foes: Sequence[str]
) -> str:
    actor = party[place]
    if order == PASS:
        return f"{actor} passes"
    if order >= SWITCH:
        return f"{actor} makes room for {party[order - SWITCH + 2]}"
    tera, rest = divmod(order, TERA)
    move, target = rest // 5, rest % 5 - 2
    if reviving(request["side"]["pokemon"][place]):
        return f"{actor} revives {party[-target - 1]}"
    aim = foes[target - 1] if 0 < target <= len(foes) else party[-target - 1] if target else ""
    return _move(request, actor, place, move, aim, turned=bool(tera))


def _singles(request: Request, party: Sequence[str], order: int, foes: Sequence[str]) -> str:
    actor = party[0]
    if order == SINGLES_PASS:
        return f"{actor} passes"
    if order >= SINGLES_SWITCH:
        return f"{actor} makes room for {party[order - SINGLES_SWITCH + 1]}"
    tera, move = divmod(order, SINGLES_TERA)
    return _move(request, actor, 0, move, "", turned=bool(tera))


def _move(request: Request, actor: str, place: int, move: int, aim: str, *, turned: bool) -> str:
    offered = request["active"][place]["moves"][move]
    words = f"{actor} uses {offered.get('move') or offered['id']}"
    if aim:
        words += f" on {aim}"
    return f"{words} and terastallizes" if turned else words
