"""Builds arena positions for tests and plays them by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lanista.games.arena import Arena
from lanista.games.arena.layout import match_dtype

FIRE_AT, ABILITY_AT, INTERACT_AT = 44, 46, 49


def fresh(slots: int = 1, seed: int = 0, **settings: Any) -> Arena:
    """Return an arena with match i started in slot i."""
    game = Arena(slots, seed, **settings)
    game.start(np.arange(slots), np.arange(slots))
    return game


def state(game: Arena, slot: int = 0) -> Any:
    """Return a copy of a match's fields."""
    return game.save([slot])["matches"].view(match_dtype(game.spec.seats))[0, 0]


@contextmanager
def edited(game: Arena, slot: int = 0) -> Iterator[Any]:
    """Give a match's fields to change; the match takes them up when the block ends."""
    saved = game.save([slot])
    yield saved["matches"].view(match_dtype(game.spec.seats))[0, 0]
    game.load([slot], saved)


def place(match: Any, *places: tuple[float, float]) -> None:
    """Put seat i at the i-th place."""
    for seat, (x, y) in enumerate(places):
        match["body"][seat]["x"], match["body"][seat]["y"] = x, y


def put_item(match: Any, index: int, x: float, y: float, kind: int) -> None:
    item = match["item"][index]
    item["x"], item["y"], item["kind"] = x, y, kind


def order(
    move: tuple[float, float] = (0, 0),
    aim: tuple[float, float] | None = None,
    ability: int = 0,
    interact: int = 0,
) -> list[int]:
    """Return an action; axes in [-1, 1], with an `aim` it fires."""
    x, y = aim or (0, 0)
    axes = [round(value * 5) + 5 for value in (*move, x, y)]
    return [*axes, int(aim is not None), ability, interact]


def play(game: Arena, *orders: list[int], times: int = 1) -> None:
    """Answer every pending decision of slot 0 by its seat's order, `times` times."""
    for _ in range(times):
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        game.act(rows, np.array([orders[seat] for seat in decisions.seat], np.int32))


def mask_of(game: Arena, seat: int) -> Any:
    decisions = game.decisions()
    return decisions.mask[decisions.seat == seat][0].copy()


def view_of(game: Arena, seat: int) -> dict[str, Any]:
    """Return a seat's observation by field."""
    decisions = game.decisions()
    row = decisions.observation[decisions.seat == seat][0].copy()
    layout = game.spec.observation
    return {field.name: row[layout.slice_of(field.name)] for field in layout.fields}
