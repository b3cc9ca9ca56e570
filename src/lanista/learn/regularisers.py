"""What keeps a policy near another one: KL divergences to references, magnets and behaviour.

Forward is KL(reference‖π), which spreads π over all that the reference plays; reverse is
KL(π‖reference), which keeps π from playing what the reference does not. References have no
gradient. Steps are `[T, B]`, or rows `[N]`; log-probabilities of all choices have one axis more.
Each loss is a mean over valid steps, summed over heads. Knows nothing of where references come
from.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from lanista.learn.losses import Numbers, Term, log_ratio
from lanista.learn.returns import as_flags, is_unpadded, mean_over
from lanista.nets.distribution import Heads

Pull = Literal["min", "mean", "softmin"]


def forward_kl(
    heads: Heads, log_prob_t: Tensor, reference_log_prob_t: Tensor, mask_t: Tensor, valid_t: Tensor
) -> Term:
    """Return E[KL(reference‖π)]."""
    kl = _mean_kl(heads, reference_log_prob_t.detach(), log_prob_t, mask_t, valid_t)
    return Term(kl.sum(-1), {"kl": kl.detach()})


def reverse_kl(
    heads: Heads, log_prob_t: Tensor, reference_log_prob_t: Tensor, mask_t: Tensor, valid_t: Tensor
) -> Term:
    """Return E[KL(π‖reference)]."""
    kl = _mean_kl(heads, log_prob_t, reference_log_prob_t.detach(), mask_t, valid_t)
    return Term(kl.sum(-1), {"kl": kl.detach()})


def teacher_cross_entropy(
    heads: Heads, log_prob_t: Tensor, teacher_t: Tensor, mask_t: Tensor, valid_t: Tensor
) -> Term:
    """Return E[−log π(a*)], a* `[T, B, heads]` what a teacher would have done, −1 for no label.

    `agreement` is the share of labelled heads whose likeliest choice is the teacher's.
    """
    labelled_t = teacher_t >= 0
    label_t = teacher_t.clamp(min=0)
    chosen_t = heads.select(log_prob_t, label_t)
    loss = -mean_over(torch.where(labelled_t, chosen_t, 0.0).sum(-1), valid_t)

    def measured() -> Numbers:
        counted_t = labelled_t & as_flags(valid_t)[..., None]
        same_t = (heads.mode(log_prob_t, mask_t) == label_t) & counted_t
        return {"agreement": same_t.sum() / counted_t.sum().clamp(min=1)}

    return Term(loss, measured)


def reference_kl(
    heads: Heads,
    log_prob_t: Tensor,
    reference_log_prob_t: Tensor,
    mask_t: Tensor,
    valid_t: Tensor,
    *,
    forward: bool = False,
) -> Term:
    """Return E[KL(π‖reference)], or E[KL(reference‖π)] if `forward`; both are logged `[heads]`.

    For a fixed reference (imitation) as for one that follows the learner at intervals.
    """
    ahead, back = forward_kl, reverse_kl
    loss, other = (ahead, back) if forward else (back, ahead)
    term = loss(heads, log_prob_t, reference_log_prob_t, mask_t, valid_t)

    def measured() -> Numbers:
        beside = other(heads, log_prob_t, reference_log_prob_t, mask_t, valid_t)
        both = (term, beside) if forward else (beside, term)
        names = ("kl_from_reference", "kl_to_reference")
        return {n: t.statistics["kl"] for n, t in zip(names, both, strict=True)}

    return Term(term.loss, measured)


def portfolio_kl(
    heads: Heads,
    log_prob_t: Tensor,
    reference_log_prob_kt: Tensor,
    mask_t: Tensor,
    valid_t: Tensor,
    *,
    pull: Pull = "min",
    temperature: float = 1.0,
    forward: bool = False,
) -> Term:
    """Return one KL to K references, `reference_log_prob_kt` `[K, T, B, choices]`.

    Each reference has its E[KL(π‖reference)], or E[KL(reference‖π)] if `forward`. `min` takes the
    nearest, `mean` all alike, and `softmin` weighs them by softmax(−KL / `temperature`), the
    weights without gradient. Logged: `kl` `[K]`, `weight` `[K]` and the nearest as `picked` `[]`.
    """
    if reference_log_prob_kt.dim() != log_prob_t.dim() + 1 or len(reference_log_prob_kt) == 0:
        raise ValueError(
            f"A portfolio must be [K, T, B, choices], got {list(reference_log_prob_kt.shape)}."
        )
    loss = forward_kl if forward else reverse_kl
    terms = [loss(heads, log_prob_t, ref, mask_t, valid_t) for ref in reference_log_prob_kt]
    kl = torch.stack([term.loss for term in terms])
    near = kl.detach()
    picked = near.argmin()
    weight = _weights(near, pull, temperature)
    return Term((weight * kl).sum(), {"kl": near, "weight": weight, "picked": picked})


def magnet(heads: Heads, log_prob_t: Tensor, mask_t: Tensor, valid_t: Tensor) -> Term:
    """Return E[KL(π‖uniform over legal choices)], the pull of magnetic mirror descent."""
    uniform_t = heads.uniform_log_probs(mask_t, log_prob_t.dtype)
    return reverse_kl(heads, log_prob_t, uniform_t, mask_t, valid_t)


def behaviour_kl(
    heads: Heads, log_prob_t: Tensor, behaviour_log_prob_t: Tensor, mask_t: Tensor, valid_t: Tensor
) -> Term:
    """Return E[KL(μ‖π)] exactly, from the stored log-probabilities of all choices under μ."""
    return forward_kl(heads, log_prob_t, behaviour_log_prob_t, mask_t, valid_t)


def behaviour_kl_sampled(log_prob_t: Tensor, behaviour_log_prob_t: Tensor, valid_t: Tensor) -> Term:
    """Return an estimate of E[KL(μ‖π)] from the played actions alone, all `[T, B]`.

    r − 1 − log r with r = π(a)/μ(a) and a drawn from μ: never negative, and both it and its
    gradient are right on average.
    """
    log_ratio_t = log_ratio(log_prob_t, behaviour_log_prob_t, valid_t)
    kl = mean_over(log_ratio_t.exp() - 1 - log_ratio_t, valid_t)
    return Term(kl, {"kl": kl.detach()})


def _mean_kl(heads: Heads, log_p: Tensor, log_q: Tensor, mask_t: Tensor, valid_t: Tensor) -> Tensor:
    """Return each head's KL(p‖q), averaged over valid steps, `[heads]`."""
    if log_p.shape != log_q.shape or log_p.shape != mask_t.shape:
        raise ValueError(
            f"Both policies and the mask must have one shape, got {list(log_p.shape)}, "
            f"{list(log_q.shape)} and {list(mask_t.shape)}."
        )
    # Padding counts as a decision without choices, so its numbers reach no exp and no gradient.
    legal_t = mask_t if is_unpadded(valid_t) else mask_t & as_flags(valid_t)[..., None]
    return mean_over(heads.kl(log_p, log_q, legal_t), valid_t)


def _weights(kl: Tensor, pull: Pull, temperature: float) -> Tensor:
    if pull == "min":
        return torch.zeros_like(kl).scatter(0, kl.argmin()[None], 1.0)
    if pull == "mean":
        return torch.full_like(kl, 1 / len(kl))
    if pull == "softmin":
        return torch.softmax(-kl / temperature, 0)
    raise ValueError(f"A portfolio is reduced by min, mean or softmin, got {pull!r}.")
