"""What tests allow to run is remembered in a list of their own, never in the user's.

Property tests have no limit of wall-clock time: how busy a machine is changes no outcome.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from lanista.games import trust

settings.register_profile("lanista", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lanista")


@pytest.fixture(scope="session", autouse=True)
def _own_trust_list(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get(trust.LIST)
    os.environ[trust.LIST] = str(tmp_path_factory.mktemp("trust") / "trusted.txt")
    yield
    if before is None:
        del os.environ[trust.LIST]
    else:
        os.environ[trust.LIST] = before


@pytest.fixture(scope="session", autouse=True)
def _own_priority() -> Iterator[None]:
    """Learners that run in this process must not slow the tests after them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "nice", lambda _: 0)
        yield


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Give a folder whose path is short enough for sockets in it."""
    folder = Path(tempfile.mkdtemp(prefix="lr", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
