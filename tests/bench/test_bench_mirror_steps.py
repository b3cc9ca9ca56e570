"""Steps with exact values: the exact side by enumeration, and that too large a step goes round."""

import numpy as np
import pytest
from bench.histories import histories_of
from bench.mirror_steps import Values, network_run, table_run

from lanista.games.trees.exact import information_tree, nash_conv, profile_of


@pytest.fixture(scope="module")
def kuhn() -> Values:
    return Values("kuhn", histories_of("kuhn"))


def test_values_are_those_of_playing_a_choice_against_the_others_chances(kuhn):
    policy = kuhn.mask / kuhn.mask.sum(1, keepdims=True)
    advantage = kuhn.advantages(policy)
    np.testing.assert_allclose((policy * advantage).sum(1), 0, atol=1e-12)
    # After a bet a king gains 2 by a call and loses 1 by a fold, a jack loses 2 and 1.
    last = kuhn.histories.levels[-1].state
    gaps = np.abs(advantage[last, 0] - advantage[last, 1])
    assert sorted(set(np.round(gaps, 9))) == [1.0, 3.0]


def test_visits_add_up_to_the_decisions_of_a_match(kuhn):
    policy = kuhn.mask / kuhn.mask.sum(1, keepdims=True)
    # Uniform play: two decisions, and a third where a pass is followed by a bet.
    assert kuhn.visits(policy).sum() == pytest.approx(2.25)


def test_nash_conv_is_that_of_the_tree(kuhn):
    policy = kuhn.mask / kuhn.mask.sum(1, keepdims=True)
    number, tree = kuhn.histories.state_of_row, information_tree("kuhn")
    shown = profile_of(tree, lambda rows, mask: policy[[number[row.tobytes()] for row in rows]])
    assert kuhn.nash_conv(policy) == pytest.approx(nash_conv(tree, shown))


def test_a_step_that_is_large_beside_the_pull_goes_round_and_a_small_one_does_not(kuhn):
    large = table_run(kuhn, step=4.0, pull=0.05, iterations=400)
    small = table_run(kuhn, step=0.2, pull=0.05, iterations=400)
    assert small[-1] < 0.1
    assert large[-1] > 3 * small[-1]


def test_a_fitted_network_follows_the_table(kuhn):
    table = table_run(kuhn, step=0.2, pull=0.1, iterations=200)[-1]
    fitted = network_run(kuhn, step=0.2, pull=0.1, fit_steps=10, iterations=200)[-1]
    assert fitted == pytest.approx(table, abs=0.05)
