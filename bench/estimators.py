"""Bias and variance of what R-NaD's policy step is given, against exact advantages.

A policy and a Q critic that sees both hands are trained for some updates; then both are frozen,
many matches are played, and every estimator judges the same decisions by the same critic. Owns the
comparison. The exact side is `histories`.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bench.histories import Histories, histories_of
from lanista.data.trajectory import Unrolls
from lanista.learn import returns
from lanista.learn.joint_returns import corrected, joint_retrace
from lanista.learn.learner import Learner
from lanista.learn.losses import advantages
from lanista.learn.rnad import (
    between_own,
    log_policy_ratio,
    transform_own_rewards,
    two_player_vtrace,
)
from lanista.learn.settings import Learning
from lanista.learn.update.batch import Batch
from lanista.nets.settings import Network
from lanista.runs.rollout_settings import Rollouts
from lanista.runs.settings import RunSettings
from lanista.training.learner_loop import LearnerLoop, lone_learner

ETA, CLIP = 0.2, 10.0
UPDATES = {"kuhn": 200, "leduc": 1500, "liars_dice": 600}
MATCHES = {"kuhn": 100_000, "leduc": 200_000, "liars_dice": 60_000}
RARE = 0.05
"""Choices that are played more rarely are counted apart as well."""
ENOUGH = 20
"""Times that a choice must be played to be counted."""


@dataclass(frozen=True)
class Decisions:
    """Decisions of a frozen policy, and what its critic says of them."""

    learner: Learner
    batch: Batch
    log_probs: Tensor
    """`[N, choices]`."""
    q: Tensor
    """`[N, choices]`, 0 where a choice is illegal."""
    log_ratio: Tensor
    """`[N, choices]`: log π/π_ref, 0 where a choice is illegal."""

    @property
    def mask(self) -> Tensor:
        return self.batch.tensor("mask")

    @property
    def action(self) -> Tensor:
        return self.batch.tensor("action").long()

    @property
    def behaviour(self) -> Tensor:
        return self.batch.tensor("log_prob")

    @property
    def value(self) -> Tensor:
        """`[N]`: V of the regularised game."""
        return (self.log_probs.exp() * (self.q - ETA * self.log_ratio)).sum(-1)

    def centred(self, q: Tensor) -> Tensor:
        return advantages(self.learner.policy.heads, self.log_probs, q, self.mask)

    def of_played(self, advantage: Tensor) -> Tensor:
        """Return 1[a = A] / μ(A) times an advantage of what was played, as an all-choice estimate.

        Its product with π is the policy gradient of one sample.
        """
        weight = (-self.behaviour).exp() * advantage
        return torch.zeros_like(self.q).scatter(-1, self.action, weight[:, None])


def trained(game: str, updates: int) -> LearnerLoop:
    """Return a learner after some updates of R-NaD by NeuRD with a Q critic."""
    learning = Learning(
        policy="neurd",
        critic_sees="privileged",
        critic_output="q",
        q_trace="joint",
        lam=0.5,
        eta=ETA,
        fixed_point=(10 * updates,),
        terms={"policy": 1.0, "value": 1.0},
        lr=5e-4,
        critic_lr=3e-3,
        max_grad_norm=0.0,
    )
    settings = RunSettings(
        game=game,
        seed=1,
        iterations=updates,
        network=Network(kind="mlp", width=128, layers=2),
        learning=learning,
        rollouts=Rollouts(mode="matches", matches=2048, unroll_length=16),
        device="cpu",
    )
    loop = lone_learner(settings, Path(tempfile.mkdtemp()))
    for _ in range(updates):
        for _ in loop.iterate():
            pass
    return loop


@torch.no_grad()
def decisions_of(learner: Learner, unrolls: Unrolls) -> Decisions:
    """Return what the policy, the reference and the critic say of every row."""
    batch = Batch(unrolls, torch.device("cpu"))
    heads, mask = learner.policy.heads, batch.tensor("mask")
    observation = batch.tensor("observation")
    log_probs = heads.log_probs(learner.policy(observation), mask)
    reference = heads.log_probs(learner.references.policies["rnad current"](observation), mask)
    q = learner.critic(batch.tensor("privileged")).masked_fill(~mask, 0.0)
    return Decisions(learner, batch, log_probs, q, log_policy_ratio(log_probs, reference, mask))


def _vtrace(decisions: Decisions) -> Tensor:
    """The paper's estimator: V as baseline, and as the value of what was not played."""
    batch, joint = decisions.batch, decisions.batch.joint
    actor, reward = joint.steps(batch.tensor("seat")), joint.steps(batch.tensor("reward"))
    value = joint.steps(decisions.value)
    q = torch.zeros_like(joint.steps(decisions.q))
    for seat in (0, 1):
        q = (
            q
            + two_player_vtrace(
                decisions.learner.policy.heads,
                joint.steps(decisions.log_probs),
                joint.steps(decisions.behaviour),
                joint.steps(decisions.log_ratio),
                joint.steps(decisions.action),
                value,
                torch.where(actor == seat, reward, 0.0),
                actor,
                joint.index >= 0,
                seat=seat,
                eta=ETA,
            ).q
        )
    return decisions.centred(joint.rows(q))


