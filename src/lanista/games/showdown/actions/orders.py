"""What a player can choose, as numbers, and which of them a request allows.

Doubles, a slot's 45 orders (a slot is a place on the field, 0 or 1):

    0-19    move m at target t: 5 * m + (t + 2), m = 0..3, t = -2..2
    20-39   the same and terastallize
    40-43   switch to party position 3..6
    44      pass

Targets are the simulator's: 1 and 2 the opponent's places, -1 and -2 one's own, 0 none to choose.
A turn is 45 * (order of slot 0) + (order of slot 1): 2,025. A slot that is asked to revive takes
40-43 for a fainted Pokémon on the bench, 1 for one in place -1 and 0 for one in place -2.

Singles, 14 orders: 0-3 moves, 4-7 the same and terastallize, 8-12 switch to (or revive) party
position 2..6, 13 pass.

Team preview, 90 choices: two of six lead (in party order), two of the other four follow.

Legal is what `Side.choose` of the simulator takes, worked out from the request alone and never by
trying. Where a request says "maybe" (`maybeTrapped` and its like) the simulator knows more than the
player: what looks legal may be refused then, and the request that follows says why.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import GameError
from lanista.games.showdown.formats import Format
from lanista.games.showdown.sim.views import Request

Flags = NDArray[np.bool_]
Mon = dict[str, Any]
"""A Pokémon as `request["side"]["pokemon"]` or `request["active"]` tells of it."""

MOVES = 4
PARTY = 6
SLOT_ORDERS = 45
TURN_ORDERS = SLOT_ORDERS * SLOT_ORDERS
TERA = 20
SWITCH = 40
PASS = 44
SINGLES_ORDERS = 14
SINGLES_TERA = 4
SINGLES_SWITCH = 8
SINGLES_PASS = 13

# By a move's target type: the targets that slot 0 and slot 1 must choose from.
CHOSEN_TARGETS = {
    "normal": ((1, 2, -2), (1, 2, -1)),
    "any": ((1, 2, -2), (1, 2, -1)),
    "adjacentFoe": ((1, 2), (1, 2)),
    "adjacentAlly": ((-2,), (-1,)),
    "adjacentAllyOrSelf": ((-1, -2), (-1, -2)),
}
NO_TARGET = ((0,), (0,))

PREVIEWS = tuple(
    (*lead, *back)
    for lead in combinations(range(1, PARTY + 1), 2)
    for back in combinations([at for at in range(1, PARTY + 1) if at not in lead], 2)
)
"""Party positions, the leaders first."""


class Orders(Protocol):
    """The turn orders of a kind of format."""

    size: int

    def legal(self, request: Request) -> Flags:
        """Return which orders a request for a move or a switch allows."""
        ...

    def text(self, request: Request, order: int) -> str:
        """Return an order as the simulator reads it."""
        ...


class Doubles:
    """Two Pokémon a side: 2,025 joint orders."""

    size = TURN_ORDERS

    def legal(self, request: Request) -> Flags:
        """Return which joint orders are legal, `[2025]`."""
        if "forceSwitch" in request:
            forced = np.zeros((SLOT_ORDERS, SLOT_ORDERS), np.bool_)
            for first, second in _forced_pairs(request):
                forced[first, second] = True
            return forced.reshape(-1)
        party = request["side"]["pokemon"]
        bench = [SWITCH + at - 2 for at in range(2, len(party)) if not fainted(party[at])]
        slots = np.zeros((2, SLOT_ORDERS), np.bool_)
        for slot, active in enumerate(request["active"]):
            slots[slot, _slot_orders(slot, active, party[slot], bench)] = True
        joint: Flags = slots[0][:, None] & slots[1]
        for switch in bench:
            joint[switch, switch] = False
        joint[TERA:SWITCH, TERA:SWITCH] = False
        return joint.reshape(-1)

    def text(self, request: Request, order: int) -> str:
        """Return a joint order as the simulator reads it."""
        revives = [reviving(mon) for mon in request["side"]["pokemon"][:2]]
        pair = divmod(order, SLOT_ORDERS)
        return ", ".join(slot_text(one, revive) for one, revive in zip(pair, revives, strict=True))


class Singles:
    """One Pokémon a side: 14 orders."""

    size = SINGLES_ORDERS

    def legal(self, request: Request) -> Flags:
        """Return which orders are legal, `[14]`."""
        mask = np.zeros(SINGLES_ORDERS, np.bool_)
        party = request["side"]["pokemon"]
        bench = [at for at in range(1, len(party)) if not fainted(party[at])]
        if "forceSwitch" in request:
            if reviving(party[0]):
                mask[SINGLES_PASS] = not bench
                bench = [at for at in range(1, len(party)) if fainted(party[at])]
        else:
            active = request["active"][0]
            moves = enabled(active)
            mask[moves] = True
            if active.get("canTerastallize"):
                mask[[SINGLES_TERA + move for move in moves]] = True
            if active.get("trapped"):
                bench = []
        mask[[SINGLES_SWITCH + at - 1 for at in bench]] = True
        return mask

    def text(self, request: Request, order: int) -> str:
        """Return an order as the simulator reads it."""
        if order == SINGLES_PASS:
            return "pass"
        if order >= SINGLES_SWITCH:
            return f"switch {order - SINGLES_SWITCH + 2}"
        tera, move = divmod(order, SINGLES_TERA)
        return f"move {move + 1}{' terastallize' if tera else ''}"


def orders_of(format: Format) -> Orders:
    """Return the turn orders of a format."""
    return Doubles() if format.doubles else Singles()


def legal_previews(request: Request) -> Flags:
    """Return which of the 90 team previews a request allows."""
    party = len(request["side"]["pokemon"])
    if request.get("maxChosenTeamSize") != 4 or party < 4:
        raise GameError(
            f"A team preview of {request.get('maxChosenTeamSize')} out of {party} cannot be "
            "numbered; give teams of four to six Pokémon in a format that brings four."
        )
    return np.array([max(chosen) <= party for chosen in PREVIEWS], np.bool_)


def preview_text(choice: int) -> str:
    """Return a team preview as the simulator reads it."""
    return "team " + "".join(str(at) for at in PREVIEWS[choice])


def slot_text(order: int, revive: bool = False) -> str:
    """Return one slot's order in doubles as the simulator reads it."""
    if order == PASS:
        return "pass"
    if order >= SWITCH:
        return f"switch {order - SWITCH + 3}"
    tera, rest = divmod(order, TERA)
    move, target = rest // 5, rest % 5 - 2
    if revive:
        return f"switch {-target}"
    words = [f"move {move + 1}"]
    if target:
        words.append(str(target))
    if tera:
        words.append("terastallize")
    return " ".join(words)


