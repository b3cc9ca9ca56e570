"""One real Showdown server for all tests of live players on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lanista.games.showdown.local_servers.server import Server


@pytest.fixture(scope="session")
def showdown_url() -> Iterator[str]:
    with Server() as server:
        yield server.url
