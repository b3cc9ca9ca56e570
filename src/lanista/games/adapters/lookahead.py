"""What OpenSpiel's rules prove of each move within two plies: that it wins, or that it loses.

For games of two seats in turn, without chance, that hide nothing. Judges nothing but ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

DEEPEST = 2
"""Plies that can be looked ahead; the second looks at the square of a position's moves."""


def reason_against(game: Any) -> str:
    """Return why the rules of a game cannot be asked what a move leads to, or nothing."""
    kind = game.get_type()
    if kind.information != kind.Information.PERFECT_INFORMATION:
        return "it hides something, which lookahead would show; set lookahead to 0"
    if kind.chance_mode != kind.ChanceMode.DETERMINISTIC:
        return "chance decides with the moves what follows; set lookahead to 0"
    zero_sum = kind.utility == kind.Utility.ZERO_SUM
    if kind.dynamics != kind.Dynamics.SEQUENTIAL or game.num_players() != 2 or not zero_sum:
        return "it is not played by two seats in turn against each other; set lookahead to 0"
    return ""


def prove(
    state: Any, seat: int, legal: Sequence[int], plies: int, outcomes: NDArray[np.float32]
) -> None:
    """Write to `outcomes`, zeros before, 1 for each choice that wins for `seat`, -1 for losses.

    Within 1 ply: the move ends the match. Within 2: whoever is to move next can win at once. Where
    a move wins at once, no other is looked at any further.
    """
    going_on, won = [], False
    for move in legal:
        after = state.child(move)
        if after.is_terminal():
            worth = after.player_return(seat)
            outcomes[move] = np.sign(worth)
            won = won or worth > 0
        else:
            going_on.append((move, after))
    if plies > 1 and not won:
        for move, after in going_on:
            if _wins_at_once(after):
                outcomes[move] = 1 if after.current_player() == seat else -1


def _wins_at_once(state: Any) -> bool:
    """Whether whoever is to move has a move that wins."""
    mover = state.current_player()
    for move in state.legal_actions():
        after = state.child(move)
        if after.is_terminal() and after.player_return(mover) > 0:
            return True
    return False
