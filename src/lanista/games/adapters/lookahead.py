"""What OpenSpiel's rules prove of each move within a few plies: that it wins, or that it loses.

For games of two seats in turn, without chance, that hide nothing. A search that stops at the first
refutation and judges nothing but ends: no heuristic, no chance, no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

DEEPEST = 3
"""Plies that can be looked ahead; each costs about as many positions as there are moves."""


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


def proved(
    state: Any, seat: int, legal: Sequence[int], plies: int, choices: int
) -> NDArray[np.float32]:
    """Return for each of `choices` 1 where it wins for `seat`, -1 where it loses, and 0 otherwise.

    Within 1 ply: the move ends the match. Within 2: the other seat can win with its reply. Within
    3: whatever the reply, the seat can win with its next move. Where a move wins at once, no other
    is looked at any further; where a seat moves twice, not all that could be proved is.
    """
    outcomes = np.zeros(choices, np.float32)
    going_on = []
    for move in legal:
        after = state.child(move)
        if after.is_terminal():
            outcomes[move] = np.sign(after.player_return(seat))
        else:
            going_on.append((move, after))
    if plies > 1 and not (outcomes > 0).any():
        for move, after in going_on:
            outcomes[move] = _outcome(after, seat, plies - 1)
    return outcomes


def _outcome(state: Any, seat: int, plies: int) -> int:
    """Return what is proved of a position that goes on, for `seat`."""
    mover = state.current_player()
    sign = 1 if mover == seat else -1
    moves = [state.child(move) for move in state.legal_actions()]
    if any(after.is_terminal() and after.player_return(mover) > 0 for after in moves):
        return sign
    if plies < 2:
        return 0
    # All moves must be lost, so one that is not settles it.
    lost = all(_loses(after, mover) for after in moves)
    return -sign if lost else 0


def _loses(state: Any, seat: int) -> bool:
    """Whether `seat` has lost, or the other is to move and can win at once."""
    if state.is_terminal():
        return bool(state.player_return(seat) < 0)
    mover = state.current_player()
    if mover == seat:
        return False
    ends = (state.child(move) for move in state.legal_actions())
    return any(after.is_terminal() and after.player_return(mover) > 0 for after in ends)
