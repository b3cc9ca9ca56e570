"""Whether poke-env is there. WorkerProcess from what imports it, so that one can ask first."""

from __future__ import annotations

from lanista.errors import LanistaError
from lanista.games.showdown.scripted.poke_env_bots import MISSING, is_installed


def refuse_without_poke_env() -> None:
    """Refuse to go on where poke-env is not installed."""
    if not is_installed():
        raise LanistaError(MISSING)
