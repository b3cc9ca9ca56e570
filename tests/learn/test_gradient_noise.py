"""The noise scale by its formula, and the minibatches that follow it."""

from __future__ import annotations

import math

import pytest
import torch
from made_up_unrolls import OneHead, unrolls_for

from lanista.errors import LanistaError
from lanista.learn.gradient_noise import EpochGradients, NoiseScale
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.nets.settings import Network

SPEC = OneHead().spec


def test_both_parts_are_estimated_without_bias_from_minibatches_of_any_size() -> None:
    torch.manual_seed(0)
    mean, deviation = torch.linspace(-1, 1, 50), torch.linspace(0.5, 4, 50)
    sizes, rounds = (8, 24, 64), 4000
    traces, squares = [], []
    for _ in range(rounds):
        epoch = EpochGradients()
        for rows in sizes:
            # The mean of so many decisions' gradients, as two parameters of 30 and 20 numbers.
            gradient = mean + deviation * torch.randn(50) / math.sqrt(rows)
            epoch.add([gradient[:30].clone(), None, gradient[30:].clone()], rows)
        measured = epoch.measured()
        traces.append(measured["trace"])
        squares.append(measured["square"])
    for estimates, truth in (
        (traces, deviation.square().sum()),
        (squares, mean.square().sum()),
    ):
        values = torch.stack(estimates)
        error = values.std() / math.sqrt(rounds)
        assert abs(float(values.mean() - truth)) < 4 * float(error)


def test_one_minibatch_measures_nothing() -> None:
    epoch = EpochGradients()
    epoch.add([torch.ones(3)], 10)
    assert epoch.measured() == {}


def test_a_minibatch_is_about_as_large_as_the_scale_within_bounds() -> None:
    noise = NoiseScale()
    noise.follow(300.0, 1.0)
    noise.follow(100.0, 3.0)
    assert noise.decisions == pytest.approx(100.0)
    assert noise.minibatches(1010, 32) == 10
    assert noise.minibatches(120, 32) == 2
    assert noise.minibatches(100_000, 32) == 32
    noise.follow(100.0, -100.0)
    assert noise.decisions == math.inf
    assert noise.minibatches(100_000, 32) == 2


def test_an_update_says_how_noisy_its_first_epoch_was() -> None:
    network, unrolls = Network(width=8, layers=1), unrolls_for(SPEC, 3, matches=40)
    settings = Learning(minibatches=4, epochs=2, lr=0.0, max_grad_norm=0.01)
    log = Learner(SPEC, network, settings, updates=4, seed=5).update(unrolls)
    # With a learning rate of 0 the gradients of all minibatches can be asked for again.
    learner = Learner(SPEC, network, settings, updates=4, seed=5)
    weights = {"policy": 1.0, "value": 0.5, "entropy": 0.01}
    gradients, rows = [], []
    for lanes in learner._minibatches(unrolls):
        assert lanes is not None
        minibatch = unrolls.take(lanes)
        ((inputs,),) = learner._loss_inputs([[minibatch]], weights)
        learned = learner._learned(weights, False, inputs, 1.0)
        present = [gradient for gradient in learned.gradients if gradient is not None]
        gradients.append(torch.cat([gradient.flatten() for gradient in present]).double())
        rows.append(minibatch.decisions)
    whole = sum(n * g for n, g in zip(rows, gradients, strict=True)) / sum(rows)
    small = sum(float(g.square().sum()) for g in gradients) / 4
    large = float(whole.square().sum())  # type: ignore[union-attr]
    trace = (small - large) / (sum(1 / n for n in rows) / 4 - 1 / sum(rows))
    assert log["gradient_noise/trace"] == pytest.approx(trace, rel=1e-3)
    assert log["gradient_noise/square"] == pytest.approx(large - trace / sum(rows), rel=1e-2)


def test_the_next_update_has_the_minibatches_that_the_noise_asks_for() -> None:
    network, unrolls = Network(width=8, layers=1), unrolls_for(SPEC, 3, matches=40)
    settings = Learning(minibatches=3, minibatches_by_noise=8)
    learner = Learner(SPEC, network, settings, updates=4, seed=5)
    assert len(learner._minibatches(unrolls)) == 3
    log = learner.update(unrolls)
    wanted = learner.noise.minibatches(unrolls.decisions, 8)
    assert len(learner._minibatches(unrolls)) == wanted
    learner.noise.trace, learner.noise.square = 0.2 * unrolls.decisions, 1.0
    assert len(learner._minibatches(unrolls)) == 5
    assert "gradient_noise/trace" in log


@pytest.mark.parametrize(
    "settings",
    [{"minibatches_by_noise": 8}, {"minibatches_by_noise": 3, "minibatches": 4}],
)
def test_bounds_that_leave_nothing_to_measure_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(LanistaError, match="noise is measured from at least 2 of them"):
        Learning(**settings)  # type: ignore[arg-type]
