"""Updates recorded on a GPU: the numbers of those that are launched step by step, and few waits."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from lanista.data.trajectory import Unrolls
from lanista.games import registry
from lanista.learn.learner import BrokenLossError, Learner
from lanista.learn.settings import Learning
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor

DEVICE = "cuda"
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

TERMS = {"policy": 1.0, "value": 0.5, "entropy": 0.01, "upgo": 0.1, "magnet": 0.1}
MLP = Network(width=32, layers=2)
CASES: dict[str, tuple[dict[str, Any], Network]] = {
    "ppo": ({}, MLP),
    "one minibatch": ({"minibatches": 1}, MLP),
    "schedules": (
        {
            "temperature": {"kind": "linear", "start": 1.0, "end": 0.5},
            "lr": {"kind": "linear", "start": 0.003, "end": 0.001},
            "terms": {**TERMS, "entropy": {"kind": "exponential", "start": 0.1, "end": 0.01}},
        },
        MLP,
    ),
    "some advantages": ({"keep_advantages": 0.5, "critic_sees": "seat", "value_clip": 0.2}, MLP),
    "vtrace": ({"policy": "vtrace"}, MLP),
    "neurd": ({"policy": "neurd", "critic_output": "q"}, MLP),
    "reference": ({"terms": {**TERMS, "reference": 0.3}, "reference_every": 2}, MLP),
    "stops early": ({"target_kl": 1e-5, "epochs": 4}, MLP),
    "shares now and then": ({"term_gradients_every": 2}, MLP),
    "lstm": ({"terms": {"policy": 1.0, "value": 0.5}}, Network(kind="lstm", width=16, layers=1)),
    "transformer": ({}, Network(kind="transformer", width=32, layers=1)),
}


def learner_of(network: Network, **changes: Any) -> Learner:
    settings = Learning(**{"terms": TERMS, "minibatches": 3, "epochs": 2, "lr": 5e-4, **changes})
    spec = registry.spec_of("leduc")
    return Learner(spec, network, settings, updates=9, device=DEVICE)


def chunks(network: Network, sizes: tuple[int, ...] = (256, 250, 262, 40)) -> list[Unrolls]:
    game = registry.make("leduc", slots=64, seed=1)
    alone = Learner(game.spec, network, Learning(), updates=9)
    collector = Collector(game, Actor(alone.policy, 3, alone.critic), unroll_length=8)
    return [collector.whole_matches(size) for size in sizes]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("case", CASES)
def test_recorded_updates_are_those_launched_step_by_step(case: str, precision: str) -> None:
    changes, network = CASES[case]
    plain = learner_of(network, **changes, precision=precision, graphs=False)
    recorded = learner_of(network, **changes, precision=precision, graphs=True)
    assert plain.recorded is None
    assert recorded.recorded is not None
    for unrolls in chunks(network):
        logs = plain.update(unrolls), recorded.update(unrolls)
        assert logs[0].keys() == logs[1].keys()
        near = 2e-2 if precision == "bf16" else 2e-3
        assert logs[1]["loss"] == pytest.approx(logs[0]["loss"], rel=near, abs=near)
    for one, other in zip(plain.parameters, recorded.parameters, strict=True):
        # Adam's first steps are as long for a gradient near 0, whatever its sign.
        apart = float((one - other).detach().norm() / one.detach().norm().clamp(min=1.0))
        assert apart < (5e-2 if precision == "bf16" else 2e-3)


def test_one_recording_serves_updates_of_about_one_size() -> None:
    learner = learner_of(MLP, graphs=True)
    for unrolls in chunks(MLP, (256, 250, 262, 255, 258)):
        learner.update(unrolls)
    assert learner.recorded is not None
    assert learner.recorded.recordings <= 2


def test_a_broken_recorded_step_leaves_the_weights_and_the_next_update_goes_on() -> None:
    learner = learner_of(MLP, graphs=True, terms={"policy": 1.0, "value": 0.5})
    unrolls, more = chunks(MLP, (256, 256))
    learner.update(unrolls)
    before = [parameter.detach().clone() for parameter in learner.parameters]
    reward = more.reward.copy()
    reward[5] = math.nan
    with pytest.raises(BrokenLossError, match="weights were left"):
        learner.update(replace(more, reward=reward))
    # Steps before the one with that decision may have been taken.
    after = [parameter.detach().clone() for parameter in learner.parameters]
    assert all(bool(torch.isfinite(parameter).all()) for parameter in after)
    learner.update(more)
    assert not torch.equal(after[0], learner.parameters[0])
    assert len(before) == len(after)


def test_a_recorded_learner_goes_on_from_its_state_here_and_on_the_cpu() -> None:
    learner, again = (learner_of(MLP, graphs=True) for _ in range(2))
    first, second, third = chunks(MLP, (256, 256, 256))
    for unrolls in (first, second):
        learner.update(unrolls)
    again.update(third)  # It has recorded something else already.
    again.load_state(copy.deepcopy(learner.state()))
    log, other = learner.update(third), again.update(third)
    assert log["loss"] == pytest.approx(other["loss"], rel=1e-5)
    for one, two in zip(learner.parameters, again.parameters, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
    spec, settings = registry.spec_of("leduc"), replace(learner.settings, graphs=None)
    home = Learner(spec, MLP, settings, updates=9)
    home.load_state(copy.deepcopy(learner.state()))
    assert home.update(first)["lr"] == pytest.approx(5e-4)


def test_while_the_critic_learns_alone_the_recorded_policy_stays() -> None:
    learner = learner_of(MLP, graphs=True)
    first, second = chunks(MLP, (256, 256))
    before = [parameter.detach().clone() for parameter in learner.policy.parameters()]
    learner.update(first, critic_alone=True)
    assert all(map(torch.equal, before, learner.policy.parameters()))
    learner.update(second)
    assert not torch.equal(before[0], next(learner.policy.parameters()))


def test_an_update_waits_for_the_gpu_a_few_times_and_not_at_every_step() -> None:
    learner = learner_of(MLP, graphs=True, minibatches=8)
    first, second = chunks(MLP, (256, 256))
    learner.update(first)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        learner.update(second)
    waits = [e.count for e in profiler.key_averages() if e.key == "aten::_local_scalar_dense"]
    assert sum(waits) < 8
