"""The terms that a loss is made of: each takes what an update knows and gives a scalar.

Their names stand in `term_table`. The mathematics is in `losses` and `regularisers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from lanista.errors import LanistaError
from lanista.learn import losses, regularisers
from lanista.learn.losses import Term
from lanista.learn.returns import mean_over
from lanista.learn.settings import Learning
from lanista.learn.term_table import term_entry
from lanista.nets.distribution import Heads

Weights = Mapping[str, float | Tensor]
"""Each term's weight: a number, or `[]` on the device where work is recorded that reads it."""


@dataclass
class LossInputs:
    """What a term may look at, all over the same rows `[N]`."""

    heads: Heads
    settings: Learning
    logits: Tensor
    log_probs: Tensor
    """`[N, choices]`, of the policy that learns."""
    acting: Tensor
    """`[N, choices]`: the same at the temperature at which it acts."""
    chosen: Tensor
    """`[N]`: the log-probability of what was done, at that temperature."""
    entropy: Tensor
    """`[N, heads]`, of the policy that learns."""
    mask: Tensor
    action: Tensor
    behaviour: Tensor
    """`[N]`: the same under the weights that acted."""
    behaviour_log_probs: Tensor | None
    critic: Tensor | None
    """The critic's raw output."""
    valid: Tensor
    """`[N]`: the rows that the policy terms learn from."""
    everything: Tensor
    """`[N]`: all rows that are decisions; read-only."""
    kept_share: float | None = None
    """How much of all a step's valid rows these are; None where every row is valid."""
    advantage: Tensor | None = None
    weight: Tensor | None = None
    """`[N]`: how much the policy is to learn from each row; None: from all alike."""
    matchup: Tensor | None = None
    """`[N]`: equal where the opponents are the same."""
    matchups: int | None = None
    """Their numbers are below this; None: any numbers."""
    frozen: Tensor | None = None
    """`[N]`: decided by an opponent that does not learn."""
    value_target: Tensor | None = None
    old_value: Tensor | None = None
    value_scale: Tensor | None = None
    """`[]`: what the critic's output is to be multiplied by."""
    upgo: Tensor | None = None
    teacher: Tensor | None = None
    """`[N, heads]`: what a teacher would have done; -1 where that says nothing."""
    forecast: Tensor | None = None
    """`[N]`: how wrong the seat's next view was predicted; 0 where it has none here."""
    value: Tensor | None = None
    """`[N]`: the critic's value, without gradient."""
    q_advantage: Tensor | None = None
    """`[N, choices]`: the advantage of every choice, of neurd and with q_trace joint."""
    outcome: Tensor | None = None
    """`[N, 3]`: how the match ended for the seat, as win/draw/loss probabilities."""
    weights: Weights = field(default_factory=dict)
    """Each term's weight in this update."""
    references: dict[str, Tensor] = field(default_factory=dict)
    """Log-probabilities of other policies, `[N, choices]`; the portfolio's `[K, N, choices]`."""


def policy(inputs: LossInputs) -> Term:
    settings = inputs.settings
    if settings.policy == "all_action":
        assert inputs.critic is not None
        return losses.all_action(
            inputs.heads, inputs.log_probs, inputs.critic, inputs.mask, inputs.valid
        )
    if settings.policy == "neurd":
        assert inputs.q_advantage is not None
        return losses.neurd(
            inputs.heads,
            inputs.logits,
            inputs.q_advantage,
            inputs.mask,
            inputs.valid,
            threshold=settings.neurd_threshold,
            clip=settings.neurd_clip,
        )
    if settings.q_trace == "joint":
        return _ppo_of_all_choices(inputs)
    advantage = inputs.advantage
    assert advantage is not None
    if settings.matchup_floor is not None:
        if inputs.weight is None:
            raise LanistaError(
                "learning.matchup_floor needs to know who the opponents were, and the data does "
                "not say; leave it out."
            )
        # Both losses are in proportion to a positive factor of the advantage.
        advantage = inputs.weight * advantage
    if settings.policy == "vtrace":
        return losses.policy_gradient(inputs.chosen, advantage, inputs.valid)
    return losses.ppo_clip(
        inputs.chosen, inputs.behaviour, advantage, inputs.valid, clip=settings.clip
    )


def _ppo_of_all_choices(inputs: LossInputs) -> Term:
    assert inputs.q_advantage is not None
    if inputs.behaviour_log_probs is None:
        raise LanistaError(
            "ppo with q_trace joint needs the acting policy's log_probs in the data."
        )
    return losses.ppo_clip_all(
        inputs.heads,
        inputs.acting,
        inputs.behaviour_log_probs,
        inputs.q_advantage,
        inputs.mask,
        inputs.valid,
        clip=inputs.settings.clip,
    )


