"""Folders whose paths are short enough for sockets."""

import shutil
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def short_folder():
    folder = Path(tempfile.mkdtemp(prefix="lr", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