def _joint(decisions: Decisions, lam: float) -> Tensor:
    """Retrace's targets of every row."""
    batch, joint = decisions.batch, decisions.batch.joint
    played = decisions.log_probs.gather(-1, decisions.action).squeeze(-1)
    return joint.rows(
        joint_retrace(
            joint.steps(decisions.q),
            joint.steps(decisions.log_probs),
            joint.steps(played - decisions.behaviour),
            joint.steps(ETA * decisions.log_ratio),
            joint.steps(decisions.action),
            joint.steps(batch.tensor("reward")),
            joint.steps(batch.tensor("seat")),
            joint.index >= 0,
            lam=lam,
        ).target
    )


def _corrected(decisions: Decisions, lam: float, clip: float) -> Tensor:
    target = _joint(decisions, lam)
    q = corrected(decisions.q, decisions.action, target, decisions.behaviour, clip=clip)
    return decisions.centred(q - ETA * decisions.log_ratio)


def _expected_sarsa(decisions: Decisions, lam: float) -> Tensor:
    own = ETA * decisions.log_ratio.gather(-1, decisions.action).squeeze(-1)
    return decisions.centred(decisions.of_played(_joint(decisions, lam) - own - decisions.value))


def _gae(decisions: Decisions, lam: float) -> Tensor:
    batch, joint = decisions.batch, decisions.batch.joint
    paid = decisions.log_ratio.gather(-1, decisions.action).squeeze(-1)
    actor, valid = joint.steps(batch.tensor("seat")), joint.index >= 0
    other = torch.zeros_like(joint.steps(paid))
    for seat in (0, 1):
        other = other + between_own(joint.steps(paid), actor, valid, seat=seat)
    reward = transform_own_rewards(
        batch.steps(batch.tensor("reward")),
        batch.steps(paid),
        batch.steps(joint.rows(other)),
        batch.index >= 0,
        eta=ETA,
    )
    goes_on = ~batch.steps(batch.tensor("ended")) & (batch.index >= 0)
    last = torch.zeros(reward.shape[1])
    estimate = returns.gae(batch.steps(decisions.value), reward, goes_on.to(reward), last, lam=lam)
    return decisions.centred(decisions.of_played(batch.rows(estimate.advantage)))


ESTIMATORS: dict[str, Callable[[Decisions], Tensor]] = {
    "V-trace of the paper": _vtrace,
    f"V-trace of the paper, advantages within ±{CLIP:g}": lambda d: _vtrace(d).clamp(-CLIP, CLIP),
    "Q of every choice": lambda d: _corrected(d, 0.0, 0.0),
    "Q corrected, λ 0": lambda d: _corrected(d, 0.0, math.inf),
    "Q corrected, λ 0.5": lambda d: _corrected(d, 0.5, math.inf),
    "Q corrected, λ 1": lambda d: _corrected(d, 1.0, math.inf),
    "Q corrected, λ 0.5, weight ≤ 10": lambda d: _corrected(d, 0.5, 10.0),
    "Q corrected, λ 1, weight ≤ 10": lambda d: _corrected(d, 1.0, 10.0),
    "GAE, λ 0.95": lambda d: _gae(d, 0.95),
    "GAE, λ 1": lambda d: _gae(d, 1.0),
    "Expected SARSA(0.5), played choice": lambda d: _expected_sarsa(d, 0.5),
}