def value(inputs: LossInputs) -> Term:
    settings = inputs.settings
    assert inputs.critic is not None
    if settings.critic_output == "outcome":
        assert inputs.outcome is not None
        return losses.outcome_loss(inputs.critic, inputs.outcome, inputs.everything)
    assert inputs.value_target is not None
    if settings.critic_output == "q":
        return losses.q_loss(
            inputs.heads, inputs.critic, inputs.action, inputs.value_target, inputs.everything
        )
    target, old = inputs.value_target, inputs.old_value
    if inputs.value_scale is not None:
        target, old = target / inputs.value_scale, None if old is None else old / inputs.value_scale
    if not settings.value_clip or old is None:
        old = None
    clip = None if old is None else settings.value_clip
    term = losses.value_loss(inputs.critic, target, inputs.everything, old_value_t=old, clip=clip)
    if inputs.value_scale is None:
        return term
    square = mean_over(inputs.value_target.square(), inputs.everything)
    return Term(term.loss, lambda: {**term.statistics, "target_square": square})


def upgo(inputs: LossInputs) -> Term:
    assert inputs.upgo is not None
    assert inputs.value is not None
    return losses.upgo_loss(
        inputs.chosen,
        inputs.behaviour,
        inputs.value,
        inputs.upgo,
        inputs.valid,
        rho_clip=inputs.settings.pg_rho_clip,
        weight_t=inputs.weight,
    )


def entropy(inputs: LossInputs) -> Term:
    if inputs.settings.entropy_heads == "mean":
        choosing = (inputs.heads.legal(inputs.mask) > 1).sum(-1).clamp(min=1)
        return losses.entropy_bonus(inputs.entropy, inputs.valid, shared_by=choosing)
    return losses.entropy_bonus(inputs.entropy, inputs.valid)


def anchor_reverse(inputs: LossInputs) -> Term:
    return regularisers.reverse_kl(
        inputs.heads, inputs.log_probs, inputs.references["anchor"], inputs.mask, inputs.everything
    )


def anchor_forward(inputs: LossInputs) -> Term:
    return regularisers.forward_kl(
        inputs.heads, inputs.log_probs, inputs.references["anchor"], inputs.mask, inputs.everything
    )


def reference(inputs: LossInputs) -> Term:
    return regularisers.reference_kl(
        inputs.heads,
        inputs.log_probs,
        inputs.references["reference"],
        inputs.mask,
        inputs.everything,
    )


def teacher(inputs: LossInputs) -> Term:
    if inputs.teacher is None:
        raise LanistaError(
            "The term teacher needs a teacher's choices in the data; set rollouts.teacher."
        )
    return regularisers.teacher_cross_entropy(
        inputs.heads, inputs.log_probs, inputs.teacher, inputs.mask, inputs.everything
    )


def forecast(inputs: LossInputs) -> Term:
    """Over all rows, so that the parts of a step add up: without a next view a row counts 0."""
    assert inputs.forecast is not None
    return Term(mean_over(inputs.forecast, inputs.everything), {})


def portfolio(inputs: LossInputs) -> Term:
    return regularisers.portfolio_kl(
        inputs.heads,
        inputs.log_probs,
        inputs.references["portfolio"],
        inputs.mask,
        inputs.everything,
        pull=inputs.settings.portfolio_pull,
    )


def magnet(inputs: LossInputs) -> Term:
    return regularisers.magnet(inputs.heads, inputs.log_probs, inputs.mask, inputs.everything)


def behaviour(inputs: LossInputs) -> Term:
    if inputs.behaviour_log_probs is None:
        raise LanistaError("The term behaviour needs the acting policy's log_probs in the data.")
    return regularisers.behaviour_kl(
        inputs.heads, inputs.acting, inputs.behaviour_log_probs, inputs.mask, inputs.everything
    )


def term(name: str) -> Callable[[LossInputs], Term]:
    """Return a term by name: ours, or an installed package's."""
    function: Callable[[LossInputs], Term] = term_entry(name).load()
    return function


def counts(weight: float | Tensor) -> bool:
    """Whether a weight is not 0; of one on a device only those that are not are looked at."""
    return isinstance(weight, Tensor) or weight != 0


def weighted(terms: dict[str, Term], weights: Weights) -> Tensor:
    """Return the weighted sum of the terms."""
    return torch.stack([weights[name] * entry.loss for name, entry in terms.items()]).sum()
