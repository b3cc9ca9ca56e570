"""What an update aims at: advantages and value targets for every row of a batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from lanista.data.trajectory import NEXT, Unrolls
from lanista.errors import LanistaError
from lanista.learn import returns
from lanista.learn.joint_returns import corrected, joint_retrace
from lanista.learn.loss_terms import LossInputs, Weights, counts
from lanista.learn.losses import advantages, outcome_classes
from lanista.learn.rnad import (
    between_own,
    log_policy_ratio,
    one_head,
    transform_own_rewards,
    two_player_vtrace,
)
from lanista.learn.settings import Learning
from lanista.learn.term_table import PULLS
from lanista.learn.update.batch import Batch, Padded
from lanista.learn.update.forward import Forward
from lanista.nets.distribution import Heads

WEIGHT_CLIP = 10.0
"""Largest weight of a correction unless settings say otherwise."""


@dataclass(frozen=True)
class Steps:
    """A batch's rewards and discounts as steps `[T, B]`."""

    reward: Tensor
    discount: Tensor

    @classmethod
    def of(cls, batch: Batch, gamma: float) -> Steps:
        reward = batch.steps(batch.tensor("reward"))
        goes_on = ~batch.steps(batch.tensor("ended")) & (batch.index >= 0)
        return cls(reward, gamma * goes_on.to(reward))


@torch.no_grad()
def loss_inputs(
    heads: Heads,
    settings: Learning,
    batch: Batch,
    forward: Forward,
    references: dict[str, Tensor],
    weights: Weights,
    alike: Tensor | None = None,
) -> LossInputs:
    """Return all that the terms of the loss may look at; no target carries a gradient.

    `alike` `[N]` numbers rows of which a seat's view and mask are equal; None: they are unknown.
    """
    unrolls = batch.unrolls
    everything = returns.unpadded(forward.value) if batch.valid is None else batch.valid
    inputs = LossInputs(
        heads=heads,
        settings=settings,
        logits=forward.logits,
        log_probs=forward.log_probs,
        acting=forward.acting,
        chosen=forward.chosen,
        entropy=forward.entropy,
        mask=batch.tensor("mask"),
        action=batch.tensor("action").long(),
        behaviour=batch.tensor("log_prob"),
        behaviour_log_probs=None if unrolls.log_probs is None else batch.tensor("log_probs"),
        critic=forward.critic,
        valid=everything,
        everything=everything,
        teacher=None if unrolls.teacher is None else batch.tensor("teacher").long(),
        weight=None if unrolls.weight is None else batch.tensor("weight"),
        matchup=None if unrolls.matchup is None else batch.tensor("matchup"),
        matchups=unrolls.matchups if isinstance(unrolls, Padded) else None,
        frozen=None if unrolls.frozen is None else batch.tensor("frozen"),
        forecast=forward.forecast,
        value=forward.value,
        references=references,
        weights=weights,
    )
    given = unrolls if isinstance(unrolls, Padded) and unrolls.advantage is not None else None
    if given is not None:
        inputs = _given(inputs, given)
        if not follows_steps(settings):
            return inputs
    batch = batch.to_the_end
    steps = Steps.of(batch, settings.gamma)
    if settings.q_trace == "joint":
        inputs = _joint_q(inputs, batch, forward, alike)
    elif settings.rnad:
        inputs = _rnad(inputs, steps, batch, forward)
    elif given is None:
        inputs = MAKE[settings.policy](inputs, steps, batch, forward)
    if settings.needs("upgo"):
        upgo = returns.upgo(
            batch.steps(forward.value), steps.reward, steps.discount, forward.next_value
        )
        inputs = replace(inputs, upgo=batch.rows(upgo))
    if settings.critic_output == "outcome":
        inputs = replace(inputs, outcome=_outcome(batch, forward, steps))
    return inputs


def follows_steps(settings: Learning) -> bool:
    """Whether a target beside PPO's own is made of the steps of unrolls."""
    return settings.needs("upgo") or settings.critic_output == "outcome"


@torch.no_grad()
def acting_targets(settings: Learning, batch: Batch) -> returns.Estimate | None:
    """Return PPO's targets and advantages `[N]`, where the weights that learn change nothing there.

    They follow from the values at the time of acting, so one time is enough for an update.
    """
    unrolls = batch.unrolls
    open_end = unrolls.next_observation is not None and unrolls.next_value is None
    if settings.policy != "ppo" or settings.rnad or unrolls.value is None or open_end:
        return None
    batch = batch.to_the_end
    steps, value = Steps.of(batch, settings.gamma), batch.tensor("value")
    last = value.new_zeros(len(unrolls))
    if unrolls.next_value is not None:
        last = batch.tensor("next_value")
    estimates = returns.gae(
        batch.steps(value), steps.reward, steps.discount, last, lam=settings.lam
    )
    return returns.Estimate(batch.rows(estimates.target), batch.rows(estimates.advantage))


