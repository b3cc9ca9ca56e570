"""Losses: each a pure function of tensors that gives one scalar to be made smaller.

A scalar is the mean over valid steps of `[T, B]`, or rows `[N]`; padding, whatever it holds,
changes no loss and gets no gradient. Advantages and targets never carry one. Where a loss reads
whole distributions, `heads` says how the last axis is divided. Knows nothing of weights,
schedules or optimisers: their product and sum are the learner's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lanista.learn.returns import as_flags, explained_variance, kept, mean_over
from lanista.nets.distribution import Heads

# Beyond this a ratio says only "far away"; its exp must not overflow float32, not even in a
# branch that is thrown away, since infinity times a zero gradient is NaN.
_LARGEST_LOG_RATIO = 40.0


Numbers = Mapping[str, Tensor]


@dataclass(frozen=True)
class Term:
    """A scalar with its gradient, and numbers worth logging without one."""

    loss: Tensor
    measured: Numbers | Callable[[], Numbers]
    """The numbers, or what works them out: most steps are taken without anybody asking."""

    @cached_property
    def statistics(self) -> Numbers:
        if not callable(self.measured):
            return self.measured
        with torch.no_grad():
            return self.measured()


def policy_gradient(log_prob_t: Tensor, advantage_t: Tensor, valid_t: Tensor) -> Term:
    """Return −E[A log π(a)]; `log_prob_t` `[T, B]` belongs to the actions that were played.

    With V-trace the advantage already carries its clipped ratio.
    """
    _same(valid_t, log_prob_t, advantage_t)
    loss = -mean_over(advantage_t.detach() * kept(log_prob_t, valid_t), valid_t)
    return Term(loss, lambda: {"advantage": _mean(advantage_t, valid_t)})


def ppo_clip(
    log_prob_t: Tensor,
    behaviour_log_prob_t: Tensor,
    advantage_t: Tensor,
    valid_t: Tensor,
    *,
    clip: float = 0.2,
) -> Term:
    """Return −E[min(r A, clip(r, 1 ± `clip`) A)], r = π(a)/μ(a) (Schulman et al. 2017).

    `approx_kl` estimates KL(μ‖π) by r − 1 − log r; `clip_fraction` is the share of steps whose
    ratio lies outside the clip.
    """
    _same(valid_t, log_prob_t, behaviour_log_prob_t, advantage_t)
    log_ratio_t = log_ratio(log_prob_t, behaviour_log_prob_t, valid_t)
    ratio_t = log_ratio_t.exp()
    advantage_t = kept(advantage_t.detach(), valid_t)
    bounded_t = ratio_t.clamp(1 - clip, 1 + clip)
    loss = -mean_over(torch.minimum(ratio_t * advantage_t, bounded_t * advantage_t), valid_t)

    def measured() -> Numbers:
        return {
            "advantage": _mean(advantage_t, valid_t),
            "approx_kl": _mean(ratio_t - 1 - log_ratio_t, valid_t),
            "clip_fraction": _mean(((ratio_t - 1).abs() > clip).to(ratio_t), valid_t),
        }

    return Term(loss, measured)


def ppo_clip_all(
    heads: Heads,
    log_prob_t: Tensor,
    behaviour_log_prob_t: Tensor,
    advantage_t: Tensor,
    mask_t: Tensor,
    valid_t: Tensor,
    *,
    clip: float = 0.2,
) -> Term:
    """Return −E[Σ_a μ(a) min(r(a) A(a), clip(r(a), 1 ± `clip`) A(a))], r = π/μ, over all choices.

    All tensors are `[T, B, choices]`: what `ppo_clip` has in the mean over the played choice.
    """
    _wider(valid_t, log_prob_t, behaviour_log_prob_t, advantage_t, mask_t)
    behaviour_t = kept(behaviour_log_prob_t.detach(), valid_t).masked_fill(~mask_t, 0.0)
    gap_t = kept(log_prob_t, valid_t).masked_fill(~mask_t, 0.0) - behaviour_t
    gap_t = gap_t.clamp(-_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO)
    ratio_t, share_t = gap_t.exp(), behaviour_t.exp() * mask_t
    advantage_t = kept(advantage_t.detach(), valid_t)
    bounded_t = ratio_t.clamp(1 - clip, 1 + clip)
    gain_t = torch.minimum(ratio_t * advantage_t, bounded_t * advantage_t)
    loss = -mean_over((share_t * gain_t).sum(-1), valid_t)

    def measured() -> Numbers:
        outside_t = ((ratio_t - 1).abs() > clip).to(ratio_t)
        return {
            "advantage_size": _mean((share_t * advantage_t.abs()).sum(-1), valid_t),
            "approx_kl": _mean((share_t * (ratio_t - 1 - gap_t)).sum(-1), valid_t),
            "clip_fraction": _mean((share_t * outside_t).sum(-1) / len(heads), valid_t),
        }

    return Term(loss, measured)


def upgo_loss(
    log_prob_t: Tensor,
    behaviour_log_prob_t: Tensor,
    value_t: Tensor,
    upgo_t: Tensor,
    valid_t: Tensor,
    *,
    rho_clip: float = 1.0,
    weight_t: Tensor | None = None,
) -> Term:
    """Return −E[w ρ (G − V) log π(a)], ρ = min(`rho_clip`, π/μ) (Vinyals et al. 2019).

    `upgo_t` are the upgoing returns G of `returns.upgo`; w is `weight_t`, 1 if not given.
    """
    _same(valid_t, log_prob_t, behaviour_log_prob_t, value_t, upgo_t)
    ratio_t = log_ratio(log_prob_t, behaviour_log_prob_t, valid_t).detach().exp()
    advantage_t = ratio_t.clamp(max=rho_clip) * (upgo_t - value_t).detach()
    if weight_t is not None:
        advantage_t = weight_t * advantage_t
    loss = -mean_over(advantage_t * kept(log_prob_t, valid_t), valid_t)
    return Term(loss, lambda: {"upgo_advantage": _mean(advantage_t, valid_t)})


def all_action(
    heads: Heads, log_prob_t: Tensor, q_t: Tensor, mask_t: Tensor, valid_t: Tensor
) -> Term:
    """Return −E[Σ_a π(a) (Q(a) − Σ_b π(b) Q(b))], summed over heads.

    `log_prob_t` and `q_t` are `[T, B, choices]`; with several heads Q(a) is the value of one
    head's choice, the others playing π. Only π has a gradient.
    """
    _wider(valid_t, log_prob_t, q_t, mask_t)
    prob_t = kept(log_prob_t, valid_t).exp()
    advantage_t = advantages(heads, log_prob_t, q_t, mask_t)
    loss = -mean_over((prob_t * advantage_t).sum(-1), valid_t)

    def measured() -> Numbers:
        return {"advantage_size": _mean((prob_t * advantage_t.abs()).sum(-1), valid_t)}

    return Term(loss, measured)


def neurd(
    heads: Heads,
    logit_t: Tensor,
    advantage_t: Tensor,
    mask_t: Tensor,
    valid_t: Tensor,
    *,
    threshold: float = 2.0,
    clip: float = 1e4,
) -> Term:
    """Return the NeuRD loss −E[Σ_a y(a) · sg(A(a))] (Hennes et al. 2020; Perolat et al. 2022).

    y are the logits of each head less their mean over legal choices, so a shift of all logits
    has no gradient. A(a) `[T, B, choices]` is given for every choice, clipped to ±`clip`, and
    dropped where it would push y(a) further beyond ±`threshold`.
    """
    _wider(valid_t, logit_t, advantage_t, mask_t)
    legal_t = mask_t & as_flags(valid_t)[..., None]
    centred_t = centred_logits(heads, logit_t, legal_t)
    with torch.no_grad():
        force_t = advantage_t.masked_fill(~legal_t, 0.0).clamp(-clip, clip)
        blocked_t = ((centred_t >= threshold) & (force_t > 0)) | (
            (centred_t <= -threshold) & (force_t < 0)
        )
        force_t = force_t.masked_fill(blocked_t, 0.0)
    loss = -mean_over((centred_t * force_t).sum(-1), valid_t)

    def measured() -> Numbers:
        share = (blocked_t & legal_t).sum() / legal_t.sum().clamp(min=1)
        return {"blocked": share, "largest_logit": centred_t.detach().abs().max()}

    return Term(loss, measured)


def centred_logits(heads: Heads, logit_t: Tensor, mask_t: Tensor) -> Tensor:
    """Return logits less their mean over the legal choices of each head; illegal ones count 0."""
    logit_t = logit_t.masked_fill(~mask_t, 0.0)
    mean_t = heads.sum(logit_t) / heads.legal(mask_t).clamp(min=1)
    return logit_t - heads.spread(mean_t)


def logit_fit(
    heads: Heads, logit_t: Tensor, goal_t: Tensor, mask_t: Tensor, weight_t: Tensor
) -> Tensor:
    """Return ½ Σ w Σ_a (y(a) − goal(a))² over legal choices, y the logits less their mean.

    `weight_t` `[N]` says how much each row counts. With goal = y + step · A and one gradient step
    this is NeuRD; more steps bring the logits there whatever the network and the optimiser are.
    """
    gap_t = (centred_logits(heads, logit_t, mask_t) - goal_t.detach()).masked_fill(~mask_t, 0.0)
    return 0.5 * (weight_t * gap_t.square().sum(-1)).sum()


def advantages(heads: Heads, log_prob_t: Tensor, q_t: Tensor, mask_t: Tensor) -> Tensor:
    """Return Q(a) − Σ_b π(b) Q(b) for each choice of each head, 0 at illegal ones, no gradient."""
    with torch.no_grad():
        q_t = q_t.masked_fill(~mask_t, 0.0)
        mean_t = heads.sum(log_prob_t.exp() * q_t)
        return (q_t - heads.spread(mean_t)).masked_fill(~mask_t, 0.0)


def value_loss(
    value_t: Tensor,
    target_t: Tensor,
    valid_t: Tensor,
    *,
    old_value_t: Tensor | None = None,
    clip: float | None = None,
) -> Term:
    """Return ½ E[(V − target)²].

    With `clip` and `old_value_t`, V moves at most `clip` from its old value before the larger of
    both errors counts, as in PPO.
    """
    _same(valid_t, value_t, target_t)
    if (clip is None) != (old_value_t is None):
        raise ValueError("Value clipping needs both `clip` and `old_value_t`.")
    value_t, target_t = kept(value_t, valid_t), kept(target_t.detach(), valid_t)
    error_t = (value_t - target_t).square()
    if clip is not None and old_value_t is not None:
        old_t = kept(old_value_t.detach(), valid_t)
        bounded_t = old_t + (value_t - old_t).clamp(-clip, clip)
        error_t = torch.maximum(error_t, (bounded_t - target_t).square())

    def measured() -> Numbers:
        return {
            "explained_variance": explained_variance(value_t.detach(), target_t, valid_t),
            "value": _mean(value_t, valid_t),
        }

    return Term(0.5 * mean_over(error_t, valid_t), measured)


def q_loss(heads: Heads, q_t: Tensor, action_t: Tensor, target_t: Tensor, valid_t: Tensor) -> Term:
    """Return ½ E[(Q(a) − target)²] at the choices that were played, averaged over heads.

    `q_t` is `[T, B, choices]`, `action_t` `[T, B, heads]`, `target_t` `[T, B]`.
    """
    _same(valid_t, target_t)
    _wider(valid_t, q_t, action_t)
    chosen_t = kept(heads.select(q_t, action_t), valid_t)
    error_t = chosen_t - kept(target_t.detach(), valid_t)[..., None]
    mean_t = chosen_t.detach().mean(-1)

    def measured() -> Numbers:
        return {
            "q_explained_variance": explained_variance(mean_t, target_t.detach(), valid_t),
            "q": _mean(mean_t, valid_t),
        }

    return Term(0.5 * mean_over(error_t.square().mean(-1), valid_t), measured)


def outcome_loss(logit_t: Tensor, outcome_t: Tensor, valid_t: Tensor) -> Term:
    """Return the cross-entropy of win/draw/loss logits `[T, B, 3]`.

    `outcome_t` is either the class `[T, B]` (0 win, 1 draw, 2 loss) or probabilities
    `[T, B, 3]`, such as a bootstrap's.
    """
    if not outcome_t.is_floating_point():
        classes = torch.arange(3, device=outcome_t.device)
        outcome_t = (outcome_t[..., None] == classes).to(logit_t)
    _wider(valid_t, logit_t, outcome_t)
    logit_t, outcome_t = kept(logit_t, valid_t), kept(outcome_t.detach(), valid_t)
    entropy_t = -(outcome_t * logit_t.log_softmax(-1)).sum(-1)

    def measured() -> Numbers:
        right_t = (logit_t.argmax(-1) == outcome_t.argmax(-1)).to(logit_t)
        return {
            "outcome_accuracy": _mean(right_t, valid_t),
            "value": _mean(outcome_value(logit_t), valid_t),
        }

    return Term(mean_over(entropy_t, valid_t), measured)


def outcome_value(logit_t: Tensor) -> Tensor:
    """Return P(win) − P(loss) from win/draw/loss logits `[..., 3]`, `[...]`."""
    prob_t = logit_t.softmax(-1)
    return prob_t[..., 0] - prob_t[..., 2]


def outcome_classes(return_t: Tensor) -> Tensor:
    """Return the class of each match's return: 0 above zero, 1 at zero, 2 below."""
    return 1 - return_t.sign().long()


