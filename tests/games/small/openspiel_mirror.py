"""Rebuilds one of our small matches as an OpenSpiel state: same chance, same moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pyspiel = pytest.importorskip("pyspiel")

OPENSPIEL_NAMES = {
    "kuhn": "kuhn_poker",
    "leduc": "leduc_poker",
    "liars_dice": "liars_dice",
    "phantom_ttt": "phantom_ttt",
}
GAMES = sorted(OPENSPIEL_NAMES)

# What chance decided so far, in OpenSpiel's order, read off the whole state of our match.
CHANCE: dict[str, Callable[[dict[str, Any]], list[int]]] = {
    "kuhn": lambda state: state["cards"],
    "leduc": lambda state: [*state["cards"], state["public"]],
    "liars_dice": lambda state: state["dice"],
    "phantom_ttt": lambda state: [],
}
MOVES: dict[str, Callable[[dict[str, Any]], list[int]]] = {
    "kuhn": lambda state: state["moves"],
    "leduc": lambda state: state["moves"][0] + state["moves"][1],
    "liars_dice": lambda state: state["bids"] + [12] * state["doubted"],
    "phantom_ttt": lambda state: [cell for _, cell, _ in state["attempts"]],
}


class Mirror:
    """An OpenSpiel state that follows one of our matches."""

    def __init__(self, name: str) -> None:
        self.name, self.drawn = name, 0
        self.state = pyspiel.load_game(OPENSPIEL_NAMES[name]).new_initial_state()

    def follow_chance(self, ours: dict[str, Any]) -> None:
        """Let OpenSpiel's chance nodes have the outcomes that our match had."""
        while self.state.is_chance_node():
            self._apply(CHANCE[self.name](ours)[self.drawn])
            self.drawn += 1

    def move(self, action: int) -> None:
        self._apply(action)

    def _apply(self, action: int) -> None:
        assert action in self.state.legal_actions()
        self.state.apply_action(action)


def rebuilt(name: str, ours: dict[str, Any]) -> Any:
    """Return the OpenSpiel state of a whole match of ours; each of its steps must be legal."""
    mirror = Mirror(name)
    for move in MOVES[name](ours):
        mirror.follow_chance(ours)
        mirror.move(move)
    if not mirror.state.is_terminal():
        mirror.follow_chance(ours)
    return mirror.state