def ready_targets(
    settings: Learning, unrolls: Unrolls, device: torch.device
) -> tuple[Unrolls, dict[str, Tensor]]:
    """Return what recorded steps read, and the targets that can be had for all of them at once."""
    targets = acting_targets(settings, Batch(unrolls, device))
    if targets is None:
        return unrolls, {}
    if not (follows_steps(settings) or settings.needs("forecast")):
        nothing: dict[str, Any] = dict.fromkeys(NEXT)
        unrolls = replace(unrolls, **nothing)
    return unrolls, {"advantage": targets.advantage, "value_target": targets.target}


def _given(inputs: LossInputs, unrolls: Padded) -> LossInputs:
    value: Any = unrolls.value
    targets = unrolls.advantage, unrolls.value_target
    return replace(inputs, advantage=targets[0], value_target=targets[1], old_value=value)


def _ppo(inputs: LossInputs, steps: Steps, batch: Batch, forward: Forward) -> LossInputs:
    """Advantages by GAE from the values at the time of acting, as PPO has them."""
    unrolls, settings = batch.unrolls, inputs.settings
    old = forward.value if unrolls.value is None else batch.tensor("value")
    last = forward.next_value
    if unrolls.value is not None and unrolls.next_value is not None:
        last = batch.tensor("next_value")
    estimates = returns.gae(batch.steps(old), steps.reward, steps.discount, last, lam=settings.lam)
    return replace(
        inputs,
        advantage=batch.rows(estimates.advantage),
        value_target=batch.rows(estimates.target),
        old_value=old,
    )


def _vtrace(inputs: LossInputs, steps: Steps, batch: Batch, forward: Forward) -> LossInputs:
    """V-trace advantages; the critic learns TD(λ), as AlphaStar's does.

    Where an opponent decided, it learns V-trace's own targets: TD(λ) would value the opponent.
    """
    settings, value = inputs.settings, batch.steps(forward.value)
    ratio = batch.steps(inputs.chosen - inputs.behaviour)
    estimates = returns.vtrace(
        ratio,
        value,
        steps.reward,
        steps.discount,
        forward.next_value,
        lam=settings.lam,
        rho_clip=settings.rho_clip,
        pg_rho_clip=settings.pg_rho_clip,
        c_clip=settings.c_clip,
    )
    target = returns.td_lambda(
        value, steps.reward, steps.discount, forward.next_value, lam=settings.lam
    )
    if inputs.frozen is not None:
        target = torch.where(batch.steps(inputs.frozen), estimates.target, target)
    return replace(
        inputs, advantage=batch.rows(estimates.advantage), value_target=batch.rows(target)
    )


def _all_action(inputs: LossInputs, steps: Steps, batch: Batch, forward: Forward) -> LossInputs:
    """Q learns TD(λ) returns, with Σ π Q as the value of what follows."""
    value = batch.steps(forward.value)
    target = returns.td_lambda(
        value, steps.reward, steps.discount, forward.next_value, lam=inputs.settings.lam
    )
    return replace(inputs, value_target=batch.rows(target))


def _neurd(inputs: LossInputs, steps: Steps, batch: Batch, forward: Forward) -> LossInputs:
    """The advantage of every choice by the Q critic, with the regularisers' force on it.

    Following it on the logits is magnetic mirror descent (Sokota et al. 2023): the force on a
    choice is Q(a) − Σ_i α_i log(π(a)/ρ_i(a)).
    """
    inputs = _all_action(inputs, steps, batch, forward)
    value = _pulled(inputs, forward.critic)
    advantage = advantages(inputs.heads, inputs.log_probs, value, inputs.mask)
    return replace(inputs, q_advantage=advantage)


def _pulled(inputs: LossInputs, value: Tensor) -> Tensor:
    """Return the value of every choice with the pulls of the regularisers on it."""
    heads, mask = inputs.heads, inputs.mask
    for name in PULLS:
        if counts(inputs.weights.get(name, 0.0)):
            reference = (
                heads.uniform_log_probs(mask)
                if name == "magnet"
                else inputs.references["anchor" if name == "anchor_reverse" else name]
            )
            ratio = log_policy_ratio(inputs.log_probs, reference, mask)
            value = value - inputs.weights[name] * ratio
    return value


