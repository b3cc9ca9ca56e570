"""Positions of OpenSpiel's games as plain values for a page: a grid where their text shows one.

OpenSpiel's own text of a position is read as rows of signs; what is no grid stays text, and a seat
of a game that hides something is shown OpenSpiel's text of what it knows. Knows no rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from string import ascii_letters, digits
from typing import Any

from numpy.typing import NDArray

from lanista.games.contract import Game, Spec
from lanista.games.scenes import Board, Eyes, Facts, Scene, everybody, field_words

_EMPTY = ".-+_"
_SIGNS = {*ascii_letters, *_EMPTY, *"#*@"}
_CELL = re.compile(r"([a-z])(\d+)")
_POINT = re.compile(r"\((\d+), ?(\d+)\)")
_COLUMN = re.compile(r"[xo](\d+)")
_DROPPED = ("connect_four",)
"""Games in which a column is chosen and a piece falls."""


@dataclass(frozen=True)
class Grid:
    """The rows of a position's text, an empty cell as a point, and what its rows are called."""

    rows: tuple[str, ...]
    names: tuple[str, ...]
    letters: str = "abcdefghijklmnopqrstuvwxyz"
    """What columns are called."""


def read_grid(text: str) -> Grid | None:
    """Return the longest run of rows of one length in a text; None: there is no board in it."""
    if (placement := text.partition(" ")[0]).count("/") == 7:
        return _from_fen(placement)
    bare = [line.replace(" ", "") for line in text.splitlines()]
    letters = next((line.lower() for line in bare if _is_header(line)), Grid.letters)
    lines = [_row(line) for line in bare]
    runs = [list(run) for _, run in groupby(lines, key=lambda row: row and len(row[1]))]
    boards = [run for run in runs if run[0] is not None and len(run) > 1]
    if not boards:
        return None
    rows = [row for row in max(boards, key=len) if row is not None]
    signs = "".join(cells for _, cells in rows)
    empty = next((sign for sign in _EMPTY if sign in signs), "")
    cells = [row.replace(empty, ".") if empty else row for _, row in rows]
    return Grid(tuple(cells), tuple(name for name, _ in rows), letters)


def _is_header(bare: str) -> bool:
    """Whether a line names columns: letters from a on, perhaps without i."""
    return len(bare) > 1 and bare.isalpha() and bare[0] in "aA" and list(bare) == sorted(set(bare))


def _row(bare: str) -> tuple[str, str] | None:
    """Return the name and the signs of a line that may be a board's row."""
    unnamed = bare.lstrip(digits)
    cells = unnamed.rstrip(digits)
    if len(cells) < 2 or _is_header(cells) or not set(cells) <= _SIGNS:
        return None
    return bare[: len(bare) - len(unnamed)], cells


def _from_fen(placement: str) -> Grid:
    rows = ["".join("." * int(sign) if sign.isdigit() else sign for sign in row)
            for row in placement.split("/")]  # fmt: skip
    return Grid(tuple(rows), tuple("87654321"))


def scene(game: Game, slot: int, eyes: Eyes) -> Scene:
    """Return the board, or OpenSpiel's text of it."""
    inner = _inner(game, slot)
    if game.spec.facts.hidden and eyes != everybody(game.spec):
        return {"kind": "text", "text": _known(inner, eyes), "hidden": True}
    text = str(inner)
    grid = read_grid(text)
    if grid is None:
        return {"kind": "text", "text": text, "hidden": False}
    short = game.spec.name.partition(":")[2].partition("(")[0]
    return {
        "kind": "grid",
        "rows": list(grid.rows),
        "names": list(grid.names),
        "look": _look(short, text),
        "over": bool(inner.is_terminal()),
    }


def _look(short: str, text: str) -> str:
    """Return how a grid is drawn: chessmen, discs that fall, marks, or pieces on squares."""
    if text.partition(" ")[0].count("/") == 7:
        return "chess"
    if short in _DROPPED:
        return "discs"
    if short in ("hex", "dark_hex"):
        return "hex"
    return "marks" if "tic_tac_toe" in short or "ttt" in short else "pieces"


def _known(inner: Any, eyes: Eyes) -> str:
    if len(eyes) != 1 or inner.is_terminal():
        return ""
    (seat,) = eyes
    for text_of in (inner.observation_string, inner.information_state_string):
        try:
            return str(text_of(seat))
        except RuntimeError:
            continue
    return ""


def words(game: Game, slot: int, seat: int, head: int, choice: int) -> str:
    """Return what OpenSpiel calls a move in this position."""
    name = str(_inner(game, slot).action_to_string(seat, choice))
    column = _COLUMN.fullmatch(name)
    return f"{name[0]} into column {int(column[1]) + 1}" if column else name


def targets(game: Game, slot: int, seat: int, choice: int) -> tuple[str, ...]:
    """Return the cells that a move's name is about, in its order; or its column."""
    if game.spec.facts.hidden:
        return ()
    inner = _inner(game, slot)
    grid = read_grid(str(inner))
    if grid is None:
        return ()
    name = str(inner.action_to_string(seat, choice))
    if column := _COLUMN.fullmatch(name):
        return (f"column:{column[1]}",)
    if points := _POINT.findall(name):
        return tuple(f"cell:{row},{column}" for row, column in points)
    if cells := _CELL.findall(name):
        return tuple(
            f"cell:{_number(grid, row)},{grid.letters.find(letter)}" for letter, row in cells
        )
    return ()


def _number(grid: Grid, name: str) -> int:
    return grid.names.index(name) if name in grid.names else int(name) - 1


def seen(spec: Spec, observation: NDArray[Any]) -> Facts:
    """Return what a seat saw: the board where nothing is hidden, otherwise its tensor."""
    if spec.facts.hidden:
        return field_words(spec, observation)
    return [("position", "all of it; nothing is hidden in this game")]


def _inner(game: Any, slot: int) -> Any:
    return game.rules_state(slot).state


BOARD = Board(scene, words, targets, seen)
