"""Traversals bring regrets whose mean is the counterfactual regret, whatever is sampled."""

import numpy as np
import pytest

from lanista.errors import LanistaError
from lanista.games import Abilities, Facts, Head, PythonGame, View, registry
from lanista.games.trees.exact import information_tree, seat_gains
from lanista.games.trees.from_hooks import tree_of_hooks
from lanista.games.trees.sequence_form import realise
from lanista.rollout.outcome_traversals import OutcomeTraverser
from lanista.rollout.traversals import Branching, Traverser, refuse_game, sampled


class SecretSum(PythonGame):
    """Both seats choose at once and twice, the second time knowing what was chosen first."""

    name = "secret_sum"
    facts = Facts(seats=2, longest=2, zero_sum=True, simultaneous=True, hidden=True, chance=True)
    observation = 4
    moves = 3

    def deal(self, rng):
        return {"coin": rng.below(2), "first": None}

    def view(self, state, seat):
        first = state["first"] or (-1, -1)
        legal = (0, 1, 2) if state["first"] is None else (0, 2)
        return View([seat, state["coin"] if seat == 0 else -1, *first], legal)

    def apply(self, state, moves, rng):
        if state["first"] is None:
            state["first"] = (moves[0], moves[1])
            return None
        a, b = state["first"]
        gain = float((a - b) % 3 - 1) + (moves[0] == moves[1]) * (1 + state["coin"]) - 0.5 * a
        return [gain, -gain]


def mixed(observation, mask):
    """Play as some strategy does in which every legal choice has its own probability."""
    rows = observation.astype(np.float64)
    weights = (
        np.arange(1, mask.shape[1] + 1)
        * (1.3 + np.sin(rows @ np.arange(rows.shape[1])))[:, None]
        % 2.7
        + 0.2
    )
    weights = weights * mask
    return weights / weights.sum(1, keepdims=True)


def always_first(observation, mask):
    return np.eye(mask.shape[1])[mask.argmax(1)]


def uniform(observation, mask):
    return mask / mask.sum(1, keepdims=True)


def exact_regrets(tree, seat, strategy, own_reach=None):
    """Return the counterfactual regret of every choice by what the seat sees and may choose.

    With `own_reach`, a strategy, each is multiplied by the probability with which the seat itself
    comes there.
    """
    behaviour = [table.behaviour(strategy(table.rows, table.mask)) for table in tree.seats]
    plans = [realise(t.parent, t.first, b) for t, b in zip(tree.seats, behaviour, strict=True)]
    table, value = tree.seats[seat], seat_gains(tree, plans, seat).copy()
    reach = np.ones(len(value))
    if own_reach is not None:
        reach = realise(
            table.parent, table.first, table.behaviour(own_reach(table.rows, table.mask))
        )
    regrets = {}
    for state in reversed(range(len(table))):
        own = slice(table.first[state], table.first[state + 1])
        mean = value[own] @ behaviour[seat][own]
        row = np.zeros(table.mask.shape[1])
        row[table.action[own]] = (value[own] - mean) * reach[table.parent[state]]
        if table.mask[state].sum() > 1:
            regrets[table.rows[state].tobytes()] = row
        value[table.parent[state]] += mean
    return regrets


def sampled_regrets(make, spec, seat, strategy, branching, batches, matches):
    """Return the mean of sampled regrets for each match, and its standard error, by view."""
    traverser, rng = branching, np.random.default_rng(1)
    if isinstance(branching, Branching):
        traverser = Traverser(make, spec, branching)
    sums = []
    for batch in range(batches):
        brought = traverser.traverse(seat, batch * matches, matches, strategy, rng)
        means = {}
        for row, values in zip(brought.regrets.observation, brought.regrets.values, strict=True):
            means[row.tobytes()] = means.get(row.tobytes(), 0) + values / matches
        sums.append(means)
    keys = {key for means in sums for key in means}
    zero = np.zeros(spec.choices)
    stacked = {key: np.array([means.get(key, zero) for means in sums]) for key in keys}
    return {
        key: (rows.mean(0), rows.std(0, ddof=1) / np.sqrt(batches)) for key, rows in stacked.items()
    }


def close_to_exact(sampled, exact):
    assert sampled.keys() == exact.keys()
    for key, (mean, error) in sampled.items():
        assert (abs(mean - exact[key]) <= 5 * error + 1e-9).all(), (mean, error, exact[key])


