"""Proves that a game obeys the contract. Placeholder until the checker lands."""

from __future__ import annotations

from typing import Any


def check_game(game: Any) -> None:
    raise NotImplementedError
