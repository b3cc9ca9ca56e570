"""Regret minimisation: against a slow twin over histories, OpenSpiel's, and known equilibria."""

from collections import defaultdict
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from lanista.errors import LanistaError
from lanista.games.contract import Facts
from lanista.games.python_game import PythonGame, View
from lanista.games.trees.exact import information_tree
from lanista.games.trees.from_hooks import tree_of_hooks
from lanista.solving.tabular import TabularSolver, tree_digest


class SlowKuhn:
    """CFR over the histories of Kuhn poker, from the papers' formulas, with dictionaries."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.regret: Any = defaultdict(lambda: np.zeros(2))
        self.average: Any = defaultdict(lambda: np.zeros(2))

    def run(self, iterations: int) -> None:
        for t in range(1, iterations + 1):
            for seat in range(2):
                new_regret: Any = defaultdict(lambda: np.zeros(2))
                self.strategy = {key: self.match(value) for key, value in self.regret.items()}
                for cards in permutations(range(3), 2):
                    self.visit(cards, "", [1.0, 1.0], seat, new_regret, t)
                self.add(new_regret, t)

    def match(self, regret: Any) -> Any:
        positive = np.maximum(regret, 0)
        return positive / positive.sum() if positive.sum() > 0 else np.full(2, 0.5)

    def visit(self, cards: Any, moves: str, reach: Any, seat: int, new: Any, t: int) -> float:
        """Return what `seat` earns from here, each deal having a chance of one sixth."""
        if moves in ("pp", "bp", "bb", "pbp", "pbb"):
            return self.pay(cards, moves, seat)
        mover = len(moves) % 2
        key = (mover, cards[mover], moves)
        strategy = self.strategy.get(key, np.full(2, 0.5))
        values = np.zeros(2)
        for action, letter in enumerate("pb"):
            after = list(reach)
            after[mover] *= strategy[action]
            values[action] = self.visit(cards, moves + letter, after, seat, new, t)
        value = float(strategy @ values)
        if mover == seat:
            new[key] += reach[1 - seat] / 6 * (values - value)
            weight = t if self.method == "cfr+" else t * t
            # Every deal with this card comes by here, so each adds its half of the plan.
            self.average[key] += weight * reach[seat] * strategy / 2
        return value

    def pay(self, cards: Any, moves: str, seat: int) -> float:
        winner = int(cards[1] > cards[0])
        stake = 2 if moves.endswith("bb") else 1
        if moves.endswith("bp"):
            winner = len(moves) % 2  # Who bet: the other one passed last.
        return stake if winner == seat else -stake

    def add(self, new: Any, t: int) -> None:
        for key, gained in new.items():
            total = self.regret[key] + gained
            if self.method == "cfr+":
                self.regret[key] = np.maximum(total, 0)
            else:
                above = t**1.5 / (t**1.5 + 1)
                self.regret[key] = np.where(total > 0, above, 0.5) * total


@pytest.mark.parametrize("method", ["cfr+", "dcfr"])
def test_average_play_of_kuhn_is_that_of_the_slow_twin(method: Any) -> None:
    slow, solver = SlowKuhn(method), TabularSolver(information_tree("kuhn"), method)
    slow.run(25)
    solver.iterate(10)
    solver.iterate(15)
    rows, probability = solver.table()
    assert len(rows) == 12
    for row, shares in zip(rows, probability, strict=True):
        moves = "".join(
            "pb"[int(row[6 + 2 * i])] for i in range(3) if row[5 + 2 * i : 7 + 2 * i].any()
        )
        key = (int(row[:2].argmax()), int(row[2:5].argmax()), moves)
        expected = slow.average[key] / slow.average[key].sum()
        assert shares == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), [("kuhn", "kuhn_poker"), ("leduc", "leduc_poker")])
def test_cfr_plus_has_the_nash_conv_of_openspiels_at_every_iteration(
    ours: str, theirs: str
) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game(theirs)
    other, solver = pyspiel.CFRPlusSolver(game), TabularSolver(information_tree(ours), "cfr+")
    for _ in range(8):
        other.evaluate_and_update_policy()
        solver.iterate(1)
        expected = pyspiel.nash_conv(game, other.average_policy())
        assert solver.nash_conv() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", ["cfr+", "dcfr"])
def test_kuhn_comes_to_its_family_of_equilibria(method: Any) -> None:
    solver = TabularSolver(information_tree("kuhn"), method)
    solver.iterate(30_000)
    assert solver.nash_conv() < 3e-5
    assert solver.value() == pytest.approx(-1 / 18, abs=1e-5)
    bet = {}
    for row, shares in zip(*solver.table(), strict=True):
        bet[int(row[:2].argmax()), int(row[2:5].argmax()), tuple(row[5:].tolist())] = shares[1]
    opening, after_pass, after_bet = (0,) * 6, (1, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0)
    alpha = bet[0, 0, opening]
    assert 0 <= alpha <= 1 / 3 + 1e-3
    near = {"abs": 5e-3}
    assert bet[0, 2, opening] == pytest.approx(3 * alpha, **near)
    assert bet[0, 1, (1, 0, 0, 1, 0, 0)] == pytest.approx(alpha + 1 / 3, **near)
    assert bet[1, 0, after_pass] == pytest.approx(1 / 3, **near)
    assert bet[1, 1, after_bet] == pytest.approx(1 / 3, **near)


@pytest.mark.parametrize("method", ["cfr+", "dcfr"])
def test_leduc_comes_near_its_known_value(method: Any) -> None:
    solver = TabularSolver(information_tree("leduc"), method)
    solver.iterate(1000)
    assert solver.nash_conv() < 1e-3
    # -0.0856 chips for the first seat (Southey et al., 2005, and many since).
    assert solver.value() == pytest.approx(-0.0856, abs=1e-3)


def test_without_iterations_everything_is_as_likely() -> None:
    assert TabularSolver(information_tree("leduc"), "cfr+").nash_conv() == pytest.approx(4.747222)


def test_three_seats_are_refused() -> None:
    pytest.importorskip("pyspiel")
    tree = information_tree("openspiel:kuhn_poker(players=3)")
    with pytest.raises(LanistaError, match="two seats that play for each other's loss"):
        TabularSolver(tree, "cfr+")


class Blind(PythonGame):
    """Matching pennies in which both seats see the same nothing."""

    facts = Facts(seats=2, longest=1, simultaneous=True, zero_sum=True)
    observation = 1
    moves = 2

    def deal(self, rng: Any) -> list[int]:
        return []

    def apply(self, state: Any, moves: Any, rng: Any) -> Any:
        paid = 1 if moves[0] == moves[1] else -1
        return [paid, -paid]

    def view(self, state: Any, seat: int) -> View:
        return View([0.0], [0, 1])


def test_views_that_do_not_tell_states_apart_are_refused() -> None:
    with pytest.raises(LanistaError, match="the same view in different information states"):
        TabularSolver(tree_of_hooks(Blind(), 100), "cfr+")


def test_a_tree_is_told_from_others() -> None:
    assert tree_digest(information_tree("kuhn")) == tree_digest(information_tree("kuhn"))
    assert tree_digest(information_tree("kuhn")) != tree_digest(information_tree("leduc"))