GAMES = {
    "kuhn": (lambda n: registry.make("kuhn", slots=n, seed=3), lambda: information_tree("kuhn")),
    "a game of two at once": (
        lambda n: SecretSum(slots=n, seed=3),
        lambda: tree_of_hooks(SecretSum(), 10_000),
    ),
}


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_mean_of_externally_sampled_regrets_is_the_counterfactual_regret(name, seat):
    make, tree = GAMES[name]
    spec = make(1).spec
    found = sampled_regrets(make, spec, seat, mixed, Branching(), batches=40, matches=50)
    close_to_exact(found, exact_regrets(tree(), seat, mixed))


@pytest.mark.parametrize("seat", [0, 1])
def test_mean_of_rollouts_is_the_regret_times_the_reach_of_uniform_play(seat):
    make, tree = GAMES["kuhn"]
    branching = Branching("rollout", share=1.0, explore=1.0)
    found = sampled_regrets(make, make(1).spec, seat, mixed, branching, batches=40, matches=100)
    close_to_exact(found, exact_regrets(tree(), seat, mixed, own_reach=uniform))


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
def test_mean_of_regrets_in_leduc_is_the_counterfactual_regret(seat):
    make = lambda n: registry.make("leduc", slots=n, seed=3)  # noqa: E731
    found = sampled_regrets(make, make(1).spec, seat, mixed, Branching(), 50, 20_000)
    close_to_exact(found, exact_regrets(information_tree("leduc"), seat, mixed))


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("guess", [0.0, 3.0], ids=["without baseline", "with a wrong one"])
def test_mean_of_single_outcomes_is_the_regret_times_the_reach_of_uniform_play(seat, guess):
    make, tree = GAMES["kuhn"]
    baseline = lambda view: guess * np.cos(view @ np.ones((view.shape[1], 2)) + [0, 1])  # noqa: E731
    traverser = OutcomeTraverser(make, make(1).spec, 1.0, baseline)
    found = sampled_regrets(make, make(1).spec, seat, mixed, traverser, 40, 200)
    close_to_exact(found, exact_regrets(tree(), seat, mixed, own_reach=uniform))


def test_a_right_baseline_leaves_less_noise_than_none():
    make = GAMES["kuhn"][0]
    spreads = []
    spec = make(1).spec
    first = OutcomeTraverser(make, spec, 0.5, lambda view: np.zeros((len(view), 2)))
    outcomes = first.traverse(0, 0, 20_000, mixed, np.random.default_rng(0)).outcomes
    sums, counts = {}, {}
    for view, action, value in zip(outcomes.view, outcomes.action, outcomes.value, strict=True):
        key = (view.tobytes(), int(action))
        sums[key], counts[key] = sums.get(key, 0) + value, counts.get(key, 0) + 1

    def means(view):
        keys = [[(row.tobytes(), action) for action in range(2)] for row in view]
        guess = [[sums.get(k, 0) / counts.get(k, 1) for k in pair] for pair in keys]
        return np.array(guess).reshape(len(view), 2)

    for baseline in (lambda view: np.zeros((len(view), 2)), means):
        traverser = OutcomeTraverser(make, spec, 0.5, baseline)
        regrets = traverser.traverse(0, 0, 4000, mixed, np.random.default_rng(1)).regrets
        spreads.append(np.var(regrets.values))
    assert spreads[1] < 0.7 * spreads[0]


def test_a_clip_of_one_puts_what_came_of_a_choice_in_the_place_of_the_guess():
    make = GAMES["kuhn"][0]
    guess = lambda view: 3.0 * np.cos(view @ np.ones((view.shape[1], 2)) + [0, 1])  # noqa: E731
    traverser = OutcomeTraverser(make, make(1).spec, 0.5, guess, clip=1.0)
    brought = traverser.traverse(0, 0, 500, mixed, np.random.default_rng(0))
    rows, outcomes = brought.regrets, brought.outcomes
    earned = guess(outcomes.view)
    earned[np.arange(len(earned)), outcomes.action] = outcomes.value
    mean = (mixed(rows.observation, rows.mask) * earned).sum(1, keepdims=True)
    np.testing.assert_allclose(rows.values, np.where(rows.mask, earned - mean, 0.0))


def test_a_clip_above_every_factor_changes_nothing():
    make = GAMES["kuhn"][0]
    spec, values = make(1).spec, []
    for clip in (None, 4.0, 3.9):  # A quarter is the least chance by half exploring, of two.
        traverser = OutcomeTraverser(make, spec, 0.5, lambda view: np.zeros((len(view), 2)), clip)
        brought = traverser.traverse(0, 0, 2000, always_first, np.random.default_rng(0))
        values.append(brought.regrets.values)
    np.testing.assert_array_equal(values[0], values[1])
    assert np.abs(values[0] - values[2]).max() > 0.01


