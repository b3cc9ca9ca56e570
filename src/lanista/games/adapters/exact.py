"""How far a policy is from equilibrium, exactly, for the small games that OpenSpiel can solve.

A policy is a function of our observations; they are laid out as OpenSpiel's information-state
tensors, so its solver can be fed with it. Knows nothing of networks or files.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.adapters import OPENSPIEL, missing_extra
from lanista.games.contract import GameError

PolicyFunction = Callable[[NDArray[Any], NDArray[np.bool_]], NDArray[Any]]
"""From observations `[n, length]` and masks `[n, choices]` to probabilities `[n, choices]`."""

OPENSPIEL_NAMES = {"kuhn": "kuhn_poker", "leduc": "leduc_poker", "liars_dice": "liars_dice"}
FAMILY = "openspiel:"
MOST_HISTORIES = 1_000_000
"""A game with more is not looked through."""
ELSEWHERE = "`lanista exploit` learns a best response, which is a lower bound."
"""What to do where NashConv cannot be computed."""
QUICK_HISTORIES = 100_000
"""Those of a game whose every evaluation may measure NashConv, unasked: about a second."""


def exact_nash_conv(
    game_name: str, policy_fn: PolicyFunction, most_histories: int = MOST_HISTORIES
) -> float:
    """Return NashConv: what the seats could gain by best responses to the policy, summed.

    `policy_fn` is called once, with every information state of the game. Games of OpenSpiel,
    `openspiel:NAME`, are taken where they have at most `most_histories`; where seats move at once,
    OpenSpiel lets them move in turn without seeing each other's moves.
    """
    if game_name not in OPENSPIEL_NAMES and not game_name.startswith(FAMILY):
        names = ", ".join([*sorted(OPENSPIEL_NAMES), f"small {FAMILY} games"])
        raise GameError(
            f"{game_name!r} has no exact NashConv, which is computed for {names}; {ELSEWHERE}"
        )
    pyspiel = _pyspiel()
    states, observation, mask = _information_states(game_name, most_histories)
    probability = _checked(policy_fn(observation, mask), mask)
    table = {
        state: [(int(action), float(row[action])) for action in np.flatnonzero(legal)]
        for state, row, legal in zip(states, probability, mask, strict=True)
    }
    return float(pyspiel.nash_conv(_load(game_name), table))


def _load(game_name: str) -> Any:
    """Return OpenSpiel's game; refuse one that its solver cannot be fed with."""
    pyspiel = _pyspiel()
    word = OPENSPIEL_NAMES.get(game_name) or game_name.removeprefix(FAMILY)
    try:
        game = pyspiel.load_game(word)
    except pyspiel.SpielError as error:
        raise GameError(f"OpenSpiel has no game {word!r}.") from error
    kind = game.get_type()
    if not kind.provides_information_state_tensor:
        raise GameError(
            f"{game_name} has no exact NashConv: the solver needs information-state tensors; "
            f"{ELSEWHERE}"
        )
    if kind.chance_mode == kind.ChanceMode.SAMPLED_STOCHASTIC:
        raise GameError(
            f"{game_name} has no exact NashConv: its chance cannot be listed; {ELSEWHERE}"
        )
    if kind.dynamics == kind.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(game)
    return game


def _turn_flags(game_name: str) -> int:
    """Return how many numbers OpenSpiel puts before a seat's tensor where it made moves in turn."""
    if game_name in OPENSPIEL_NAMES:
        return 0
    pyspiel = _pyspiel()
    kind = pyspiel.load_game(game_name.removeprefix(FAMILY)).get_type()
    # Whose turn it is and whose view it is, each a flag for every seat; ours do not see them.
    return 2 * _load(game_name).num_players() if kind.dynamics == kind.Dynamics.SIMULTANEOUS else 0


@cache
def _information_states(
    game_name: str, most_histories: int = MOST_HISTORIES
) -> tuple[tuple[str, ...], NDArray[Any], NDArray[np.bool_]]:
    """Return each information state's name in OpenSpiel, its observation and its legal mask."""
    rows_by_state: dict[str, tuple[list[float], list[int]]] = {}
    open_states, histories = [_load(game_name).new_initial_state()], 0
    while open_states:
        state = open_states.pop()
        histories += 1
        if histories > most_histories:
            raise GameError(
                f"{game_name} has no exact NashConv: it has more than {most_histories:,} "
                f"histories; {ELSEWHERE}"
            )
        if not state.is_chance_node():
            name = state.information_state_string()
            if name not in rows_by_state:
                rows_by_state[name] = (state.information_state_tensor(), state.legal_actions_mask())
        children = (state.child(action) for action in state.legal_actions())
        open_states.extend(child for child in children if not child.is_terminal())
    # As the games show it: ours in bytes, the adapter's in float32.
    dtype = np.float32 if game_name.startswith(FAMILY) else np.uint8
    flags = _turn_flags(game_name)
    tensors = [tensor[flags:] for tensor, _ in rows_by_state.values()]
    observation = np.array(tensors, dtype)
    mask = np.array([legal for _, legal in rows_by_state.values()], np.bool_)
    # Shared by every later call, so a policy must not write into them.
    observation.flags.writeable = mask.flags.writeable = False
    return tuple(rows_by_state), observation, mask


def _checked(policy_output: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return probabilities that are what they say they are, or refuse."""
    probability = np.asarray(policy_output, np.float64)
    if probability.shape != mask.shape:
        raise GameError(
            f"The policy gave probabilities of shape {list(probability.shape)}; "
            f"give one for each choice, {list(mask.shape)}."
        )
    # Float32 softmaxes sum to one within a few millionths.
    wrong = (probability < 0) | ~np.isfinite(probability) | ((probability > 0) & ~mask)
    bad = wrong.any(1) | ~(abs(probability.sum(1) - 1) < 1e-4)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise GameError(
            f"The policy gave {probability[row].tolist()} for information state {row}; "
            "give probabilities of legal choices that sum to 1."
        )
    scaled: NDArray[np.float64] = probability / probability.sum(1, keepdims=True)
    return scaled


def _pyspiel() -> Any:
    try:
        import pyspiel
    except ModuleNotFoundError as error:
        raise missing_extra("OpenSpiel", OPENSPIEL) from error
    return pyspiel
