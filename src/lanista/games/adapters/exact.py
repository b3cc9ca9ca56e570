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

PolicyFunction = Callable[[NDArray[np.uint8], NDArray[np.bool_]], NDArray[Any]]
"""From observations `[n, length]` and masks `[n, choices]` to probabilities `[n, choices]`."""

OPENSPIEL_NAMES = {"kuhn": "kuhn_poker", "leduc": "leduc_poker", "liars_dice": "liars_dice"}


def exact_nash_conv(game_name: str, policy_fn: PolicyFunction) -> float:
    """Return NashConv: what the seats could gain by best responses to the policy, summed.

    `policy_fn` is called once, with every information state of the game.
    """
    if game_name not in OPENSPIEL_NAMES:
        known = ", ".join(sorted(OPENSPIEL_NAMES))
        raise GameError(f"{game_name!r} has no exact NashConv; it is known for {known}.")
    pyspiel = _pyspiel()
    states, observation, mask = _information_states(game_name)
    probability = _checked(policy_fn(observation, mask), mask)
    table = {
        state: [(int(action), float(row[action])) for action in np.flatnonzero(legal)]
        for state, row, legal in zip(states, probability, mask, strict=True)
    }
    return float(pyspiel.nash_conv(pyspiel.load_game(OPENSPIEL_NAMES[game_name]), table))


@cache
def _information_states(
    game_name: str,
) -> tuple[tuple[str, ...], NDArray[np.uint8], NDArray[np.bool_]]:
    """Return each information state's name in OpenSpiel, its observation and its legal mask."""
    game = _pyspiel().load_game(OPENSPIEL_NAMES[game_name])
    found: dict[str, tuple[list[float], list[int]]] = {}
    open_states = [game.new_initial_state()]
    while open_states:
        state = open_states.pop()
        if not state.is_chance_node():
            name = state.information_state_string()
            if name not in found:
                found[name] = (state.information_state_tensor(), state.legal_actions_mask())
        children = (state.child(action) for action in state.legal_actions())
        open_states.extend(child for child in children if not child.is_terminal())
    observation = np.array([tensor for tensor, _ in found.values()], np.uint8)
    mask = np.array([legal for _, legal in found.values()], np.bool_)
    # Shared by every later call, so a policy must not write into them.
    observation.flags.writeable = mask.flags.writeable = False
    return tuple(found), observation, mask


def _checked(given: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return probabilities that are what they say they are, or refuse."""
    probability = np.asarray(given, np.float64)
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