@dataclass(frozen=True)
class Truth:
    """Exact advantages of the regularised game, and how often each choice is played."""

    histories: Histories
    policy: NDArray[np.float64]
    advantage: NDArray[np.float64]


@torch.no_grad()
def truth_of(histories: Histories, learner: Learner) -> Truth:
    """Return A(s, a) = q(s, a) − cost(s, a) − Σ_b π(b) (q(s, b) − cost(s, b)) of every state."""
    heads, rows = learner.policy.heads, torch.from_numpy(histories.rows)
    mask = torch.from_numpy(histories.mask)
    log_probs = heads.log_probs(learner.policy(rows), mask)
    reference = heads.log_probs(learner.references.policies["rnad current"](rows), mask)
    cost = (ETA * log_policy_ratio(log_probs, reference, mask)).double().numpy()
    policy = log_probs.exp().double().numpy()
    policy /= policy.sum(1, keepdims=True)
    values = histories.action_values(policy, cost)
    net = histories.by_state(values, histories.reach(policy)) - cost
    advantage = (net - (policy * net).sum(1, keepdims=True)) * histories.mask
    return Truth(histories, policy, advantage)


def errors(estimate: NDArray[Any], state: NDArray[np.int64], truth: Truth) -> dict[str, float]:
    """Return bias and deviation of rows' advantages, each information state by its visits.

    Both are roots of mean squares over legal choices; `rare` is over those that are played rarely.
    The square of a mean's own noise is taken off the bias, which is measured where a choice was
    played often enough for that noise to be known.
    """
    count = np.bincount(state, minlength=len(truth.policy)).astype(float)
    seen = np.maximum(count, 1)[:, None]
    columns = [np.bincount(state, column, len(count)) for column in estimate.T]
    squares = [np.bincount(state, column**2, len(count)) for column in estimate.T]
    mean = np.stack(columns, 1) / seen
    variance = np.maximum(np.stack(squares, 1) / seen - mean**2, 0) * seen / np.maximum(seen - 1, 1)
    bias = (mean - truth.advantage) ** 2 - variance / seen
    enough = (count[:, None] * truth.policy >= ENOUGH) & truth.histories.mask
    out = {}
    for name, chosen in (("", enough), ("rare_", enough & (truth.policy < RARE))):
        weight = count[:, None] * chosen
        total = max(weight.sum(), 1.0)
        out[f"{name}bias"] = math.sqrt(max(0.0, (weight * bias).sum() / total))
        out[f"{name}deviation"] = math.sqrt((weight * variance).sum() / total)
        out[f"{name}size"] = math.sqrt((weight * truth.advantage**2).sum() / total)
    return out


def measured(game: str, loop: LearnerLoop, matches: int) -> Iterator[dict[str, Any]]:
    """Give a line for each estimator."""
    histories = histories_of(game)
    truth = truth_of(histories, loop.learner)
    decisions = decisions_of(loop.learner, loop.collector.whole_matches(matches))
    number = histories.state_of_row
    rows = decisions.batch.unrolls.observation
    state = np.array([number[row.tobytes()] for row in rows], np.int64)
    for name, estimate in ESTIMATORS.items():
        found = errors(estimate(decisions).double().numpy(), state, truth)
        yield {"game": game, "estimator": name, **{key: round(x, 4) for key, x in found.items()}}


def estimators() -> Iterator[dict[str, Any]]:
    """Measure all estimators on the games that have exact answers."""
    for game, updates in UPDATES.items():
        loop = trained(game, updates)
        yield from measured(game, loop, MATCHES[game])
        loop.close()
