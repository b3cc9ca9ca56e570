"""How far a policy is from equilibrium, exactly, for games whose tree can be walked.

A policy is a function of our observations. Owns which games have a tree and who walks it. Knows
nothing of networks or files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games import registry
from lanista.games.adapters.openspiel_tree import FAMILY as FAMILY
from lanista.games.adapters.openspiel_tree import tree_of_openspiel
from lanista.games.compiled import CompiledGame
from lanista.games.contract import GameError
from lanista.games.python_game import PythonGame
from lanista.games.trees.boards.games import BoardGame, board_game
from lanista.games.trees.boards.kept_values import KeptValues
from lanista.games.trees.boards.measure import BoardMeasure
from lanista.games.trees.boards.measure import Progress as Progress
from lanista.games.trees.from_hooks import tree_of_hooks
from lanista.games.trees.from_slots import tree_of_slots
from lanista.games.trees.sequence_form import best_value, gains, realise
from lanista.games.trees.tree import ELSEWHERE as ELSEWHERE
from lanista.games.trees.tree import InformationTree, Report

PolicyFunction = Callable[[NDArray[Any], NDArray[np.bool_]], NDArray[Any]]
"""From observations `[n, length]` and masks `[n, choices]` to probabilities `[n, choices]`."""
Profile = Sequence[NDArray[np.float64]]
"""For each seat, the probability of each sequence's last action."""

SMALL_GAMES = ("kuhn", "leduc", "liars_dice", "card_rps")
"""Our own games that are measured in full, unasked."""
MOST_HISTORIES = 1_000_000
"""A game with more is not looked through."""
QUICK_HISTORIES = 100_000
"""Those of a game whose every evaluation may measure NashConv, unasked: about a second."""


def unasked_histories(game: str) -> int:
    """Return how many histories a game may have that is looked through though nobody asked."""
    return MOST_HISTORIES if game in SMALL_GAMES else QUICK_HISTORIES


def information_tree(
    game: str,
    settings: Mapping[str, Any] | None = None,
    most: int = MOST_HISTORIES,
    report: Report | None = None,
) -> InformationTree:
    """Return the tree of a game with at most so many histories; a game without one is refused.

    `report` is told of progress. The same tree is kept for the next call.
    """
    digest = registry.file_digest(game) if registry.is_python_file(game) else ""
    key = (game, digest, tuple(sorted((settings or {}).items())))
    tree = _TREES.pop(key, None)
    if tree is None or tree.histories > most:
        # One that is too large is refused on the way.
        tree = _walked(game, settings or {}, most, report)
    _TREES[key] = tree
    while len(_TREES) > _MOST_KEPT:
        del _TREES[next(iter(_TREES))]
    return tree


_TREES: dict[tuple[Any, ...], InformationTree] = {}
_MOST_KEPT = 4


def _walked(
    name: str, settings: Mapping[str, Any], most: int, report: Report | None
) -> InformationTree:
    if name.startswith(FAMILY):
        if settings.get("lookahead"):
            raise GameError(
                f"{name} has no exact NashConv with lookahead, which its tree does not show; "
                f"{ELSEWHERE}"
            )
        return tree_of_openspiel(name, most, report)
    game = registry.make(name, slots=1, **settings)
    try:
        if isinstance(game, CompiledGame):
            return tree_of_slots(game, most, report)
        if isinstance(game, PythonGame):
            return tree_of_hooks(game, most, report)
    finally:
        game.close()
    raise GameError(
        f"{name} has no exact NashConv: only games of ours, games in Python and those of OpenSpiel "
        f"can be walked; {ELSEWHERE}"
    )


def exact_nash_conv(
    game_name: str,
    policy_fn: PolicyFunction,
    most_histories: int = MOST_HISTORIES,
    settings: Mapping[str, Any] | None = None,
    boards: bool = True,
    progress: Progress | None = None,
    kept: Path | None = None,
) -> float:
    """Return NashConv: what the seats could gain by best responses to the policy, summed.

    `policy_fn` is called with every information state, in batches where there are many. With
    `boards`, those with hidden marks are measured whatever their number of histories; that takes
    some seconds or minutes. `progress` is told of what takes long, and a file `kept` has what was
    computed so far, to go on from.
    """
    board = _board(game_name, settings)
    if board is None:
        tree = information_tree(game_name, settings, most_histories, _walked_so_far(progress))
        return nash_conv(tree, profile_of(tree, policy_fn))
    _refuse_large(board, most_histories, boards)
    return _measure(game_name).nash_conv(
        _checking(policy_fn), progress=progress, kept=KeptValues(kept)
    )


