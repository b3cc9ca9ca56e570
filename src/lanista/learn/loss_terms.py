"""The terms that a loss is made of: each takes what an update knows and gives a scalar.

A term is a function in one table, so that a package can add its own (entry-point group
`lanista.losses`). The mathematics is in `losses` and `regularisers`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from lanista.errors import LanistaError, nearest
from lanista.learn import losses, regularisers
from lanista.learn.losses import Term
from lanista.learn.settings import Learning, added_terms
from lanista.nets.distribution import Heads


@dataclass
class Known:
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
    """`[N]`: all rows; read-only."""
    kept_share: float | None = None
    """How much of all a step's valid rows these are; None where every row is valid."""
    advantage: Tensor | None = None
    value_target: Tensor | None = None
    old_value: Tensor | None = None
    upgo: Tensor | None = None
    value: Tensor | None = None
    """`[N]`: the critic's value, without gradient."""
    q_advantage: Tensor | None = None
    """`[N, choices]`: R-NaD's advantage of every choice."""
    outcome: Tensor | None = None
    """`[N, 3]`: how the match ended for the seat, as win/draw/loss probabilities."""
    weights: dict[str, float] = field(default_factory=dict)
    """Each term's weight in this update."""
    references: dict[str, Tensor] = field(default_factory=dict)
    """Log-probabilities of other policies, `[N, choices]`; the portfolio's `[K, N, choices]`."""


def policy(known: Known) -> Term:
    settings = known.settings
    if settings.policy == "all_action":
        assert known.critic is not None
        return losses.all_action(
            known.heads, known.log_probs, known.critic, known.mask, known.valid
        )
    if settings.policy == "neurd":
        assert known.q_advantage is not None
        return losses.neurd(
            known.heads,
            known.logits,
            known.q_advantage,
            known.mask,
            known.valid,
            threshold=settings.neurd_threshold,
            clip=settings.neurd_clip,
        )
    assert known.advantage is not None
    if settings.policy == "vtrace":
        return losses.policy_gradient(known.chosen, known.advantage, known.valid)
    return losses.ppo_clip(
        known.chosen, known.behaviour, known.advantage, known.valid, clip=settings.clip
    )


def value(known: Known) -> Term:
    settings = known.settings
    assert known.critic is not None
    if settings.critic_output == "outcome":
        assert known.outcome is not None
        return losses.outcome_loss(known.critic, known.outcome, known.everything)
    assert known.value_target is not None
    if settings.critic_output == "q":
        return losses.q_loss(
            known.heads, known.critic, known.action, known.value_target, known.everything
        )
    if settings.value_clip and known.old_value is not None:
        return losses.value_loss(
            known.critic,
            known.value_target,
            known.everything,
            old_value_t=known.old_value,
            clip=settings.value_clip,
        )
    return losses.value_loss(known.critic, known.value_target, known.everything)


def upgo(known: Known) -> Term:
    assert known.upgo is not None
    assert known.value is not None
    return losses.upgo_loss(
        known.chosen,
        known.behaviour,
        known.value,
        known.upgo,
        known.valid,
        rho_clip=known.settings.pg_rho_clip,
    )


def entropy(known: Known) -> Term:
    return losses.entropy_bonus(known.entropy, known.valid)


def anchor_reverse(known: Known) -> Term:
    return regularisers.reverse_kl(
        known.heads, known.log_probs, known.references["anchor"], known.mask, known.everything
    )


def anchor_forward(known: Known) -> Term:
    return regularisers.forward_kl(
        known.heads, known.log_probs, known.references["anchor"], known.mask, known.everything
    )


def reference(known: Known) -> Term:
    return regularisers.reference_kl(
        known.heads, known.log_probs, known.references["reference"], known.mask, known.everything
    )


def portfolio(known: Known) -> Term:
    return regularisers.portfolio_kl(
        known.heads,
        known.log_probs,
        known.references["portfolio"],
        known.mask,
        known.everything,
        pull=known.settings.portfolio_pull,
    )


def magnet(known: Known) -> Term:
    return regularisers.magnet(known.heads, known.log_probs, known.mask, known.everything)


def behaviour(known: Known) -> Term:
    if known.behaviour_log_probs is None:
        raise LanistaError("The term behaviour needs the acting policy's log_probs in the data.")
    return regularisers.behaviour_kl(
        known.heads, known.acting, known.behaviour_log_probs, known.mask, known.everything
    )


FILTERED = ("policy", "upgo", "entropy")
"""Terms that learn from valid rows only; the others learn from all."""

TERMS: dict[str, Callable[[Known], Term]] = {
    "policy": policy,
    "value": value,
    "upgo": upgo,
    "entropy": entropy,
    "anchor_reverse": anchor_reverse,
    "anchor_forward": anchor_forward,
    "reference": reference,
    "portfolio": portfolio,
    "magnet": magnet,
    "behaviour": behaviour,
}


def term(name: str) -> Callable[[Known], Term]:
    """Return a term by name: ours, or an installed package's."""
    if name in TERMS:
        return TERMS[name]
    added = added_terms()
    if name in added:
        found: Callable[[Known], Term] = added[name].load()
        return found
    raise LanistaError(f"There is no loss term {name!r}; {nearest(name, [*TERMS, *added])}")


def weighted(terms: dict[str, Term], weights: dict[str, float]) -> Tensor:
    """Return the weighted sum of the terms."""
    return torch.stack([weights[name] * found.loss for name, found in terms.items()]).sum()
