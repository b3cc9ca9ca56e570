"""Bridges to other libraries' games, in both directions.

Each module imports its library when it is used, so that a plain installation can import all the
rest of the package. Without the library one sentence says what to install.
"""

from __future__ import annotations

from lanista.games.contract import GameError

OPENSPIEL = "openspiel"
ENVIRONMENTS = "environments"
"""Extras of the package, as `pip install` takes them."""


def missing_extra(library: str, extra: str) -> GameError:
    """Return the error of an adapter whose library is not installed."""
    return GameError(f"{library} is not installed; run in a checkout: pip install '.[{extra}]'")
