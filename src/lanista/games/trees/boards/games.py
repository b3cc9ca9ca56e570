"""Which games are boards with hidden marks, and what their seats see.

Phantom tic-tac-toe, ours and OpenSpiel's, and OpenSpiel's dark hex, by our own rules: OpenSpiel is
not needed. Knows nothing of trees.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.trees.boards.rules import BoardRules

Marks = NDArray[np.uint16]
Rows = NDArray[Any]
_LINES = (0o700, 0o070, 0o007, 0o444, 0o222, 0o111, 0o421, 0o124)
_MOST_CELLS = 9
_HEX_STATES, _HEX_EMPTY = 9, 4
"""OpenSpiel has nine kinds of cells; the seats of dark hex see those around the middle one."""


@dataclass(frozen=True)
class BoardGame:
    """A game on a board, and how it is shown."""

    name: str
    rules: BoardRules
    show: Callable[[int, Marks, Marks, NDArray[np.int8]], Rows]
    """From a seat, its marks, the marks it found and its tries in order to what it sees."""


def board_game(name: str) -> BoardGame | None:
    """Return the game of a name, ours or `openspiel:NAME`; None: it is no such game, or larger."""
    if name == "phantom_ttt":
        return BoardGame(name, _tic_tac_toe(abrupt=False), _shown_tic_tac_toe(np.uint8))
    match = re.fullmatch(r"openspiel:(phantom_ttt|dark_hex)(?:\((.*)\))?", name)
    if match is None:
        return None
    settings = dict(word.split("=", 1) for word in (match[2] or "").split(",") if "=" in word)
    if settings.pop("obstype", "reveal-nothing") != "reveal-nothing":
        return None
    version = settings.pop("gameversion", "")
    if match[1] == "phantom_ttt":
        if settings or version not in ("", "classical", "abrupt"):
            return None
        return BoardGame(name, _tic_tac_toe(version == "abrupt"), _shown_tic_tac_toe(np.float32))
    return _dark_hex(name, settings, version)


def _dark_hex(name: str, settings: dict[str, str], version: str) -> BoardGame | None:
    size = settings.pop("board_size", "3")
    words = (settings.pop("num_rows", size), settings.pop("num_cols", size))
    if settings or version not in ("", "cdh", "adh") or not all(word.isdigit() for word in words):
        return None
    rows, columns = int(words[0]), int(words[1])
    if not 1 <= rows * columns <= _MOST_CELLS:
        return None
    rules = BoardRules(
        rows * columns,
        lambda seat, marks: connected(rows, columns, seat, marks),
        abrupt=version == "adh",
        draws=False,
    )
    return BoardGame(name, rules, _shown_hex)


def _tic_tac_toe(abrupt: bool) -> BoardRules:
    return BoardRules(
        9,
        lambda seat, marks: any(marks & line == line for line in _LINES),
        abrupt=abrupt,
        draws=True,
    )


def connected(rows: int, columns: int, seat: int, marks: int) -> bool:
    """Return whether marks on a hex board join a seat's edges: 0 top and bottom, 1 the sides."""
    cells = {divmod(cell, columns) for cell in range(rows * columns) if marks >> cell & 1}
    front = {cell for cell in cells if cell[seat] == 0}
    reached: set[tuple[int, int]] = set()
    while front:
        row, column = cell = front.pop()
        reached.add(cell)
        beside = [(row + a, column + b) for a, b in _NEIGHBOURS]
        front |= {*beside} & cells - reached
    last = (rows, columns)[seat] - 1
    return any(cell[seat] == last for cell in reached)


_NEIGHBOURS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))


def _shown_tic_tac_toe(dtype: Any) -> Callable[..., Rows]:
    """Return who shows empty, o and x by cell, then each own try in order."""

    def show(seat: int, marks: Marks, others: Marks, tries: NDArray[np.int8]) -> Rows:
        own, other = _bits(marks, 9), _bits(others, 9)
        crosses, noughts = (other, own) if seat else (own, other)
        board = np.concatenate([~(own | other), noughts, crosses], 1)
        return np.concatenate([board, _one_hot(tries)], 1).astype(dtype)

    return show


def _shown_hex(seat: int, marks: Marks, others: Marks, tries: NDArray[np.int8]) -> Rows:
    """Show each cell as one of nine kinds, then each own try in order."""
    cells = tries.shape[1]
    own, other = _bits(marks, cells), _bits(others, cells)
    sign = -1 if seat else 1
    kind = _HEX_EMPTY + sign * (own.astype(np.int8) - other)
    board = (kind[:, :, None] == np.arange(_HEX_STATES)).reshape(len(marks), -1)
    return np.concatenate([board, _one_hot(tries)], 1).astype(np.float32)


def _bits(sets: Marks, cells: int) -> NDArray[np.bool_]:
    bits: NDArray[np.bool_] = (sets[:, None] >> np.arange(cells, dtype=np.uint16) & 1) > 0
    return bits


def _one_hot(tries: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return a flag for each try and cell; none where nothing was tried."""
    hot: NDArray[np.bool_] = tries[:, :, None] == np.arange(tries.shape[1])
    return hot.reshape(len(tries), -1)