def imitation(
    heads: Heads,
    log_prob_t: Tensor,
    action_t: Tensor,
    mask_t: Tensor,
    valid_t: Tensor,
    *,
    weights: Sequence[float] | None = None,
    shared: bool = False,
) -> Term:
    """Return E[−Σ_h w_h log π_h(a_h) / n], the weighted negative log-likelihood of played actions.

    Steps may be `[T, B]` or `[N]`. n is 1, or, where the loss is `shared`, how many heads of the
    decision have more than one legal choice. `nll` is neither weighted nor shared. `accuracy`
    `[heads]` counts only decisions in which a head has more than one legal choice, and `decisions`
    `[heads]` says how many those were.
    """
    _wider(valid_t, log_prob_t, action_t, mask_t)
    loss_t = -kept(heads.select(log_prob_t, action_t), valid_t)
    nll = mean_over(loss_t.detach().sum(-1), valid_t)
    if weights is not None:
        loss_t = loss_t * _weights(weights, loss_t)
    open_t = (heads.legal(mask_t) > 1) & as_flags(valid_t)[..., None]
    right_t = (heads.mode(log_prob_t, mask_t) == action_t) & open_t
    steps = tuple(range(valid_t.dim()))
    decisions = open_t.sum(steps)
    accuracy = right_t.sum(steps) / decisions.clamp(min=1)
    statistics = {"nll": nll, "accuracy": accuracy, "decisions": decisions}
    summed_t = loss_t.sum(-1)
    if shared:
        summed_t = summed_t / open_t.sum(-1).clamp(min=1)
    return Term(mean_over(summed_t, valid_t), statistics)


