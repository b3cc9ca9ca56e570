"""The tree of a game of OpenSpiel, by walking its states.

Information states are OpenSpiel's own; what a seat sees in one is its information-state tensor,
as the adapter shows it. Where seats move at once, OpenSpiel lets them move in turn without seeing
each other's moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lanista.games.adapters import OPENSPIEL, missing_extra
from lanista.games.contract import GameError
from lanista.games.trees.tree import ELSEWHERE, InformationTree, Report, TreeBuilder

FAMILY = "openspiel:"


def tree_of_openspiel(name: str, most: int, report: Report | None = None) -> InformationTree:
    """Walk a game, `openspiel:NAME`; refuse one that has no such tree, or is too large."""
    game, flags = _load(name)
    builder = TreeBuilder(name, game.num_players(), game.num_distinct_actions(), most, report)
    waiting = [(game.new_initial_state(), 1.0, (0,) * game.num_players())]
    while waiting:
        state, chance, sequences = waiting.pop()
        builder.count()
        if state.is_terminal():
            builder.end(sequences, chance, state.returns())
        elif state.is_chance_node():
            waiting += [
                (state.child(action), chance * probability, sequences)
                for action, probability in state.chance_outcomes()
                if probability > 0
            ]
        else:
            seat, actions = state.current_player(), state.legal_actions()
            row = np.asarray(state.information_state_tensor()[flags:], np.float32)
            key, before = state.information_state_string(), sequences[seat]
            first = builder.first_sequence(seat, key, before, actions, row)
            for number, action in enumerate(actions):
                after = (*sequences[:seat], first + number, *sequences[seat + 1 :])
                waiting.append((state.child(action), chance, after))
    return builder.tree()


def _load(name: str) -> tuple[Any, int]:
    """Return OpenSpiel's game in turns, and how many numbers it puts before a seat's tensor."""
    try:
        import pyspiel
    except ModuleNotFoundError as error:
        raise missing_extra("OpenSpiel", OPENSPIEL) from error
    word = name.removeprefix(FAMILY)
    try:
        game = pyspiel.load_game(word)
    except pyspiel.SpielError as error:
        raise GameError(f"OpenSpiel has no game {word!r}.") from error
    kind = game.get_type()
    if not kind.provides_information_state_tensor:
        raise GameError(
            f"{name} has no exact NashConv: the solver needs information-state tensors; {ELSEWHERE}"
        )
    if kind.chance_mode == kind.ChanceMode.SAMPLED_STOCHASTIC:
        raise GameError(f"{name} has no exact NashConv: its chance cannot be listed; {ELSEWHERE}")
    if kind.dynamics == kind.Dynamics.SIMULTANEOUS:
        # Whose turn it is and whose view it is, each a flag for every seat; ours do not see them.
        return pyspiel.convert_to_turn_based(game), 2 * game.num_players()
    return game, 0
