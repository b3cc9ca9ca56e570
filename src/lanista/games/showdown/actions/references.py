"""Which tokens of observation version 2 an order is about.

An order of a place is about the Pokémon that stands there, the move it uses, at whom, or whom it
makes room for; a team preview about the two that lead and the two that follow. Numbers are those of
orders.py. The kind of an order says which foe it is aimed at, since a move's token has what it does
to each of them by number. Knows nothing of networks.
"""

from __future__ import annotations

from functools import cache

from lanista.games.contract import References, Role
from lanista.games.showdown.actions.orders import (
    MOVES,
    PASS,
    PREVIEWS,
    SINGLES_ORDERS,
    SINGLES_PASS,
    SINGLES_SWITCH,
    SINGLES_TERA,
    SLOT_ORDERS,
    SWITCH,
    TERA,
)

OWN, FOE, MOVE = "own", "foe", "move"
"""Groups of the observation."""
NONE = -1
USES, TURNS, SWITCHES, PASSES = "move", "move and terastallize", "switch", "pass"
Order = tuple[int, int, int, int, str]
"""The entries of move, foe, own target and Pokémon switched to, and the kind."""


@cache
def turn_references(doubles: bool) -> tuple[References, ...]:
    """Return what each order of each place is about."""
    if not doubles:
        return (_references(0, [_singles_order(order) for order in range(SINGLES_ORDERS)]),)
    return tuple(
        _references(place, [_doubles_order(place, order) for order in range(SLOT_ORDERS)])
        for place in range(2)
    )


@cache
def preview_references() -> tuple[References, ...]:
    """Return what each team preview is about."""
    roles = [
        Role("lead" if at < 2 else "back", OWN, tuple(chosen[at] - 1 for chosen in PREVIEWS))
        for at in range(4)
    ]
    return (References(tuple(roles)),)


def _references(place: int, orders: list[Order]) -> References:
    moves, foes, own_targets, switches, kinds = zip(*orders, strict=True)
    roles = (
        Role("actor", OWN, (place,) * len(orders)),
        Role("move", MOVE, moves),
        Role("target", FOE, foes),
        Role("ally", OWN, own_targets),
        Role("switch", OWN, switches),
    )
    return References(roles, kinds)


def _doubles_order(place: int, order: int) -> Order:
    if order == PASS:
        return NONE, NONE, NONE, NONE, PASSES
    if order >= SWITCH:
        return NONE, NONE, NONE, order - SWITCH + 2, SWITCHES
    tera, rest = divmod(order, TERA)
    move, target = rest // 5, rest % 5 - 2
    foe = target - 1 if target > 0 else NONE
    own = -target - 1 if target < 0 else NONE
    aim = f" at foe {target}" if target > 0 else " at an own place" if target else ""
    return MOVES * place + move, foe, own, NONE, (TURNS if tera else USES) + aim


def _singles_order(order: int) -> Order:
    if order == SINGLES_PASS:
        return NONE, NONE, NONE, NONE, PASSES
    if order >= SINGLES_SWITCH:
        return NONE, NONE, NONE, order - SINGLES_SWITCH + 1, SWITCHES
    tera, move = divmod(order, SINGLES_TERA)
    return move, 0, NONE, NONE, TURNS if tera else USES
