"""Learning with normalised observations: what moves the running numbers, and when."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest
import torch
from demonstrated import demonstrate
from made_up_unrolls import OneHead, unrolls_for

from lanista.learn.imitation.cloner import Cloner
from lanista.learn.imitation.settings import Imitation
from lanista.learn.learner import Learner
from lanista.learn.references import TARGET, References
from lanista.learn.settings import Learning
from lanista.nets.normal_columns import number_scales
from lanista.nets.normalise import observe
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

SPEC = OneHead().spec
NORMAL = Network(width=8, layers=1, normalise_observations=5.0)


def running(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    names = ("torso.mean", "torso.deviation", "torso.seen")
    return {name: tensor.clone() for name, tensor in module.state_dict().items() if name in names}


def test_an_update_takes_its_decisions_in_once_its_steps_are_taken() -> None:
    settings = Learning(epochs=3, average=0.9, lr=0.0)
    learner = Learner(SPEC, NORMAL, settings, updates=4)
    unrolls = unrolls_for(SPEC, 3)
    log = learner.update(unrolls)
    # With a learning rate of 0 every step saw the networks as they were.
    again = Learner(SPEC, NORMAL, Learning(lr=0.0), updates=4).update(unrolls)
    assert log["policy/behaviour_kl"] == pytest.approx(again["policy/behaviour_kl"], rel=1e-4)
    observation = torch.from_numpy(unrolls.observation).float()
    for policy in (learner.policy, learner.best):
        numbers = running(policy)
        assert float(numbers["torso.seen"]) == unrolls.decisions
        torch.testing.assert_close(numbers["torso.mean"], observation.mean(0))
    assert learner.best is not learner.policy


def test_while_the_critic_learns_alone_the_policy_stays_as_it_is() -> None:
    settings = Learning(critic_sees="privileged")
    learner = Learner(SPEC, NORMAL, settings, updates=4)
    before = learner.policy.state_dict()
    before = {name: tensor.clone() for name, tensor in before.items()}
    unrolls = unrolls_for(SPEC, 3, privileged=True)
    learner.update(unrolls, critic_alone=True)
    after = learner.policy.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    privileged = torch.from_numpy(unrolls.privileged).float()
    torch.testing.assert_close(running(learner.critic)["torso.mean"], privileged.mean(0))


def test_without_the_setting_nothing_is_added_to_a_network() -> None:
    plain = Learner(SPEC, Network(width=8, layers=1), Learning(), updates=4)
    plain.update(unrolls_for(SPEC, 3))
    assert running(plain.policy) == {}


def test_imitation_takes_in_what_it_is_shown() -> None:
    data = demonstrate(40)
    cloner = Cloner(data.spec, NORMAL, Imitation(epochs=1, hold_out=0.2))
    learned, held = data.split(0.2, 0)
    cloner.train_epoch(data, learned, held)
    shown = torch.from_numpy(data.observation[data.rows(learned)]).float()
    numbers = running(cloner.policy)
    assert float(numbers["torso.seen"]) == len(shown)
    here = torch.from_numpy(number_scales(data.spec.observation) > 0)
    assert here.any()
    torch.testing.assert_close(numbers["torso.mean"][here], shown.mean(0)[here])


def test_rnads_averaged_policy_sees_what_the_policy_sees() -> None:
    policy = Policy(SPEC, NORMAL)
    settings = Learning(policy="neurd", eta=0.2)
    references = SimpleNamespace(settings=settings, policies={TARGET: copy.deepcopy(policy)})
    observe(policy, torch.from_numpy(unrolls_for(SPEC, 3).observation).float())
    References.follow(references, policy)  # type: ignore[arg-type]
    for name, numbers in running(policy).items():
        torch.testing.assert_close(running(references.policies[TARGET])[name], numbers)
