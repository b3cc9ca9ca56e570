"""The noise scale by its formula, and the minibatches that follow it."""

from __future__ import annotations

import math

import pytest
import torch
from made_up_unrolls import OneHead, unrolls_for

from lanista.errors import LanistaError
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.learn.update.gradient_noise import NoiseScale, noise_of, square_of
from lanista.nets.settings import Network

SPEC = OneHead().spec


def test_both_numbers_are_estimated_without_bias_from_parts_of_any_size() -> None:
    torch.manual_seed(0)
    mean, deviation = torch.linspace(-1, 1, 50), torch.linspace(0.5, 4, 50)
    sizes, rounds = (8, 24, 64), 4000
    traces, squares = [], []
    for _ in range(rounds):
        # Each part's mean gradient by its share, as two parameters of 30 and 20 numbers.
        parts = [
            rows / 96 * (mean + deviation * torch.randn(50) / math.sqrt(rows)) for rows in sizes
        ]
        whole = square_of([sum(parts)])  # type: ignore[list-item]
        own = [square_of([part[:30], None, part[30:]]) for part in parts]
        measured = noise_of(own, sizes, whole)
        traces.append(measured["trace"])
        squares.append(measured["square"])
    for estimates, truth in (
        (traces, deviation.square().sum()),
        (squares, mean.square().sum()),
    ):
        values = torch.stack(estimates)
        error = values.std() / math.sqrt(rounds)
        assert abs(float(values.mean() - truth)) < 4 * float(error)


def test_a_minibatch_is_about_as_large_as_the_scale_within_bounds() -> None:
    noise = NoiseScale()
    noise.follow(300.0, 1.0)
    noise.follow(100.0, 3.0)
    assert noise.decisions == pytest.approx(100.0)
    assert noise.minibatches(1010, 32) == 10
    assert noise.minibatches(120, 32) == 1
    assert noise.minibatches(100_000, 32) == 32
    noise.follow(100.0, -100.0)
    assert noise.decisions == math.inf
    assert noise.minibatches(100_000, 32) == 1


@pytest.mark.parametrize("parts", [{"shards": 3}, {"accumulate": 2}, {"minibatches_by_noise": 8}])
def test_an_update_measures_the_parts_of_its_first_step_at_the_same_weights(
    parts: dict[str, int],
) -> None:
    network, unrolls = Network(width=8, layers=1), unrolls_for(SPEC, 3, matches=40)
    settings = Learning(minibatches=2, epochs=2, lr=0.1, normalise_advantages=False, **parts)  # type: ignore[arg-type]
    log = Learner(SPEC, network, settings, updates=4, seed=5).update(unrolls)
    learner = Learner(SPEC, network, settings, updates=4, seed=5)
    weights = {"policy": 1.0, "value": 0.5, "entropy": 0.01}
    first = unrolls.take(learner._minibatches(unrolls)[0])  # type: ignore[arg-type]
    learner._first_step = True
    pieces = [shard for piece in learner._pieces(first) for shard in piece]
    assert len(pieces) == parts.get("shards", parts.get("accumulate", 4))
    gradients, rows = [], [piece.decisions for piece in pieces]
    for piece in pieces:
        ((inputs,),) = learner._loss_inputs([[piece]], weights)
        learned = learner._learned(weights, False, inputs, 1.0)
        present = [gradient for gradient in learned.gradients if gradient is not None]
        gradients.append(torch.cat([gradient.flatten() for gradient in present]).double())
    whole = sum(n * g for n, g in zip(rows, gradients, strict=True)) / sum(rows)
    small = sum(float(g.square().sum()) for g in gradients) / len(rows)
    large = float(whole.square().sum())  # type: ignore[union-attr]
    trace = (small - large) / (sum(1 / n for n in rows) / len(rows) - 1 / sum(rows))
    assert log["gradient_noise/trace"] == pytest.approx(trace, rel=1e-3)
    assert log["gradient_noise/square"] == pytest.approx(large - trace / sum(rows), rel=1e-2)


def test_a_step_that_is_not_cut_measures_nothing() -> None:
    network, unrolls = Network(width=8, layers=1), unrolls_for(SPEC, 3, matches=40)
    log = Learner(SPEC, network, Learning(minibatches=4), updates=4).update(unrolls)
    assert not any(name.startswith("gradient_noise") for name in log)


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


def test_a_bound_below_the_first_updates_minibatches_is_refused() -> None:
    with pytest.raises(LanistaError, match="give no fewer at most than at first"):
        Learning(minibatches_by_noise=3, minibatches=4)
    with pytest.raises(LanistaError, match="precision fp16 scales them"):
        Learning(minibatches_by_noise=3, precision="fp16")