def _joint_q(
    inputs: LossInputs, batch: Batch, forward: Forward, alike: Tensor | None
) -> LossInputs:
    """Q learns Retrace(λ) over both seats; the policy gets the advantage of every choice.

    Rows that look alike to their seat have one advantage, their mean: what is clipped or gated
    afterwards would otherwise be cut row by row, and a mean of clipped values is biased.
    """
    _refuse_partial(batch)
    one_head(inputs.heads)
    settings, joint, mask = inputs.settings, batch.joint, inputs.mask
    q = forward.critic.masked_fill(~mask, 0.0)
    cost = torch.zeros_like(q)
    if settings.rnad:
        ratio = log_policy_ratio(inputs.log_probs, inputs.references["rnad"], mask)
        cost = settings.eta * ratio
    estimates = joint_retrace(
        joint.steps(q),
        joint.steps(inputs.acting),
        joint.steps(inputs.chosen - inputs.behaviour),
        joint.steps(cost),
        joint.steps(inputs.action),
        joint.steps(batch.tensor("reward")),
        joint.steps(batch.tensor("seat")),
        joint.index >= 0,
        lam=settings.lam,
        c_clip=settings.c_clip,
    )
    target = joint.rows(estimates.target)
    clip = WEIGHT_CLIP if settings.importance_clip is None else settings.importance_clip
    value = corrected(q, inputs.action, target, inputs.behaviour, clip=clip)
    value = _pulled(inputs, _mean_of_alike(value, alike) - cost)
    advantage = advantages(inputs.heads, inputs.acting, value, mask)
    return replace(inputs, value_target=target, q_advantage=advantage)


def _mean_of_alike(values: Tensor, alike: Tensor | None) -> Tensor:
    """Return the mean of `values` `[N, choices]` over rows that are alike, for each of them."""
    if alike is None or not len(alike):
        return values
    groups = int(alike.max()) + 1
    sums = values.new_zeros((groups, values.shape[1])).index_add_(0, alike, values)
    counts = torch.bincount(alike, minlength=groups).clamp(min=1)
    return (sums / counts[:, None]).index_select(0, alike)


def _rnad(inputs: LossInputs, steps: Steps, batch: Batch, forward: Forward) -> LossInputs:
    """Targets of the regularised game, from whole matches in the joint view."""
    _refuse_partial(batch)
    ratio = log_policy_ratio(inputs.log_probs, inputs.references["rnad"], inputs.mask)
    if inputs.settings.policy == "ppo":
        return _ppo(inputs, _bent(inputs, steps, batch), batch, forward)
    joint, settings = batch.joint, inputs.settings
    valid = joint.index >= 0
    actor = joint.steps(batch.tensor("seat"))
    reward = joint.steps(batch.tensor("reward"))
    assert inputs.value is not None
    value = joint.steps(inputs.value)
    target = torch.zeros_like(value)
    q = torch.zeros_like(joint.steps(ratio))
    for seat in (0, 1):
        estimates = two_player_vtrace(
            inputs.heads,
            joint.steps(inputs.log_probs),
            joint.steps(inputs.behaviour),
            joint.steps(ratio),
            joint.steps(inputs.action),
            value,
            torch.where(actor == seat, reward, 0.0),
            actor,
            valid,
            seat=seat,
            eta=settings.eta,
            lam=settings.lam,
            rho_clip=settings.rho_clip,
            c_clip=settings.c_clip,
        )
        target, q = target + estimates.value, q + estimates.q
    advantage = advantages(inputs.heads, inputs.log_probs, joint.rows(q), inputs.mask)
    return replace(inputs, value_target=joint.rows(target), q_advantage=advantage)


def _refuse_partial(batch: Batch) -> None:
    unrolls = batch.unrolls
    played = np.unique(2 * unrolls.match + unrolls.seat).size
    if played != int(unrolls.ended.sum()):
        raise LanistaError("eta needs whole matches, and some of the data's go on; collect those.")


def _bent(inputs: LossInputs, steps: Steps, batch: Batch) -> Steps:
    """Return the steps with the regularised game's rewards, each seat's over its own decisions."""
    joint, eta = batch.joint, inputs.settings.eta
    reference = inputs.heads.joint(inputs.references["rnad"], inputs.action)
    paid = inputs.behaviour - reference
    actor, valid = joint.steps(batch.tensor("seat")), joint.index >= 0
    other = torch.zeros_like(joint.steps(paid))
    for seat in (0, 1):
        other = other + between_own(joint.steps(paid), actor, valid, seat=seat)
    reward = transform_own_rewards(
        steps.reward,
        batch.steps(paid),
        batch.steps(joint.rows(other)),
        batch.index >= 0,
        eta=eta,
    )
    return replace(steps, reward=reward)


MAKE = {"ppo": _ppo, "vtrace": _vtrace, "all_action": _all_action, "neurd": _neurd}


