"""What tests allow to run is remembered in a list of their own, never in the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lanista.games import trust


@pytest.fixture(scope="session", autouse=True)
def _own_trust_list(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get(trust.LIST)
    os.environ[trust.LIST] = str(tmp_path_factory.mktemp("trust") / "trusted.txt")
    yield
    if before is None:
        del os.environ[trust.LIST]
    else:
        os.environ[trust.LIST] = before
