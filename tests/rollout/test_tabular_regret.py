"""With a table in place of networks, traversals and memories are linear CFR: it must converge."""

import numpy as np
import pytest

from lanista.games import registry
from lanista.games.trees.exact import information_tree, nash_conv, profile_of, values
from lanista.learn.regret.matching import regret_matching
from lanista.learn.regret.memory import RowMemory
from lanista.rollout.traversals import Branching, Traverser


def looked_up(memory, observation, mask):
    """Return a memory's means by view; 0 where it has none."""
    size = len(memory)
    table = dict(
        zip([row.tobytes() for row in memory.observation[:size]], memory.means(), strict=True)
    )
    zero = np.zeros(mask.shape[1])
    return np.array([table.get(row.tobytes(), zero) for row in observation])


def solved(game, branching, iterations, matches):
    """Return the average strategy of so many iterations, as a function of views."""
    make = lambda n: registry.make(game, slots=n, seed=0)  # noqa: E731
    spec = make(1).spec
    traverser, rng = Traverser(make, spec, branching), np.random.default_rng(0)
    view = spec.observation
    regrets, strategies = (
        RowMemory(view.length, spec.choices, view.dtype, 100_000) for _ in range(2)
    )

    def current(observation, mask):
        return regret_matching(looked_up(regrets, observation, mask), mask)

    def average(observation, mask):
        means = looked_up(strategies, observation, mask)
        means = np.where(means.any(1, keepdims=True), means, mask)
        return means / means.sum(1, keepdims=True)

    for iteration in range(iterations):
        for seat in range(2):
            brought = traverser.traverse(
                seat, 2 * iteration * matches + seat * matches, matches, current, rng
            )
            regrets.add(brought.regrets, iteration + 1.0, rng)
            strategies.add(brought.strategies, iteration + 1.0, rng)
    return average


@pytest.mark.parametrize(
    "branching", [Branching(), Branching("rollout", 1.0, 1.0)], ids=["external", "rollout"]
)
def test_kuhn_is_solved(branching):
    tree = information_tree("kuhn")
    profile = profile_of(tree, solved("kuhn", branching, iterations=150, matches=60))
    assert nash_conv(tree, profile) < 0.03
    assert values(tree, profile)[0] == pytest.approx(-1 / 18, abs=0.015)


@pytest.mark.slow
def test_leduc_comes_near_its_equilibrium():
    tree = information_tree("leduc")
    profile = profile_of(tree, solved("leduc", Branching(), iterations=300, matches=500))
    assert nash_conv(tree, profile) < 0.12
    assert values(tree, profile)[0] == pytest.approx(-0.0856, abs=0.02)