def test_a_game_that_cannot_be_saved_has_outcomes():
    make = lambda n: Lasting(slots=n)  # noqa: E731
    traverser = OutcomeTraverser(make, make(1).spec, 0.5, lambda view: np.zeros((len(view), 3)))
    brought = traverser.traverse(0, 0, 8, mixed, np.random.default_rng(0))
    assert len(brought.regrets) == len(brought.outcomes) == 16


def test_branch_share_thins_rollouts_out():
    make = GAMES["kuhn"][0]
    counts = []
    for share in (1.0, 0.25):
        traverser = Traverser(make, make(1).spec, Branching("rollout", share, 1.0))
        brought = traverser.traverse(0, 0, 4000, mixed, np.random.default_rng(0))
        counts.append(len(brought.regrets))
    assert counts[1] == pytest.approx(counts[0] / 4, rel=0.1)


def test_what_others_chose_is_their_strategy_where_they_had_a_choice():
    make = GAMES["kuhn"][0]
    traverser = Traverser(make, make(1).spec, Branching())
    brought = traverser.traverse(0, 0, 100, mixed, np.random.default_rng(0)).strategies
    assert len(brought)
    assert (brought.observation[:, 0] == 0).all()  # The seat that looks is not among them.
    assert (brought.mask.sum(1) > 1).all()
    np.testing.assert_array_equal(brought.values, mixed(brought.observation, brought.mask))


def test_illegal_choices_have_no_regret_and_the_strategy_has_none_on_average():
    make = lambda n: registry.make("leduc", slots=n, seed=0)  # noqa: E731
    traverser = Traverser(make, make(1).spec, Branching())
    regrets = traverser.traverse(1, 0, 200, mixed, np.random.default_rng(0)).regrets
    assert not regrets.values[~regrets.mask].any()
    strategy = mixed(regrets.observation, regrets.mask)
    assert abs((strategy * regrets.values).sum(1)).max() < 1e-9


def test_what_is_drawn_does_not_depend_on_how_many_slots_there_are():
    make = lambda n: registry.make("leduc", slots=n, seed=0)  # noqa: E731
    small, large = (Traverser(make, make(1).spec, Branching()) for _ in range(2))
    large.traverse(0, 10_000, 900, mixed, np.random.default_rng(5))
    one, other = (t.traverse(1, 7, 60, mixed, np.random.default_rng(9)) for t in (small, large))
    assert small.game.slots < large.game.slots
    assert one.decisions == other.decisions
    for name in ("observation", "mask", "values"):
        np.testing.assert_array_equal(getattr(one.regrets, name), getattr(other.regrets, name))
        np.testing.assert_array_equal(
            getattr(one.strategies, name), getattr(other.strategies, name)
        )


def test_too_many_branches_are_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr("lanista.rollout.traversals.MOST_SLOTS", 64)
    make = lambda n: registry.make("leduc", slots=n, seed=0)  # noqa: E731
    traverser = Traverser(make, make(1).spec, Branching())
    with pytest.raises(LanistaError, match=r"leduc.*set learning.regret.sampling to rollout"):
        traverser.traverse(0, 0, 60, mixed, np.random.default_rng(0))


def test_a_draw_is_never_a_choice_without_probability():
    probability = np.array([[0.0, 0.5, 0.5, 0.0]] * 4)
    drawn = sampled(probability, np.array([0.0, 0.49, 0.5, 1 - 2**-53]))
    np.testing.assert_array_equal(drawn, [1, 1, 2, 2])


class Alone(SecretSum):
    name = "alone"
    facts = Facts(seats=1, longest=2)


class Lasting(SecretSum):
    name = "lasting"
    abilities = Abilities(restorable=False)


class TwoHeads(SecretSum):
    name = "two_heads"
    moves = (Head("one", 2), Head("other", 3))


@pytest.mark.parametrize(
    ("game", "sentence"),
    [
        (Alone, "alone is not such a game; choose ppo"),
        (Lasting, "lasting cannot be saved in mid-match.*set learning.regret.sampling to outcome"),
        (TwoHeads, "two_heads have 2 heads; choose ppo"),
    ],
)
def test_a_game_that_cannot_be_traversed_is_refused(game, sentence):
    with pytest.raises(LanistaError, match=sentence):
        refuse_game(game().spec)
