"""Skips what needs Java and the engine where they are missing, and says how to get them."""

from __future__ import annotations

import pytest

from lanista.games import GameError
from lanista.games.microrts.engine import start


@pytest.fixture
def engine() -> None:
    """Start Java, in this process, once a test needs it."""
    try:
        start()
    except GameError as error:
        pytest.skip(f"MicroRTS cannot be played: {error}")
