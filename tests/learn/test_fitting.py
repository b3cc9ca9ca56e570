"""Steps towards the goals of an update: what the goals are, and that networks come to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from small_runs import RECURRENT, SMALL, FirstArm, Run, TwoArms, kuhn_run, leduc_run

from lanista.errors import LanistaError
from lanista.learn import losses
from lanista.learn.learner import Learner
from lanista.learn.loss_terms import LossInputs
from lanista.learn.references import CURRENT, PREVIOUS
from lanista.learn.settings import Learning
from lanista.learn.update.batch import Batch, Kinds
from lanista.learn.update.fitting import ChoiceTargets, LogitGoals
from lanista.learn.update.forward import Views
from lanista.nets.distribution import Heads
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network

JOINT = Learning(
    policy="neurd",
    terms={"policy": 1.0, "value": 1.0},
    critic_sees="privileged",
    critic_output="q",
    q_trace="joint",
    max_grad_norm=0.0,
)
FITTED = replace(JOINT, neurd_step=0.5, neurd_threshold=2.0, neurd_clip=10.0)


def goals_of(logits: list[list[float]], advantage: list[list[float]], kinds: Kinds) -> LogitGoals:
    rows = torch.tensor(logits)
    inputs: Any = type("Inputs", (), {})()
    inputs.settings, inputs.heads = FITTED, Heads((rows.shape[1],))
    inputs.logits, inputs.q_advantage = rows, torch.tensor(advantage)
    inputs.mask = torch.ones_like(rows).bool()
    return LogitGoals.of(inputs, kinds, 0.5)


def test_a_goal_is_the_centred_logits_and_a_step_times_the_advantage_cut_to_the_clip() -> None:
    goals = goals_of([[1.0, 2.0]], [[1.0, -30.0]], Kinds(torch.zeros(1, 3)))
    # Centred −0.5 and 0.5; the step is 0.5, the clip 10; −4.5 is beyond the threshold of 2.
    assert goals.goal.tolist() == [[0.0, -2.0]]


def test_a_logit_beyond_the_threshold_may_come_back_and_goes_no_further() -> None:
    kinds = Kinds(torch.zeros(2, 3))
    goals = goals_of([[3.0, -3.0], [3.0, -3.0]], [[2.0, -2.0], [-1.0, 1.0]], kinds)
    assert goals.goal.tolist() == [[3.0, -3.0], [2.5, -2.5]]


def test_a_view_counts_by_the_root_of_how_often_it_came() -> None:
    rows = [[0.0, 0.0]] * 4 + [[1.0, 0.0]]
    kinds = Kinds(torch.zeros(2, 3), torch.tensor([0, 0, 0, 0, 1]), torch.tensor([0, 4]))
    goals = goals_of(rows, [[1.0, -1.0]] * 5, kinds)
    assert goals.goal.tolist() == [[0.5, -0.5], [1.0, -1.0]]
    torch.testing.assert_close(goals.weight, torch.tensor([2 / 3, 1 / 3]))


def test_the_first_gradient_towards_goals_is_the_steps_share_of_neurds() -> None:
    heads, source = Heads((3, 2)), torch.Generator().manual_seed(4)
    logits, advantage = (torch.randn(6, 5, generator=source).double() for _ in "ab")
    mask = torch.rand(6, 5, generator=source) < 0.7
    mask[:, 0] = mask[:, 3] = True
    one, other = (logits.clone().requires_grad_(True) for _ in "ab")
    losses.neurd(heads, one, advantage, mask, torch.ones(6), threshold=100.0).loss.backward()
    goal = losses.centred_logits(heads, logits, mask) + 0.2 * advantage
    weight = torch.full((6,), 1 / 6).double()
    losses.logit_fit(heads, other, goal, mask, weight).backward()
    assert one.grad is not None
    assert one.grad.abs().max() > 0.01
    torch.testing.assert_close(other.grad, 0.2 * one.grad)


def inputs_and_views(run: Run) -> tuple[LossInputs, Views]:
    unrolls = run.play(60)
    views = Views(Batch(unrolls, torch.device("cpu")), run.learner.settings)
    return run.learner._inputs(unrolls, dict(run.learner.settings.terms)), views


def test_the_critics_further_steps_have_the_gradient_of_all_its_decisions() -> None:
    run = leduc_run(replace(JOINT, critic_steps=2))
    inputs, views = inputs_and_views(run)
    assert views.privileged is not None
    assert views.privileged.group is not None
    assert inputs.value_target is not None
    critic = run.learner.critic
    term = losses.q_loss(
        inputs.heads, inputs.critic, inputs.action, inputs.value_target, inputs.valid
    )
    parameters = list(critic.parameters())
    whole = torch.autograd.grad(term.loss, parameters)
    short = torch.autograd.grad(ChoiceTargets.of(inputs, views.privileged).loss(critic), parameters)
    assert max(gradient.abs().max() for gradient in whole) > 1e-3
    torch.testing.assert_close(list(short), list(whole), rtol=1e-4, atol=1e-6)


def shaken(network: Policy | Critic, seed: int) -> None:
    """Move a network's weights, so that it says something else than the one it is a copy of."""
    source = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=source))