def _outcome(batch: Batch, forward: Forward, steps: Steps) -> Tensor:
    """Return win/draw/loss probabilities `[N, 3]`: the result, or the guess where it is open."""
    classes = outcome_classes(steps.reward.sum(0))
    result = torch.nn.functional.one_hot(classes, 3).to(forward.value)
    goes_on = batch.tensor("goes_on")
    # An unroll whose match goes on has no result: the next value as an even chance of the rest.
    value = forward.next_value.clamp(-1, 1)
    guess = torch.stack([value.clamp(min=0), 1 - value.abs(), (-value).clamp(min=0)], -1)
    lane = torch.where(goes_on[:, None], guess, result)
    return batch.rows(lane.expand(len(steps.reward), *lane.shape))


def scales(settings: Learning) -> bool:
    """Whether a row's advantage depends on the other rows of its step."""
    sampled = settings.policy in ("ppo", "vtrace") and settings.q_trace is None
    return sampled and (settings.normalise_advantages or settings.keep_advantages < 1)


def _ratio(settings: Learning, pieces: list[Rows]) -> Tensor | None:
    """Return the ratio that V-trace's advantages carry; those of ppo have none."""
    if settings.policy != "vtrace":
        return None
    log_ratio = _joined([piece.chosen - piece.behaviour for piece in pieces])
    return log_ratio.exp().clamp(max=settings.pg_rho_clip)


def _normalised(
    settings: Learning, pieces: list[Rows], advantage: Tensor, everything: Tensor
) -> Tensor:
    ratio, fewest = _ratio(settings, pieces), settings.matchup_advantages
    least = settings.least_deviation or returns.LEAST_DEVIATION
    if fewest is None:
        return returns.normalise(advantage, everything, ratio_t=ratio, least=least)
    matchup = [piece.matchup for piece in pieces if piece.matchup is not None]
    if not matchup:
        raise LanistaError(
            "learning.matchup_advantages needs to know who the opponents were, and the data does "
            "not say; leave it out."
        )
    return returns.normalise_by_group(
        advantage,
        _joined(matchup),
        fewest,
        valid_t=everything,
        ratio_t=ratio,
        least=least,
        groups=pieces[0].matchups,
    )


def _joined(columns: list[Tensor]) -> Tensor:
    return columns[0] if len(columns) == 1 else torch.cat(columns)


@dataclass(frozen=True)
class AdvantageRows:
    """What the advantages of a shard are scaled by, for ranks that do not have the shard."""

    advantage: Tensor | None
    valid: Tensor
    chosen: Tensor
    behaviour: Tensor
    matchup: Tensor | None = None
    kept_share: float | None = None
    matchups: ClassVar[int | None] = None
    """Matchups have any numbers: shards are never filled up."""

    @property
    def everything(self) -> Tensor:
        """`[N]`: all rows are decisions."""
        return returns.unpadded(self.chosen)

    @classmethod
    def of(cls, inputs: LossInputs) -> AdvantageRows:
        """Return those of a shard."""
        chosen = inputs.chosen.detach()
        return cls(inputs.advantage, inputs.valid, chosen, inputs.behaviour, inputs.matchup)

    def sent(self) -> dict[str, Tensor | None]:
        """Return them as plain values and tensors."""
        names = ("advantage", "valid", "chosen", "behaviour", "matchup")
        return {name: getattr(self, name) for name in names}


Rows = TypeVar("Rows", LossInputs, AdvantageRows)


def with_advantage(inputs: LossInputs, ready: LossInputs | AdvantageRows) -> LossInputs:
    """Return a shard's inputs with advantages that were scaled over a whole step."""
    return replace(
        inputs, advantage=ready.advantage, valid=ready.valid, kept_share=ready.kept_share
    )


@torch.no_grad()
def scaled(settings: Learning, pieces: list[Rows]) -> list[Rows]:
    """Return the pieces of one step, advantages chosen and normalised over all their rows."""
    if not scales(settings):
        return pieces
    advantage = _joined([piece.advantage for piece in pieces if piece.advantage is not None])
    # Only a step in one piece is ever padded.
    everything = pieces[0].everything if len(pieces) == 1 else returns.unpadded(advantage)
    valid = everything
    if settings.keep_advantages < 1:
        valid = returns.keep_largest(advantage, everything, settings.keep_advantages)
    if settings.normalise_advantages:
        advantage = _normalised(settings, pieces, advantage, everything)
    if len(pieces) == 1:
        return [replace(pieces[0], advantage=advantage, valid=valid, kept_share=1.0)]
    sizes = [len(piece.valid) for piece in pieces]
    masks = torch.split(valid, sizes)
    counts = sizes
    if settings.keep_advantages < 1:
        counts = torch.stack([mask.sum() for mask in masks]).tolist()
    return [
        replace(piece, advantage=mine, valid=some, kept_share=count / sum(counts))
        for piece, mine, some, count in zip(
            pieces, torch.split(advantage, sizes), masks, counts, strict=True
        )
    ]
