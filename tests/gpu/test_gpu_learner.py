"""A learner's steps on a GPU: none waits for its numbers, and a broken one is not taken."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch

from lanista.data.trajectory import Unrolls
from lanista.games import registry
from lanista.learn import returns
from lanista.learn.learner import BrokenLossError, Learner
from lanista.learn.settings import Learning
from lanista.learn.update.batch import to_device
from lanista.learn.update.minibatches import cut, cut_there
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor

DEVICE = "cuda"
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

TERMS = {"policy": 1.0, "value": 0.5, "entropy": 0.01, "upgo": 0.1, "magnet": 0.1}
CASES: list[dict[str, Any]] = [
    {"policy": "ppo"},
    {"policy": "ppo", "precision": "bf16", "keep_advantages": 0.5, "critic_sees": "seat"},
    {"policy": "vtrace", "precision": "fp16"},
    {"policy": "neurd", "critic_output": "q", "term_gradients_every": 1},
]


def learner_of(**told: Any) -> tuple[Learner, Unrolls]:
    game = registry.make("leduc", slots=64, seed=1)
    settings = Learning(**{"terms": TERMS, "minibatches": 3, "epochs": 2, **told})
    network = Network(width=32, layers=2)
    learner = Learner(game.spec, network, settings, updates=9, device=DEVICE)
    alone = Learner(game.spec, network, Learning(), updates=9)
    collector = Collector(game, Actor(alone.policy, 3, alone.critic), unroll_length=8)
    return learner, collector.whole_matches(256)


@contextmanager
def no_waiting() -> Iterator[None]:
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


@pytest.mark.parametrize("told", CASES)
def test_no_step_waits_for_the_gpu(told: dict[str, Any]) -> None:
    learner, unrolls = learner_of(**told)
    learner.update(unrolls)  # Libraries are loaded on the way.
    moved = to_device(unrolls, learner.device, whole=cut_there(learner.settings, learner.network))
    weights = dict(learner.settings.terms)
    parts = cut(moved, learner._minibatches(moved))
    learner._step(next(parts), weights)  # How long unrolls are is asked once, at first.
    with no_waiting():
        for part in parts:
            readings = learner._step(part, weights)
    assert readings.rows > 0


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_broken_loss_leaves_the_weights(value: float) -> None:
    learner, unrolls = learner_of(minibatches=1, epochs=3)
    learner.update(unrolls)
    before = [parameter.detach().clone() for parameter in learner.parameters]
    steps = [int(state["step"]) for state in learner.optimiser.state.values()]
    reward = unrolls.reward.copy()
    reward[5] = value
    with pytest.raises(BrokenLossError, match="at update 1; the weights were left"):
        learner.update(replace(unrolls, reward=reward))
    assert all(map(torch.equal, before, learner.parameters))
    assert [int(state["step"]) for state in learner.optimiser.state.values()] == steps
    learner.update(unrolls)
    assert not torch.equal(before[0], learner.parameters[0])


def test_returns_by_doubling_are_those_of_the_cpu() -> None:
    source = torch.Generator().manual_seed(1)
    for steps in (1, 2, 12, 33, 128):
        size = (steps, 257)
        value, reward, ratio = (torch.randn(size, generator=source) for _ in range(3))
        discount = (torch.rand(size, generator=source) > 0.1).float()
        last = torch.randn(size[1:], generator=source)
        told: dict[str, Any] = {"lam": 0.95}
        parts = (ratio, value, reward, discount, last)
        expected = returns.vtrace(*parts, **told)
        found = returns.vtrace(*(part.to(DEVICE) for part in parts), **told)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-4)


def test_compiled_networks_learn_as_plain_ones_do() -> None:
    (plain, unrolls), (compiled, _) = learner_of(), learner_of(compile=True)
    for _ in range(2):
        plain.update(unrolls)
        compiled.update(unrolls)
    for one, other in zip(plain.parameters, compiled.parameters, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=2e-3)
