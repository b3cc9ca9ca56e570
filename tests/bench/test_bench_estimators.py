"""Estimators against exact advantages: the exact side by hand, and a whole measurement on Kuhn."""

import numpy as np
import pytest
import torch
from bench.estimators import ESTIMATORS, Truth, errors, measured, trained
from bench.histories import histories_of

from lanista.games.trees.exact import information_tree, nash_conv, profile_of, values


def profile(seed: int, mask: np.ndarray) -> np.ndarray:
    weight = np.random.default_rng(seed).random(mask.shape) * mask
    return weight / weight.sum(1, keepdims=True)


@pytest.mark.parametrize("game", ["kuhn", "leduc"])
def test_histories_have_the_value_that_the_tree_has(game):
    histories = histories_of(game)
    policy = profile(1, histories.mask)
    number = histories.state_of_row
    tree = information_tree(game)
    shown = profile_of(tree, lambda rows, mask: policy[[number[row.tobytes()] for row in rows]])
    first = histories.levels[0]
    q = histories.action_values(policy)[0]
    value = (histories.reach(policy)[0] * (policy[first.state] * q).sum(1)).sum()
    assert value == pytest.approx(values(tree, shown)[0], abs=1e-12)
    assert nash_conv(tree, shown) > 0


def test_an_action_value_in_kuhn_is_what_the_rules_pay():
    histories = histories_of("kuhn")
    policy = histories.mask / histories.mask.sum(1, keepdims=True)
    q = histories.action_values(policy)
    by_state = histories.by_state(q, histories.reach(policy))
    # After a bet, a king that calls wins 2, a jack loses 2, and a queen is even; a fold costs 1.
    last = histories.levels[-1].state
    assert sorted(set(np.round(by_state[last].max(1), 9))) == [-1.0, 0.0, 2.0]
    # What a choice costs its actor is paid to the other seat, one decision earlier.
    cost = np.zeros(histories.mask.shape)
    cost[histories.levels[-1].state] = 0.5
    dearer = histories.action_values(policy, cost)
    assert np.array_equal(dearer[-1], q[-1])
    goes_on = histories.levels[1].child >= 0
    np.testing.assert_allclose((dearer[1] - q[1])[goes_on], 0.5)


def test_bias_and_deviation_are_those_of_the_numbers_drawn():
    histories = histories_of("kuhn")
    policy = histories.mask / histories.mask.sum(1, keepdims=True)
    truth = Truth(histories, policy, np.zeros(policy.shape))
    draw = np.random.default_rng(2)
    state = np.repeat(np.arange(len(policy)), 4000)
    drawn = 0.3 + 2.0 * draw.standard_normal((len(state), policy.shape[1]))
    numbers = errors(drawn, state, truth)
    assert numbers["bias"] == pytest.approx(0.3, abs=0.02)
    assert numbers["deviation"] == pytest.approx(2.0, abs=0.02)


def test_on_kuhn_the_correction_takes_the_bias_away_and_the_clip_of_rows_brings_it_back():
    torch.manual_seed(0)
    loop = trained("kuhn", 60)
    lines = {line["estimator"]: line for line in measured("kuhn", loop, 20_000)}
    loop.close()
    assert set(lines) == set(ESTIMATORS)
    plain, full = lines["Q of every choice"], lines["Q corrected, λ 1"]
    assert full["bias"] < 0.5 * plain["bias"]
    assert full["deviation"] > plain["deviation"]
    assert full["deviation"] < lines["V-trace of the paper"]["deviation"]
