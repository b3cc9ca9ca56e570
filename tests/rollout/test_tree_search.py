"""What a search proves and chooses, against exact minimax."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from lanista.games import registry
from lanista.games.contract import Facts
from lanista.games.open_positions import OpenPosition, open_position
from lanista.games.python_game import PythonGame, View
from lanista.games.streams import Stream
from lanista.rollout.tree_search import Node, Tree


class Heap(PythonGame):
    """Take one counter and pass, or two and go on; whoever takes the last one wins three points."""

    name = "heap"
    facts = Facts(seats=2, longest=40, zero_sum=True)
    observation = 2
    moves = 2

    def deal(self, rng: Stream) -> list[int]:
        return [9, 0]

    def apply(self, state: list[int], moves: dict[int, int], rng: Stream) -> list[float] | None:
        ((seat, move),) = moves.items()
        state[0] -= move + 1
        if state[0] == 0:
            return [3.0, -3.0] if seat == 0 else [-3.0, 3.0]
        state[1] = seat if move == 1 else 1 - seat
        return None

    def view(self, state: list[int], seat: int) -> View | None:
        if seat != state[1]:
            return None
        return View([state[0], seat], [0, 1] if state[0] > 1 else [0])


def uniform(position: OpenPosition) -> tuple[np.ndarray[Any, Any], float]:
    assert position.view is not None
    count = len(position.view.legal)
    return np.full(count, -np.log(count)), 0.0


def searched(
    position: OpenPosition, simulations: int, noise: Any = None, play_outs: Stream | None = None
) -> Tree:
    """Search without any knowledge; with `play_outs`, a random match judges a leaf."""
    tree = Tree(position, simulations, noise)
    while (leaf := tree.leaf()) is not None:
        log_prior, value = uniform(leaf)
        if play_outs is not None:
            value = leaf.play_out(play_outs) * (1 if leaf.seat == 0 else -1)
        tree.judged(log_prior, value)
    return tree


def start_of(game: Any) -> OpenPosition:
    return open_position(game, game.deal(Stream(1)), 0)


def played(game: Any, moves: list[int]) -> OpenPosition:
    position = start_of(game)
    for move in moves:
        position = position.after(move)
    return position


def minimax_of(key: Callable[[OpenPosition], Any]) -> Callable[[OpenPosition], float]:
    """Return the exact value of a position for seat 0; equal positions have equal keys."""
    value_by_key: dict[Any, float] = {}

    def value(position: OpenPosition) -> float:
        if position.view is None:
            return position.value
        if (at := key(position)) not in value_by_key:
            values = [value(position.after(move)) for move in position.view.legal]
            value_by_key[at] = max(values) if position.seat == 0 else min(values)
        return value_by_key[at]

    return value


@cache
def tic_tac_toe() -> Any:
    return registry.make("openspiel:tic_tac_toe")


def nodes_of(tree: Tree) -> list[Node]:
    assert tree.root is not None
    nodes, at = [tree.root], 0
    while at < len(nodes):
        nodes += [child for child in nodes[at].children if child is not None]
        at += 1
    return nodes


@pytest.mark.parametrize("moves", [[], [4], [4, 0, 8], [0, 4, 8, 1], [0, 1, 4, 8, 2]])
def test_bounds_hold_what_minimax_says_at_every_node(moves: list[int]) -> None:
    exact = minimax_of(lambda position: str(position.state))
    tree = searched(played(tic_tac_toe(), moves), 150)
    for node in nodes_of(tree):
        value = exact(node.position) * (1 if node.seat == 0 else -1)
        assert node.lowest <= value <= node.highest


def test_a_seat_that_moves_twice_is_searched_as_one_that_moves_twice() -> None:
    """Whose turn it is decides about a value's sign; here no largest return is known either."""
    exact = minimax_of(lambda position: tuple(position.state))
    tree = searched(start_of(Heap()), 2000)
    assert tree.root is not None
    assert tree.root.lowest == tree.root.highest == exact(tree.position)
    assert exact(tree.position.after(tree.choice())) == exact(tree.position)
    for node in nodes_of(tree):
        value = exact(node.position) * (1 if node.seat == 0 else -1)
        assert node.lowest <= value <= node.highest


@pytest.mark.parametrize("seat", [0, 1])
def test_a_search_that_knows_nothing_never_loses_at_tic_tac_toe(seat: int) -> None:
    """Every reply is tried; a position that was answered once is answered the same again."""
    exact = minimax_of(lambda position: str(position.state))
    waiting, answered, stream = [start_of(tic_tac_toe())], set(), Stream(5)
    while waiting:
        position = waiting.pop()
        if position.view is None:
            assert position.value * (1 if seat == 0 else -1) >= 0
            continue
        if position.seat != seat:
            waiting += [position.after(move) for move in position.view.legal]
            continue
        if str(position.state) in answered:
            continue
        answered.add(str(position.state))
        after = position.after(searched(position, 1600, play_outs=stream).choice())
        assert exact(after) * (1 if seat == 0 else -1) >= 0
        waiting.append(after)


@pytest.mark.parametrize(
    ("moves", "winning"),
    [
        ([3, 3, 2, 2], {1, 4}),  # Three in a row with both ends open.
        ([3, 0, 3, 0, 3], {3}),  # The only reply to three above each other.
    ],
)
def test_wins_and_defences_within_three_plies_are_found(
    moves: list[int], winning: set[int]
) -> None:
    tree = searched(played(registry.make("openspiel:connect_four"), moves), 300)
    assert tree.choice() in winning


def test_a_forced_win_is_proved_and_ends_the_search() -> None:
    tree = searched(played(registry.make("openspiel:connect_four"), [3, 3, 2, 2]), 20_000)
    assert tree.root is not None
    assert tree.root.lowest == 1.0
    assert tree.spent < 20_000


def test_no_noise_chooses_a_move_that_is_proved_worse() -> None:
    """Two in a row and the move: [0, 3, 1, 4] wins at once with 2."""
    position = played(tic_tac_toe(), [0, 3, 1, 4])
    for move in range(5):
        noise = np.zeros(5)
        noise[move] = 1000.0
        assert searched(position, 60, noise).choice() == 2


def test_a_search_spends_its_simulations_and_no_more() -> None:
    tree = searched(start_of(registry.make("openspiel:connect_four")), 37)
    assert tree.root is not None
    assert tree.spent == 37 == tree.root.visits.sum()


class Trap(PythonGame):
    """The first move loses at once; after any other the second seat has one move, and loses."""

    name = "trap"
    facts = Facts(seats=2, longest=2, zero_sum=True)
    observation = 1
    moves = 3

    def deal(self, rng: Stream) -> list[int]:
        return [0]

    def apply(self, state: list[int], moves: dict[int, int], rng: Stream) -> list[float] | None:
        ((seat, move),) = moves.items()
        if seat == 0 and move:
            state[0] = 1
            return None
        return [-1.0, 1.0] if seat == 0 else [1.0, -1.0]

    def view(self, state: list[int], seat: int) -> View | None:
        if seat != state[0]:
            return None
        return View([seat], [0, 1, 2] if seat == 0 else [0])


@pytest.mark.parametrize("simulations", [1, 2, 3])
def test_a_proved_loss_is_not_played_while_other_moves_are_untried(simulations: int) -> None:
    tree = Tree(start_of(Trap()), simulations, None)
    while (leaf := tree.leaf()) is not None:
        likeliest = leaf.seat == 0
        tree.judged(np.log([0.98, 0.01, 0.01]) if likeliest else np.zeros(1), 0.0)
    assert tree.choice() in (1, 2)