def refuse_inexact(
    game_name: str,
    most_histories: int = MOST_HISTORIES,
    settings: Mapping[str, Any] | None = None,
    boards: bool = True,
) -> None:
    """Refuse a game that `exact_nash_conv` would refuse; a tree is kept for its next call."""
    board = _board(game_name, settings)
    if board is None:
        information_tree(game_name, settings, most_histories)
    else:
        _refuse_large(board, most_histories, boards)


def _board(game_name: str, settings: Mapping[str, Any] | None) -> BoardGame | None:
    """Return the board with hidden marks that a game is, if it is one."""
    return None if any((settings or {}).values()) else board_game(game_name)


def _refuse_large(board: BoardGame, most_histories: int, boards: bool) -> None:
    if not boards and sum(board.rules.histories()) > most_histories:
        raise GameError(
            f"{board.name} has more than {most_histories:,} histories, and NashConv is measured "
            "where that is asked for: by `lanista exact`, or with evaluation.exact always."
        )


def _checking(policy_fn: PolicyFunction) -> PolicyFunction:
    return lambda rows, mask: checked(policy_fn(rows, mask), mask)


def _walked_so_far(progress: Progress | None) -> Report | None:
    return None if progress is None else lambda count: progress("histories walked", count, 0)


@lru_cache(maxsize=1)
def _measure(game_name: str) -> BoardMeasure:
    board = board_game(game_name)
    assert board is not None
    return BoardMeasure(board)


def profile_of(tree: InformationTree, policy_fn: PolicyFunction) -> list[NDArray[np.float64]]:
    """Return how a policy plays every seat of a tree."""
    return [
        seat.behaviour(checked(policy_fn(seat.rows, seat.mask), seat.mask)) for seat in tree.seats
    ]


def mixture_nash_conv(
    game_name: str,
    policies: Sequence[PolicyFunction],
    shares: Sequence[float],
    most_histories: int = MOST_HISTORIES,
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> float:
    """Return NashConv where every seat draws one of some policies before a match, by its share.

    Seats draw apart from each other. That is not the policy with the mean probabilities: what a
    seat has done says which policy it may have drawn, so plans are mixed, not choices.
    """
    if len(policies) != len(shares) or min(shares, default=-1) < 0 or abs(sum(shares) - 1) > 1e-6:
        raise GameError(
            f"{len(policies)} policies are mixed by the shares {list(shares)}; give each a share, "
            "none below 0, that sum to 1."
        )
    if _board(game_name, settings) is not None:
        functions = [_checking(policy_fn) for policy_fn in policies]
        return _measure(game_name).mixture_nash_conv(functions, shares, progress=progress)
    tree = information_tree(game_name, settings, most_histories, _walked_so_far(progress))
    mixed = [np.zeros(int(seat.first[-1])) for seat in tree.seats]
    for policy_fn, share in zip(policies, shares, strict=True):
        if share > 0:
            for seat, plan in enumerate(_plans(tree, profile_of(tree, policy_fn))):
                mixed[seat] += share * plan
    return _gained(tree, mixed)


def nash_conv(tree: InformationTree, profile: Profile) -> float:
    """Return what the seats could gain by best responses to a profile, summed."""
    return _gained(tree, _plans(tree, profile))


def _plans(tree: InformationTree, profile: Profile) -> list[NDArray[np.float64]]:
    """Return how likely each seat plays to each of its sequences, as far as that is up to it."""
    return [
        realise(seat.parent, seat.first, behaviour)
        for seat, behaviour in zip(tree.seats, profile, strict=True)
    ]


def _gained(tree: InformationTree, plans: Sequence[NDArray[np.float64]]) -> float:
    total = 0.0
    for number, seat in enumerate(tree.seats):
        gain = seat_gains(tree, plans, number)
        total -= float(gain @ plans[number])
        total += best_value(seat.parent, seat.first, gain)
    return total


def values(tree: InformationTree, profile: Profile) -> list[float]:
    """Return what each seat earns where all play a profile."""
    plans = _plans(tree, profile)
    return [float(seat_gains(tree, plans, seat) @ plans[seat]) for seat in range(len(tree.seats))]


def seat_gains(
    tree: InformationTree, plans: Sequence[NDArray[np.float64]], seat: int
) -> NDArray[np.float64]:
    """Return what each sequence of a seat earns where it ends, the others playing their plans."""
    others = [other for other in range(len(plans)) if other != seat]
    utility = tree.end_utility[seat]
    for other in others[1:]:
        utility = utility * plans[other][tree.end_sequence[other]]
    if not others:
        alone: NDArray[np.float64] = np.bincount(
            tree.end_sequence[seat], utility, len(plans[seat])
        ).astype(np.float64)
        return alone
    end_sequence = tree.end_sequence
    first = others[0]
    return gains(end_sequence[seat], end_sequence[first], utility, plans[first], len(plans[seat]))


def checked(policy_output: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
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
