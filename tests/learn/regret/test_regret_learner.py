"""Two networks that are fitted to regrets and to the average strategy."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from lanista.data.traversals import ChoiceRows
from lanista.errors import LanistaError
from lanista.games import registry
from lanista.learn.regret.learner import RegretLearner
from lanista.learn.regret.matching import regret_matching
from lanista.learn.regret.settings import Regret
from lanista.learn.settings import Learning
from lanista.nets.settings import Network

SPEC = registry.spec_of("leduc")


def learner_of(**regret):
    torch.set_num_threads(1)
    learning = Learning(policy="regret", lr=0.003, regret=Regret(**regret))
    return RegretLearner(SPEC, Network(width=32, layers=1), learning, updates=10, seed=4)


def views(count, seed=0):
    """Return views and masks of the first decisions of matches."""
    game = registry.make("leduc", slots=count, seed=seed)
    game.start(np.arange(count), np.arange(count))
    decisions = game.decisions()
    return decisions.observation.copy(), decisions.mask.copy()


def rows(count, seed=0):
    observation, mask = views(count, seed)
    values = np.random.default_rng(seed).normal(size=mask.shape) * mask
    return ChoiceRows(observation, mask, values)


def test_before_anything_is_known_all_legal_choices_are_alike():
    observation, mask = views(9)
    np.testing.assert_allclose(
        learner_of().strategy(observation, mask), mask / mask.sum(1, keepdims=True)
    )


def test_rows_that_came_often_are_played_by_their_samples_and_others_by_the_network():
    learner, brought = learner_of(steps=1, recall=0), rows(300)
    learner.learn_regrets(brought)
    memory = learner.memories["regrets"]
    expected = regret_matching(memory.means(), memory.mask[: len(memory)])
    said = learner.strategy(memory.observation[: len(memory)], memory.mask[: len(memory)])
    np.testing.assert_allclose(said, expected, atol=1e-9)
    unseen = np.ones((1, SPEC.observation.length), np.uint8)
    mask = np.array([[True, False, True]])
    alone = learner_of(recall=None)
    alone.load_state(deepcopy(learner.state()))
    for recall in (1e-9, 30.0):
        learner.regret = Regret(recall=recall)
        np.testing.assert_allclose(learner.strategy(unseen, mask), alone.strategy(unseen, mask))


def test_recall_is_a_mean_of_samples_and_network():
    learner, brought = learner_of(steps=1, recall=5.0), rows(300)
    learner.learn_regrets(brought)
    memory = learner.memories["regrets"]
    observation, mask = memory.observation[: len(memory)], memory.mask[: len(memory)]
    with torch.no_grad():
        network = learner.regrets(torch.from_numpy(observation)).double().numpy()
    count = memory.weight[: len(memory), None]
    mean = (count * memory.means() / learner.scale + 5 * network) / (count + 5)
    np.testing.assert_allclose(learner.strategy(observation, mask), regret_matching(mean, mask))


def test_the_strategy_becomes_regret_matching_on_mean_regrets():
    learner, brought = learner_of(steps=3000, recall=None), rows(300)
    learner.learn_regrets(brought)
    memory = learner.memories["regrets"]
    positive = np.maximum(memory.means(), 0)
    size = len(memory)
    assert size == 6  # Six cards, one first decision each.
    expected = positive / np.maximum(positive.sum(1, keepdims=True), 1e-9)
    said = learner.strategy(memory.observation[:size], memory.mask[:size])
    some = positive.sum(1) > 0.02
    assert some.sum() >= 3
    np.testing.assert_allclose(said[some], expected[some], atol=0.05)


def test_the_policy_becomes_the_average_strategy():
    learner, observation_mask = learner_of(average_steps=800), views(60)
    observation, mask = observation_mask
    strategy = np.where(mask, observation[:, 2:3] * 0.5 + 0.25, 0.0)
    strategy /= strategy.sum(1, keepdims=True)
    learner.learn_average(ChoiceRows(observation, mask, strategy))
    with torch.no_grad():
        log_probs = learner.best.heads.log_probs(
            learner.best(torch.from_numpy(observation)), torch.from_numpy(mask)
        )
    np.testing.assert_allclose(log_probs.exp().numpy(), strategy, atol=0.02)


def test_later_iterations_count_more_in_linear_cfr():
    learner = learner_of(steps=1, average_steps=1)
    brought = rows(40)
    weights = []
    for _ in range(3):
        weights.append(learner.weight)
        learner.learn_regrets(brought)
        learner.learn_average(brought)
    assert weights == [1, 2, 3]
    assert learner.memories["regrets"].weight[: len(learner.memories["regrets"])].sum() == 40 * 6


def test_rows_are_drawn_where_there_are_more_than_a_step_takes():
    learner = learner_of(batch=3, steps=5)
    learner.learn_regrets(rows(200))
    memory = learner.memories["regrets"]
    drawn = list(learner._batches(memory, memory.means(), 4000))
    assert {len(batch[0]) for batch in drawn} == {3}
    # Drawn by the root of a weight and counted by it again, rows count what they weigh.
    counted = np.zeros(len(memory))
    place = {row.tobytes(): n for n, row in enumerate(memory.observation[: len(memory)])}
    for observation, _, _, weight in drawn:
        for row, scale in zip(observation.numpy(), weight.numpy(), strict=True):
            counted[place[row.tobytes()]] += scale
    weight = memory.weight[: len(memory)]
    np.testing.assert_allclose(counted / counted.sum(), weight / weight.sum(), rtol=0.1)


def test_what_was_saved_learns_on_to_the_same_weights():
    one = learner_of(steps=3, average_steps=2, batch=4)
    one.learn_regrets(rows(50))
    one.learn_average(rows(50))
    other = learner_of(steps=3, average_steps=2, batch=4)
    other.load_state(deepcopy(one.state()))
    for learner in (one, other):
        learner.learn_regrets(rows(50, seed=2))
        learner.learn_average(rows(50, seed=3))
    for name in ("policy", "regrets"):
        pair = (getattr(learner, name).state_dict() for learner in (one, other))
        mine, theirs = pair
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)


@pytest.mark.parametrize(
    "network", [Network("lstm"), Network(dropout=0.1), Network(normalise_observations=5.0)]
)
def test_a_network_that_cannot_be_fitted_is_refused(network):
    with pytest.raises(LanistaError, match=r"learning\.policy"):
        RegretLearner(SPEC, network, Learning(policy="regret"), updates=1)


@pytest.mark.parametrize(
    "values",
    [
        {"steps": 0}, {"average_steps": 0}, {"batch": 0}, {"memory": 0}, {"branch_share": 0},
        {"branch_share": 1.5}, {"recall": -1}, {"explore": -0.1}, {"weight_power": 9},
    ],
)  # fmt: skip
def test_settings_out_of_bounds_are_refused_by_name(values):
    with pytest.raises(LanistaError, match=f"learning.regret.{next(iter(values))} is"):
        Regret(**values)


def test_settings_of_regrets_need_the_policy_that_reads_them():
    with pytest.raises(LanistaError, match=r"learning\.regret goes with policy regret, not ppo"):
        Learning(regret=Regret())
    with pytest.raises(LanistaError, match="policy regret needs precision fp32"):
        Learning(policy="regret", precision="bf16")
    with pytest.raises(LanistaError, match="policy regret predicts no views"):
        Learning(policy="regret", terms={"forecast": 0.1}, forecast=("bets",))