def entropy_bonus(
    entropy_t: Tensor,
    valid_t: Tensor,
    *,
    weights: Sequence[float] | None = None,
    shared_by: Tensor | None = None,
) -> Term:
    """Return −E[Σ_h w_h H(π_h) / n]: smaller where play is more random.

    `entropy_t` is `[T, B, heads]`; n is `shared_by` `[T, B]`, 1 if not given. `entropy` `[heads]`
    is each head's mean over valid steps, in nats and unweighted.
    """
    _wider(valid_t, entropy_t)
    plain_t = entropy_t = kept(entropy_t, valid_t)
    if weights is not None:
        entropy_t = entropy_t * _weights(weights, entropy_t)
    summed_t = entropy_t.sum(-1)
    loss = -mean_over(summed_t if shared_by is None else summed_t / shared_by, valid_t)
    return Term(loss, lambda: {"entropy": _mean(plain_t, valid_t)})


def log_ratio(log_prob_t: Tensor, behaviour_log_prob_t: Tensor, valid_t: Tensor) -> Tensor:
    """Return log π(a) − log μ(a) within ±40, 0 at padding; μ has no gradient."""
    gap_t = kept(log_prob_t - behaviour_log_prob_t.detach(), valid_t)
    return gap_t.clamp(-_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO)


def _mean(values_t: Tensor, valid_t: Tensor) -> Tensor:
    return mean_over(values_t.detach(), valid_t)


def _weights(weights: Sequence[float], like: Tensor) -> Tensor:
    if len(weights) != like.shape[-1]:
        raise ValueError(f"{like.shape[-1]} heads need as many weights, got {len(weights)}.")
    return torch.tensor(weights, dtype=like.dtype, device=like.device)


def _same(valid_t: Tensor, *tensors: Tensor) -> None:
    for tensor in tensors:
        if tensor.shape != valid_t.shape:
            raise ValueError(
                f"All of a loss must share its steps: {list(tensor.shape)} is not "
                f"{list(valid_t.shape)}."
            )


def _wider(valid_t: Tensor, *tensors: Tensor) -> None:
    for tensor in tensors:
        if tensor.shape[:-1] != valid_t.shape:
            raise ValueError(
                f"All of a loss must share its steps: {list(tensor.shape)} is not "
                f"{[*valid_t.shape, 'choices or heads']}."
            )
