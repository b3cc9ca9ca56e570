"""Games by name or by class, and the names there are."""

from __future__ import annotations

from typing import Any

from lanista.games import registry
from lanista.games.contract import Game
from lanista.games.python_game import PythonGame


def make(game: str | type[PythonGame], *, slots: int = 1, seed: int = 0, **settings: Any) -> Game:
    """Return a game with `slots` matches side by side.

    `game` is a name (`game_names()`), `family:NAME`, a Python file, or a class of `PythonGame`.
    `seed` names the deals. `settings` are the game's own; a wrong one raises a `LanistaError` that
    names the nearest.
    """
    if isinstance(game, str):
        return registry.make(game, slots=slots, seed=seed, **settings)
    return game(slots, seed, **settings)


def game_names() -> list[str]:
    """Return the names of all games: the built-in ones, then those of installed packages."""
    return registry.names()
