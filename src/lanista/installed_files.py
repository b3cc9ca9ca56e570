"""Where files that come with the program lie: beside its source, or where pip put them."""

from __future__ import annotations

import sys
from pathlib import Path


def shared_folders(name: str) -> list[Path]:
    """Return the folders called `name` that may hold them, the source's own first."""
    package = Path(__file__).resolve()
    installed = Path("share", "lanista", name)
    # The last one is where `pip install --target` leaves them.
    return [package.parents[2] / name, Path(sys.prefix) / installed, package.parents[1] / installed]