def fainted(mon: Mon) -> bool:
    """Return whether a Pokémon of the party has fainted."""
    return bool(mon["condition"].endswith(" fnt"))


def reviving(mon: Mon) -> bool:
    """Return whether a Pokémon's slot must choose whom to revive."""
    return bool(mon.get("reviving"))


def enabled(active: Mon) -> list[int]:
    """Return which moves can be chosen; a locked one is alone in the list."""
    return [at for at, move in enumerate(active["moves"]) if not move.get("disabled")]


def _slot_orders(slot: int, active: Mon, mon: Mon, bench: list[int]) -> list[int]:
    if fainted(mon) or mon.get("commanding"):
        return [PASS]
    orders = [
        5 * at + target + 2
        for at in enabled(active)
        for target in CHOSEN_TARGETS.get(active["moves"][at].get("target"), NO_TARGET)[slot]
    ]
    if active.get("canTerastallize"):
        orders += [TERA + order for order in orders]
    return orders if active.get("trapped") else orders + bench


def _forced_pairs(request: Request) -> list[tuple[int, int]]:
    """Return the pairs of orders for a forced switch, as the simulator counts them.

    It asks for as many switches as there are slots to fill and Pokémon to fill them, and for passes
    in place of the rest. A revival counts as a switch but needs none to be left.
    """
    forced_slots, party = request["forceSwitch"], request["side"]["pokemon"]
    bench = [SWITCH + at - 2 for at in range(2, len(party)) if not fainted(party[at])]
    switches = min(sum(forced_slots), len(bench))
    passes = sum(forced_slots) - switches
    revives = [reviving(mon) for mon in party[:2]]
    options = [
        ([*(_revivable(party) if revive else bench), PASS] if forced else [PASS])
        for forced, revive in zip(forced_slots, revives, strict=True)
    ]
    return [
        (first, second)
        for first in options[0]
        for second in options[1]
        if _is_counted_right((first, second), forced_slots, revives, switches, passes)
    ]


def _is_counted_right(
    pair: tuple[int, int], forced_slots: list[bool], revives: list[bool], switches: int, passes: int
) -> bool:
    switched = set()
    for order, forced, revive in zip(pair, forced_slots, revives, strict=True):
        if not forced:
            continue
        if order == PASS:
            passes -= 1
        elif revive:
            switches = max(switches - 1, 0)
        else:
            switches -= 1
            switched.add(order)
        if passes < 0 or switches < 0:
            return False
    return switches == 0 and not (pair[0] == pair[1] and pair[0] in switched)


def _revivable(party: list[Mon]) -> list[int]:
    bench = [SWITCH + at - 2 for at in range(2, len(party)) if fainted(party[at])]
    # A place on the field is told by its target number: -1 is order 1, -2 is order 0.
    return bench + [1 - at for at in range(2) if fainted(party[at])]
