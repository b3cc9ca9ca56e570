"""Reads a choice in the simulator's words, as its `Side.choose` does, into our numbers.

For players that speak as on a server: moves and Pokémon by name, passes left out, `default`. What
the simulator would refuse is None; so is a target in singles, where no player names one. It draws
the target of a move chosen by `default` when the move is made; here it is drawn when it is chosen.
Knows nothing of who speaks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanista.games.showdown.actions.orders import (
    CHOSEN_TARGETS,
    NO_TARGET,
    PASS,
    PREVIEWS,
    SINGLES_PASS,
    SINGLES_SWITCH,
    SINGLES_TERA,
    SLOT_ORDERS,
    SWITCH,
    TERA,
    Flags,
    Mon,
    enabled,
    fainted,
    reviving,
)
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.games.showdown.sim.views import Request
from lanista.games.streams import Stream

NAMED_TARGET = "normal"
"""What the simulator takes a move for that is chosen by name and is told without a target."""
STRUGGLE = "struggle"
_TARGET = re.compile(r"\s([+-]?[1-3])$")


def read_preview(text: str, party: int) -> int | None:
    """Return the number of a team preview such as `3142`; leaders in either order are one."""
    places = [int(digit) for digit in text if digit.isdigit()][:4]
    if len(set(places)) != 4 or not all(1 <= at <= party for at in places):
        return None
    return PREVIEWS.index((*sorted(places[:2]), *sorted(places[2:])))


def read_turn(
    request: Request, text: str, mask: Flags, foes: Sequence[int], stream: Stream
) -> int | None:
    """Return the order that `text` stands for, or None where the simulator refuses it.

    `mask` is what `request` allows, `foes` are the opponent's places, 1 and 2, where one stands.
    """
    spoken = _Spoken(request, foes, stream)
    pieces = text.split(",")
    if len(pieces) > spoken.places or not all(spoken.take(piece.strip()) for piece in pieces):
        return None
    spoken.skip()
    if len(spoken.orders) < spoken.places:
        return None
    order = spoken.orders[0]
    if spoken.places == 2:
        order = SLOT_ORDERS * order + spoken.orders[1]
    return order if mask[order] else None


class _Spoken:
    """A choice as far as it has been read: an order for each place."""

    def __init__(self, request: Request, foes: Sequence[int], stream: Stream) -> None:
        self.forced: list[bool] = request.get("forceSwitch") or []
        self.active: list[Mon] = request.get("active") or []
        self.party: list[Mon] = request["side"]["pokemon"]
        self.places = len(self.forced or self.active)
        self.foes, self.stream = list(foes) or [1, 2], stream
        self.orders: list[int] = []
        bench = sum(not fainted(mon) for mon in self.party[self.places :])
        self.switches_left = min(sum(self.forced), bench)

    def take(self, piece: str) -> bool:
        """Read one place's choice, or all that are left; return whether it can be one."""
        kind, _, rest = piece.partition(" ")
        if kind == "default":
            self._choose_rest()
            return True
        if kind == "pass":
            return self._add(PASS if self.places == 2 else SINGLES_PASS)
        self.skip()
        if kind == "switch":
            return self._add(self._switch(rest.strip()))
        return kind == "move" and self._add(self._move(rest.strip()))

    def skip(self) -> None:
        """Pass for places that have nothing to choose."""
        while (at := len(self.orders)) < self.places:
            mon = self.party[at]
            has_choice = (
                self.forced[at] if self.forced else not (fainted(mon) or mon.get("commanding"))
            )
            if has_choice:
                return
            self.orders.append(PASS if self.places == 2 else SINGLES_PASS)

    def _add(self, order: int | None) -> bool:
        if order is None or len(self.orders) >= self.places:
            return False
        self.orders.append(order)
        return True

    def _move(self, text: str) -> int | None:
        at = len(self.orders)
        if at >= self.places or at >= len(self.active):
            return None
        target, tera = 0, False
        while True:
            if target_match := _TARGET.search(text):
                target, text = int(target_match[1]), text[: target_match.start()].strip()
            elif text.endswith(" terastallize"):
                tera, text = True, text.removesuffix(" terastallize")
            else:
                break
        moves, number = self.active[at]["moves"], self._place_of(at, text)
        if number is None:
            return None
        target_kind = moves[number].get("target") or ("" if text.isdigit() else NAMED_TARGET)
        # Who is locked into a move, or has none left, is not heard on terastallizing.
        tera = tera and "target" in moves[number] and moves[number]["id"] != STRUGGLE
        if self.places == 1:
            return None if target else number + (SINGLES_TERA if tera else 0)
        if target not in CHOSEN_TARGETS.get(target_kind, NO_TARGET)[at]:
            return None
        if not moves[number].get("target"):
            target = 0  # It goes where it went before.
        return 5 * number + target + 2 + (TERA if tera else 0)

    def _place_of(self, at: int, text: str) -> int | None:
        ids = [move["id"] for move in self.active[at]["moves"]]
        if text.isdigit():
            return int(text) - 1 if 1 <= int(text) <= len(ids) else None
        return ids.index(to_id(text)) if to_id(text) in ids else None

    def _switch(self, text: str) -> int | None:
        for at, mon in enumerate(self.party):
            name, species = mon["ident"].partition(": ")[2], mon["details"].partition(",")[0]
            if text == str(at + 1) or text.lower() == name.lower() or to_id(text) == to_id(species):
                return self._to(at)
        return None

    def _to(self, at: int) -> int | None:
        """Return the order that brings in, or revives, a place of the party."""
        if self.places == 1:
            return SINGLES_SWITCH + at - 1 if at else None
        if at >= self.places:
            return SWITCH + at - 2
        slot = len(self.orders)
        return 1 - at if slot < self.places and reviving(self.party[slot]) else None

    def _choose_rest(self) -> None:
        """Choose for every place that is left, as the simulator does by itself."""
        self.skip()
        while (at := len(self.orders)) < self.places:
            self._add(self._first_switch(at) if self.forced else self._first_move(at))
            self.skip()

    def _first_switch(self, at: int) -> int | None:
        if reviving(self.party[at]):
            return self._to(next(i for i, mon in enumerate(self.party) if fainted(mon)))
        switches_so_far = sum(order < PASS for order in self.orders)
        if self.switches_left <= switches_so_far:
            return PASS if self.places == 2 else SINGLES_PASS
        switches = [self._to(i) for i in range(self.places, len(self.party)) if self._is_free(i)]
        return next(order for order in switches if order not in self.orders)

    def _is_free(self, at: int) -> bool:
        return not fainted(self.party[at])

    def _first_move(self, at: int) -> int:
        number = enabled(self.active[at])[0]
        target_kind = self.active[at]["moves"][number].get("target")
        if self.places == 1:
            return number
        target = 0
        if target_kind == "adjacentAllyOrSelf":
            target = -1 - at
        elif target_kind in CHOSEN_TARGETS:
            allowed = CHOSEN_TARGETS[target_kind][at]
            target = self.stream.choice([aim for aim in self.foes if aim in allowed] or allowed)
        return 5 * number + target + 2
