"""Regret matching and its losses, against their formulas."""

import numpy as np
import torch

from lanista.learn.regret.matching import regret_loss, regret_matching, strategy_loss


def test_probabilities_are_in_proportion_to_positive_regrets_of_legal_choices():
    regrets = np.array([[1.0, 3.0, -2.0, 9.0]])
    mask = np.array([[True, True, True, False]])
    np.testing.assert_allclose(regret_matching(regrets, mask), [[0.25, 0.75, 0, 0]])


def test_without_a_positive_regret_the_largest_legal_one_is_taken():
    regrets = np.array([[-5.0, -1.0, 4.0], [0.0, -1.0, -2.0]])
    mask = np.array([[True, True, False], [True, True, True]])
    np.testing.assert_array_equal(regret_matching(regrets, mask), [[0, 1, 0], [1, 0, 0]])


def test_a_factor_of_all_regrets_changes_nothing():
    rng = np.random.default_rng(0)
    regrets, mask = rng.normal(size=(50, 4)), rng.random((50, 4)) < 0.7
    mask[:, 0] = True
    one, other = (regret_matching(regrets * factor, mask) for factor in (1.0, 1e-9))
    np.testing.assert_allclose(one, other)
    np.testing.assert_allclose(one.sum(1), 1)
    assert not one[~mask].any()


def test_what_a_network_says_of_illegal_choices_costs_nothing():
    mask = torch.tensor([[True, False, True]])
    target, weight = torch.tensor([[1.0, 0.0, -1.0]]), torch.ones(1)
    predicted = torch.tensor([[1.5, 77.0, -1.0]], requires_grad=True)
    loss = regret_loss(predicted, target, mask, weight)
    loss.backward()
    assert float(loss.detach()) == 0.25
    np.testing.assert_allclose(predicted.grad.numpy(), [[1.0, 0, 0]])


def test_equal_rows_may_be_added_up_before_fitting():
    """The gradient over samples of one row is that of their mean with their summed weight."""
    rng = np.random.default_rng(1)
    samples = torch.from_numpy(rng.normal(size=(7, 3))).float()
    weight = torch.from_numpy(rng.random(7)).float()
    mask = torch.ones(7, 3, dtype=torch.bool)
    mean = (samples * weight[:, None]).sum(0, keepdim=True) / weight.sum()
    chances, mean_chances = samples.softmax(-1), None
    mean_chances = (chances * weight[:, None]).sum(0, keepdim=True) / weight.sum()
    logits = torch.from_numpy(rng.normal(size=(1, 3))).float()
    for loss, many, one in (
        (regret_loss, samples, mean),
        (strategy_loss, chances, mean_chances),
    ):
        gradients = []
        for target, scale in ((many, weight), (one, weight.sum()[None])):
            said = logits.clone().requires_grad_()
            shown = (said.log_softmax(-1) if loss is strategy_loss else said).expand(len(target), 3)
            loss(shown, target, mask[: len(target)], scale).backward()
            gradients.append(said.grad)
        torch.testing.assert_close(*gradients)