def test_goals_of_r_nad_are_pulled_to_the_reference_between_its_two_by_eta() -> None:
    eta, step = 0.7, 0.5
    run = kuhn_run(replace(FITTED, eta=eta, fixed_point=(8,), importance_clip=0.0))
    learner = run.learner
    for seed, name in enumerate((CURRENT, PREVIOUS)):
        shaken(learner.references.policies[name], seed)
    shaken(learner.critic, 2)
    learner.update_count = 1  # An eighth of the fixed point: a quarter of the way between the two.
    unrolls = run.play(60)
    inputs = learner._inputs(unrolls, dict(FITTED.terms))
    goals = learner._goals[0]
    assert goals is not None
    rows = torch.from_numpy(unrolls.observation)
    for number, view in enumerate(goals.view):
        alike = (rows == view).all(1)
        log_probs = [
            torch.log_softmax(policy(view[None]).double()[0], 0)
            for policy in (
                learner.policy,
                *(learner.references.policies[name] for name in (CURRENT, PREVIOUS)),
            )
        ]
        pull = log_probs[0] - (0.25 * log_probs[1] + 0.75 * log_probs[2])
        value = inputs.critic[alike].double().mean(0) - eta * pull
        advantage = value - (log_probs[0].exp() * value).sum()
        logits = learner.policy(view[None]).double()[0]
        goal = (logits - logits.mean() + step * advantage).clamp(-2.0, 2.0)
        torch.testing.assert_close(goals.goal[number].double(), goal, rtol=1e-4, atol=1e-5)
    assert float(pull.detach().abs().max()) > 0.05


def test_enough_steps_bring_the_policy_to_the_goals_of_its_update() -> None:
    run = Run(TwoArms(slots=64), replace(FITTED, lr=3e-3, critic_lr=1e-3, fit_steps=300))
    unrolls = run.play(64)
    run.learner._inputs(unrolls, dict(FITTED.terms))
    goals = run.learner._goals[0]
    assert goals is not None
    before = float(goals.loss(run.learner.policy).detach())
    log = run.learner.update(unrolls)
    assert float(goals.loss(run.learner.policy).detach()) < 1e-3 * before
    assert log["policy/fit_error"] ** 2 < 1e-3 * 2 * before
    assert log["policy/loss"] == pytest.approx(before, rel=1e-4)


def test_further_steps_of_the_critic_leave_the_policy_alone_and_the_other_way_round() -> None:
    def weights(settings: Learning) -> tuple[list[Any], list[Any]]:
        run = leduc_run(settings)
        run.learner.update(run.play(60))
        networks = run.learner.policy, run.learner.critic
        policy, critic = ([p.tolist() for p in network.parameters()] for network in networks)
        return policy, critic

    plain = weights(replace(FITTED, fit_steps=2))
    critic = weights(replace(FITTED, fit_steps=2, critic_steps=4))
    policy = weights(replace(FITTED, fit_steps=5))
    assert critic[0] == plain[0]
    assert critic[1] != plain[1]
    assert policy[0] != plain[0]
    assert policy[1] == plain[1]


@pytest.mark.parametrize("game", [TwoArms, FirstArm])
def test_what_is_rewarded_becomes_likelier_for_both_seats_by_fitted_steps(
    game: type[TwoArms],
) -> None:
    run = Run(game(slots=64), replace(FITTED, lr=5e-3, critic_steps=3))
    run.train(25)
    policy = run.learner.policy
    chances = policy.heads.log_probs(policy(torch.eye(2)), torch.ones(2, 2).bool()).exp()
    assert chances[:, game.good].min() > 0.7


def test_a_critic_that_learns_alone_moves_no_weight_of_the_policy() -> None:
    run = leduc_run(replace(FITTED, critic_steps=2))
    before = [p.tolist() for p in run.learner.policy.parameters()]
    run.learner.update(run.play(60), critic_alone=True)
    assert [p.tolist() for p in run.learner.policy.parameters()] == before


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"neurd_step": 0.0}, "neurd_step is 0.0"),
        ({"neurd_step": float("inf")}, "neurd_step is inf"),
        ({"neurd_step": None, "fit_steps": 3}, "fit_steps is 3 and goes with neurd_step"),
        ({"critic_steps": 2, "terms": {"policy": 1.0}}, "no critic is learned"),
        ({"policy": "ppo"}, "goes with policy neurd"),
        ({"q_trace": None}, "goes with policy neurd"),
        ({"fit_steps": 0}, "fit_steps is 0"),
        ({"epochs": 2}, "whole update"),
        ({"minibatches": 2}, "whole update"),
        ({"shards": 2}, "whole update"),
        ({"precision": "bf16"}, "whole update"),
        ({"neurd_step": None, "q_trace": None, "critic_steps": 2}, "critic_steps is 2"),
    ],
)
def test_settings_that_cannot_be_fitted_are_refused(other: dict[str, Any], words: str) -> None:
    with pytest.raises(LanistaError, match=words):
        replace(FITTED, **other)


@pytest.mark.parametrize("network", [RECURRENT, replace(SMALL, dropout=0.1)])
def test_networks_that_remember_or_drop_units_are_refused(network: Network) -> None:
    with pytest.raises(LanistaError, match="fit networks"):
        Learner(TwoArms(slots=2).spec, network, FITTED, updates=2)


def test_a_gpu_which_puts_no_equal_views_together_is_refused() -> None:
    with pytest.raises(LanistaError, match="on the CPU alone; give --cpu"):
        Learner(TwoArms(slots=2).spec, SMALL, FITTED, updates=1, device="meta")
