"""Which policy gives hints where nobody named one. Knows nothing of what it says."""

from __future__ import annotations

from lanista.errors import LanistaError
from lanista.evaluation.lineup import Lineup, is_policy, searching
from lanista.nets.files.champions import champions_for


def adviser_word(lineup: Lineup, given: str | None = None) -> str:
    """Return the policy that gives hints: the one given, an opponent's, or the game's champion."""
    if given:
        return given
    words = [searching(word)[0] for word in lineup.players if is_policy(lineup.game, word)]
    champions = champions_for(lineup.game, len(lineup.players))
    candidates = [word for word in words if "+" not in word] + champions
    if not candidates:
        raise LanistaError(
            f"Nobody here can give a hint for {lineup.game}: no opponent is a policy and none "
            "comes along; name one with --hints POLICY."
        )
    return candidates[0]
