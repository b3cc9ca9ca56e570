"""A position of MicroRTS as plain values for a page. Knows nothing of how it is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanista.games.contract import Game, Spec
from lanista.games.microrts.boards import HITS, KIND, LOAD, OWNER
from lanista.games.microrts.layout import KINDS, LABELS, ORDER_OF, ORDERS, views
from lanista.games.scenes import Board, Eyes, Facts, Scene


def scene(game: Game, slot: int, eyes: Eyes) -> Scene:
    """Return what stands on each cell and what it is doing; nothing is hidden here."""
    shown: Any = game
    boards = shown.boards
    units = boards.units_now[slot, :, :-1]
    busy = boards.until[slot, :-1] > boards.time[slot]
    return {
        "kind": "microrts",
        "side": int(boards.side),
        "tick": int(boards.time[slot]),
        "longest": int(boards.longest),
        "stock": [int(amount) for amount in boards.stock[slot]],
        "units": [
            {
                "cell": int(cell),
                "unit": KINDS[units[KIND, cell] - 1],
                "owner": int(units[OWNER, cell]) - 1,
                "hits": int(units[HITS, cell]),
                "load": int(units[LOAD, cell]),
                "order": ORDERS[ORDER_OF[boards.order[slot, cell]]] if busy[cell] else "",
                "aim": int(boards.aim[slot, cell]) if busy[cell] else -1,
            }
            for cell in np.flatnonzero(units[KIND]).tolist()
        ],
    }


def words(game: Game, slot: int, seat: int, head: int, choice: int) -> str:
    """Return an order in words: which cell's unit does what, as the seat sees the board."""
    side = int(game.spec.settings["side"])
    row, column = divmod(int(views(side)[seat][head]), side)
    return f"{column + 1},{row + 1}: {LABELS[choice]}"


def seen(spec: Spec, observation: Any) -> Facts:
    """Return that a seat sees the whole board."""
    side = spec.settings["side"]
    return [("board", f"all {side} × {side} cells, stores and the clock; nothing is hidden")]


BOARD = Board(scene, words, seen=seen)
