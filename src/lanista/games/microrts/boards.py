"""The boards of all slots as arrays: what stands where, who is doing what, what may be done.

Follows the engine: units come from it after every tick, orders are noted as they are given, because
the engine does not show when an order will be done. What is legal is read off these arrays, for all
slots at once; the tests hold it against the engine's own list. Knows nothing of Java.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.microrts.engine import Units
from lanista.games.microrts.layout import (
    AIMS,
    ATTACK,
    BASE,
    CHOICES,
    HARVEST,
    MADE,
    MAKE,
    MOST_LEFT,
    MOVE,
    ORDER_OF,
    RESOURCE,
    RETURN,
    SEATS,
    TURNED,
    WAIT,
    observation,
    targets,
    views,
)

Orders = list[tuple[int, int]]
"""Cells of the engine's board and the choices of their units."""

HITS, LOAD, OWNER, KIND = range(4)
MATERIAL_SCALE = 20.0
"""A lead of this much material is worth 1 in shaping; a match begins with 16 a side."""


class Boards:
    """One board a slot. Cells are the engine's, seat 0's view, unless it says otherwise."""

    def __init__(self, slots: int, side: int, longest: int, units: Units) -> None:
        self.side, self.cells, self.longest, self.units = side, side * side, longest, units
        # One cell more, off the board, where nothing ever stands.
        shape = (slots, self.cells + 1)
        self.units_now = np.zeros((slots, 4, self.cells + 1), np.int16)
        self.stock = np.zeros((slots, SEATS), np.int64)
        self.time = np.zeros(slots, np.int64)
        self.order = np.zeros(shape, np.int16)
        """The choice a busy cell's unit is carrying out."""
        self.until = np.zeros(shape, np.int64)
        """The tick at which it is done; a unit is free when that is not in the future."""
        self.aim = np.full(shape, -1, np.int64)
        """The cell it is aimed at, or -1."""
        self.mask = np.zeros((slots, SEATS, self.cells, CHOICES), np.bool_)
        """What is legal, in each seat's own view."""
        self.asks = np.zeros((slots, SEATS), np.bool_)
        """Whether a seat has a choice at all."""
        self.spare = np.zeros((slots, SEATS), np.int64)
        """What is in store less what orders under way will cost."""
        self._durations = _durations(units)
        self._attacks = _attacks(units)
        self._targets = targets(side)
        self._views = views(side)
        self.length = observation(side).length

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return everything that belongs to slots."""
        whole = (self.units_now, self.stock, self.time, self.order, self.until, self.aim)
        return (*whole, self.mask, self.asks, self.spare)

    def begin(self, slot: int) -> None:
        """Forget what was played in a slot."""
        self.time[slot] = 0
        self.until[slot] = self.order[slot] = 0
        self.aim[slot] = -1

    def quiet_ticks(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return in how many ticks the next order is done, or the match is at its longest."""
        until, now = self.until[slots], self.time[slots]
        ends = np.where(until > now[:, None], until, self.longest).min(1)
        ticks: NDArray[np.int64] = np.minimum(ends, self.longest) - now
        return ticks

    def pass_ticks(self, slots: NDArray[np.int64], ticks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Move clocks on; return where an order is done now, without which nothing changes."""
        self.time[slots] += ticks
        done: NDArray[np.bool_] = (self.until[slots] == self.time[slots, None]).any(1)
        return done

    def take(self, slot: int, board: NDArray[Any], stock: tuple[int, int]) -> None:
        """Take over what the engine shows after a tick."""
        self.units_now[slot, :, :-1] = board
        self.stock[slot] = stock

    def settle(self, slots: NDArray[np.int64]) -> None:
        """Strike out orders that are done or whose unit is gone, and list what is legal now."""
        over = (self.until[slots] <= self.time[slots, None]) | (self.units_now[slots, KIND] == 0)
        self.order[slots] = np.where(over, WAIT, self.order[slots])
        self.until[slots] = np.where(over, 0, self.until[slots])
        self.aim[slots] = np.where(over, -1, self.aim[slots])
        self._list_legal(slots)

    def material(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what each side has in units, by cost and health, in hand and in store."""
        hits, load, owner, kind = self.units_now[slots].transpose(1, 0, 2)
        whole = np.maximum(self.units.hit_points[kind], 1)
        worth = self.units.cost[kind] * hits / whole + load
        sides = [(worth * (owner == 1 + seat)).sum(1) for seat in range(SEATS)]
        return np.stack(sides, 1) + self.stock[slots]

    def give(self, slot: int, answers: dict[int, NDArray[Any]]) -> dict[int, Orders]:
        """Note the orders of a tick and return those that the engine is to be told.

        `answers` are choices by cell, in each seat's own view. An order that clashes with an
        earlier one of the same seat (the same cell, or more than there is in store) is a wait.
        Where both seats want one cell, both units lose the time of the shorter order.
        """
        orders_by_seat = {
            seat: self._accept(slot, seat, answer) for seat, answer in answers.items()
        }
        for orders in orders_by_seat.values():
            for cell, choice in orders:
                self._note(slot, cell, choice, self._duration(slot, cell, choice))
        if all(orders_by_seat.get(seat) for seat in range(SEATS)):
            self._stop_where_both_enter(slot, orders_by_seat)
        return orders_by_seat

    def observe(self, slots: NDArray[Any], seats: NDArray[Any]) -> NDArray[np.uint8]:
        """Return what each of some seats sees."""
        rows, view = np.arange(len(slots))[:, None], self._views[seats]
        now = self.units_now[slots][rows, :, view].transpose(2, 0, 1)
        hits, load, owner, kind = now
        order = self.order[slots][rows, view]
        ticks_left = self.until[slots][rows, view] - self.time[slots, None]
        deposit = kind == RESOURCE
        # Owners 1 and 2 become own and enemy.
        mine = np.where(owner > 0, 1 + (owner - 1 + seats[:, None]) % 2, 0)
        planes = [kind, mine, hits, np.where(deposit, 0, load), np.where(deposit, load, 0)]
        planes += [
            ORDER_OF[order],
            self._aimed(slots, seats, view),
            np.clip(ticks_left, 0, MOST_LEFT),
        ]
        encoded = np.empty((len(slots), self.length), np.uint8)
        for number, plane in enumerate(planes):
            encoded[:, number * self.cells : (number + 1) * self.cells] = np.minimum(plane, 255)
        stock = np.minimum(self.stock[slots], 255)
        encoded[:, -3] = stock[rows[:, 0], seats]
        encoded[:, -2] = stock[rows[:, 0], 1 - seats]
        encoded[:, -1] = 255 * self.time[slots] // self.longest
        return encoded

    def _aimed(self, slots: Any, seats: Any, view: Any) -> NDArray[Any]:
        """Return 1 where an own order is aimed, 2 where an enemy's is, 3 where both are."""
        out = np.zeros((len(slots), self.cells + 1), np.int64)
        row, cell = np.nonzero(self.aim[slots] >= 0)
        own = self.units_now[slots[row], OWNER, cell] == 1 + seats[row]
        for bit, who in ((1, own), (2, ~own)):
            out[row[who], self.aim[slots[row[who]], cell[who]]] |= bit
        return np.take_along_axis(out, view, 1)

    def _accept(self, slot: int, seat: int, answer: NDArray[Any]) -> Orders:
        """Return a seat's orders without those that clash with earlier ones.

        Cells that orders under way will enter are no legal choice, so only its own count here.
        """
        entered: set[int] = set()
        left, orders = int(self.spare[slot, seat]), []
        for at in answer.nonzero()[0].tolist():
            cell, choice = int(self._views[seat, at]), int(answer[at])
            if seat:
                choice = int(TURNED[choice])
            if _enters(choice):
                target = int(self._targets[cell, choice])
                cost = int(self.units.cost[_made(choice)]) if _makes(choice) else 0
                if target in entered or cost > left:
                    continue
                entered.add(target)
                left -= cost
            orders.append((cell, choice))
        return orders

    def _stop_where_both_enter(self, slot: int, orders_by_seat: dict[int, Orders]) -> None:
        """Let both units lose the time of the shorter order where both seats want one cell."""
        order_by_target = [
            {int(self._targets[at]): at for at in orders_by_seat[seat] if _enters(at[1])}
            for seat in range(SEATS)
        ]
        for target in order_by_target[0].keys() & order_by_target[1].keys():
            pair = [order_by_target[seat][target] for seat in range(SEATS)]
            lost = min(self._duration(slot, *order) for order in pair)
            for cell, _ in pair:
                self._note(slot, cell, WAIT, lost)

    def _note(self, slot: int, cell: int, choice: int, ticks: int) -> None:
        self.order[slot, cell] = choice
        self.until[slot, cell] = self.time[slot] + ticks
        self.aim[slot, cell] = self._targets[cell, choice] if choice else -1

    def _duration(self, slot: int, cell: int, choice: int) -> int:
        return int(self._durations[self.units_now[slot, KIND, cell], choice])

    def _list_legal(self, slots: NDArray[np.int64]) -> None:
        self.mask[slots] = False
        self.mask[slots, :, :, WAIT] = True
        self.asks[slots] = False
        free_unit = (self.units_now[slots, OWNER] > 0) & (self.until[slots] == 0)
        row, cell = np.nonzero(free_unit)
        slot = slots[row]
        seat = self.units_now[slot, OWNER, cell] - 1
        legal = self._legal_of(slots, row, slot, cell, seat)
        turned = seat == 1
        legal[turned] = legal[turned][:, TURNED]
        self.mask[slot, seat, self._views[seat, cell]] = legal
        several = legal.sum(1) > 1
        self.asks[slot[several], seat[several]] = True

    def _legal_of(self, slots: Any, row: Any, slot: Any, cell: Any, seat: Any) -> NDArray[Any]:
        """Return `[units, choices]` for units that stand in `cell` of `slot`."""
        units, at = self.units, self._targets[cell]
        empty, self.spare[slots] = self._open(slots)
        spare = self.spare[slot, seat]
        kind = self.units_now[slot, KIND, cell]
        load = self.units_now[slot, LOAD, cell]
        there = self.units_now[slot[:, None], KIND, at]
        whose = self.units_now[slot[:, None], OWNER, at]
        room = empty[row[:, None], at]
        legal = np.zeros((len(cell), CHOICES), np.bool_)
        legal[:, WAIT] = True
        hauls, laden = units.harvests[kind], load > 0
        for first, may, good in (
            (MOVE, units.moves[kind], room),
            (HARVEST, hauls & ~laden, there == RESOURCE),
            (RETURN, hauls & laden, units.stores[there] & (whose == 1 + seat[:, None])),
        ):
            legal[:, first : first + 4] = may[:, None] & good[:, first : first + 4]
        for unit in range(len(MADE)):
            first = MAKE + 4 * unit
            can = units.makes[kind, BASE + unit] & (spare >= units.cost[BASE + unit])
            legal[:, first : first + 4] = can[:, None] & room[:, first : first + 4]
        legal[:, ATTACK:] = self._attacks[kind] & (whose[:, ATTACK:] == 2 - seat[:, None])
        return legal

    def _open(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which cells can be entered, and what each side can still spend."""
        empty = self.units_now[slots, KIND] == 0
        empty[:, -1] = False
        spare = self.stock[slots].copy()
        row, cell = np.nonzero(self.order[slots])
        slot = slots[row]
        choice = self.order[slot, cell]
        enters = (choice < HARVEST) | ((choice >= MAKE) & (choice < ATTACK))
        empty[row[enters], self.aim[slot[enters], cell[enters]]] = False
        makes = (choice >= MAKE) & (choice < ATTACK)
        cost = self.units.cost[_made(choice[makes])]
        np.subtract.at(spare, (row[makes], self.units_now[slot, OWNER, cell][makes] - 1), cost)
        return empty, spare


def _enters(choice: int) -> bool:
    """Return whether a choice puts a unit into the cell it is aimed at."""
    return MOVE <= choice < HARVEST or MAKE <= choice < ATTACK


def _makes(choice: int) -> bool:
    return MAKE <= choice < ATTACK


def _made(choice: Any) -> Any:
    """Return the kind of unit that a choice makes."""
    return BASE + (choice - MAKE) // 4


def _durations(units: Units) -> NDArray[np.int64]:
    """Return `[kinds, choices]`: how many ticks an order takes."""
    ticks = np.ones((len(units.cost), CHOICES), np.int64)
    ticks[:, MOVE:HARVEST] = ticks[:, RETURN:MAKE] = units.move_time[:, None]
    ticks[:, HARVEST:RETURN] = units.harvest_time[:, None]
    ticks[:, ATTACK:] = units.attack_time[:, None]
    for unit in range(len(MADE)):
        ticks[:, MAKE + 4 * unit : MAKE + 4 * unit + 4] = units.make_time[BASE + unit]
    return ticks


def _attacks(units: Units) -> NDArray[np.bool_]:
    """Return `[kinds, aims]`: how far each kind reaches."""
    distance = np.array([across * across + down * down for across, down in AIMS])
    return distance <= units.reach[:, None] ** 2
