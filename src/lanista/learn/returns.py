"""Returns, targets and advantages over a seat's own decisions.

All tensors are `[T, B]`: T own decisions of B unrolls. `discount_t` is γ where the match goes on
after a step and 0 where it ended; `last_value` `[B]` is the value at the seat's next own decision
after the unroll, 0 if there is none. Padding follows a match's end or comes before an unroll that
goes on, with reward and discount 0, so no target beside it depends on it. Nothing here has a
gradient. Knows nothing of policies.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

LEAST_DEVIATION = 1e-6
"""Advantages that lie no further apart are equal."""
_BY_DOUBLING = ("cuda",)
"""Devices on which starting an operation takes longer than what returns compute in it."""


class Estimate(NamedTuple):
    """What a critic is to learn and what a policy is to learn, both `[T, B]`."""

    target: Tensor
    advantage: Tensor


@torch.no_grad()
def discounted_returns(reward_t: Tensor, discount_t: Tensor, last_value: Tensor) -> Tensor:
    """Return G_t = r_t + γ_t G_{t+1} with G_T = `last_value`, `[T, B]`."""
    _check(reward_t, discount_t, last_value)
    return _backward(reward_t, discount_t, last_value)


@torch.no_grad()
def td_lambda(
    value_t: Tensor, reward_t: Tensor, discount_t: Tensor, last_value: Tensor, *, lam: float
) -> Tensor:
    """Return TD(λ) targets G_t = r_t + γ_t ((1 − λ) V_{t+1} + λ G_{t+1}), `[T, B]`."""
    _check(reward_t, discount_t, last_value, value_t)
    next_value = _next(value_t, last_value)
    return _backward(reward_t + discount_t * (1 - lam) * next_value, discount_t * lam, last_value)


@torch.no_grad()
def gae(
    value_t: Tensor, reward_t: Tensor, discount_t: Tensor, last_value: Tensor, *, lam: float
) -> Estimate:
    """Return generalised advantages (Schulman et al. 2016) and the returns they imply.

    δ_t = r_t + γ_t V_{t+1} − V_t; A_t = δ_t + γ_t λ A_{t+1}; the target is A_t + V_t.
    """
    _check(reward_t, discount_t, last_value, value_t)
    delta_t = reward_t + discount_t * _next(value_t, last_value) - value_t
    advantage_t = _backward(delta_t, discount_t * lam, torch.zeros_like(last_value))
    return Estimate(advantage_t + value_t, advantage_t)


@torch.no_grad()
def vtrace(
    log_ratio_t: Tensor,
    value_t: Tensor,
    reward_t: Tensor,
    discount_t: Tensor,
    last_value: Tensor,
    *,
    lam: float = 1.0,
    rho_clip: float = 1.0,
    pg_rho_clip: float = 1.0,
    c_clip: float = 1.0,
) -> Estimate:
    """Return V-trace targets and policy-gradient advantages (Espeholt et al. 2018, section 4).

    `log_ratio_t` is log π(a_t) − log μ(a_t), π the learner and μ the policy that acted. With
    ρ_t = min(`rho_clip`, π/μ) and c_t = λ min(`c_clip`, π/μ):
    v_t = V_t + ρ_t (r_t + γ_t V_{t+1} − V_t) + γ_t c_t (v_{t+1} − V_{t+1}), and the advantage is
    min(`pg_rho_clip`, π/μ) (r_t + γ_t v_{t+1} − V_t).
    """
    _check(reward_t, discount_t, last_value, value_t, log_ratio_t)
    ratio_t = log_ratio_t.exp()
    delta_t = reward_t + discount_t * _next(value_t, last_value) - value_t
    excess_t = _backward(
        ratio_t.clamp(max=rho_clip) * delta_t,
        discount_t * lam * ratio_t.clamp(max=c_clip),
        torch.zeros_like(last_value),
    )
    target_t = value_t + excess_t
    gain_t = reward_t + discount_t * _next(target_t, last_value) - value_t
    return Estimate(target_t, ratio_t.clamp(max=pg_rho_clip) * gain_t)


@torch.no_grad()
def upgo(value_t: Tensor, reward_t: Tensor, discount_t: Tensor, last_value: Tensor) -> Tensor:
    """Return upgoing returns (Vinyals et al. 2019), `[T, B]`.

    G_t = r_t + γ_t (G_{t+1} if Q_{t+1} ≥ V_{t+1} else V_{t+1}), Q_t = r_t + γ_t V_{t+1}: what was
    played is followed for as long as it turns out no worse than expected.
    """
    _check(reward_t, discount_t, last_value, value_t)
    next_value = _next(value_t, last_value)
    better_t = reward_t + discount_t * next_value >= value_t
    # At the unroll's end both branches are the bootstrap.
    follow_t = _next(better_t, torch.ones_like(better_t[0]))
    stop_t = discount_t * torch.where(follow_t, 0.0, next_value)
    return _backward(reward_t + stop_t, discount_t * follow_t, last_value)


@torch.no_grad()
def explained_variance(value_t: Tensor, target_t: Tensor, valid_t: Tensor) -> Tensor:
    """Return 1 − Var(target − value) / Var(target) over valid steps, `[]`.

    0 where the targets do not vary, since then there is nothing to explain.
    """
    rest = _variance(target_t - value_t, valid_t)
    whole = _variance(target_t, valid_t)
    varied = whole > torch.finfo(whole.dtype).tiny
    return torch.where(varied, 1 - rest / torch.where(varied, whole, 1.0), 0.0)


@torch.no_grad()
def normalise(
    advantage_t: Tensor,
    valid_t: Tensor,
    *,
    ratio_t: Tensor | None = None,
    least: float = LEAST_DEVIATION,
) -> Tensor:
    """Return advantages with mean 0 and a mean square of 1 over valid steps, 0 at padding.

    Those of V-trace carry a ratio, `ratio_t`: A = ρ g. They become ρ (g − c), c so that their mean
    is 0. Where ρ is not clipped that leaves the gradient's direction as it is off policy too, since
    E_μ[ρ ∇ log π] = 0; without ρ the constant pulls away from whatever the older policy did.
    Sizes below `least` count as `least`, so equal advantages become 0, not noise.
    """
    centre = mean_over(advantage_t, valid_t)
    if ratio_t is not None:
        centre = centre / mean_over(ratio_t, valid_t).clamp(min=LEAST_DEVIATION) * ratio_t
    centred = advantage_t - centre
    size = mean_over(centred.square(), valid_t).sqrt().clamp(min=least)
    return kept(centred / size, valid_t)


@torch.no_grad()
def normalise_by_group(
    advantage_t: Tensor,
    group_t: Tensor,
    fewest: int,
    *,
    valid_t: Tensor | None = None,
    ratio_t: Tensor | None = None,
    least: float = LEAST_DEVIATION,
    groups: int | None = None,
) -> Tensor:
    """Return advantages `[N]` that `normalise` has scaled within each group of valid rows.

    Rows of a group that has fewer than `fewest` of them are scaled over all rows together. Where
    `group_t` has numbers below `groups`, nobody waits to hear how many there are.
    """
    valid_t = unpadded(advantage_t) if valid_t is None else valid_t
    common_t = normalise(advantage_t, valid_t, ratio_t=ratio_t, least=least)
    if groups is None:
        distinct, group_t = torch.unique(group_t, return_inverse=True)
        groups = len(distinct)
    sizes = torch.zeros(groups, device=advantage_t.device)
    count = sizes.index_add(0, group_t, kept(torch.ones_like(advantage_t), valid_t)).clamp(min=1)

    def mean_of(values_t: Tensor) -> Tensor:
        return sizes.index_add(0, group_t, kept(values_t, valid_t)) / count

    centre_t = mean_of(advantage_t)[group_t]
    if ratio_t is not None:
        centre_t = centre_t / mean_of(ratio_t).clamp(min=LEAST_DEVIATION)[group_t] * ratio_t
    centred_t = advantage_t - centre_t
    size_t = mean_of(centred_t.square()).sqrt().clamp(min=least)[group_t]
    return kept(torch.where(count[group_t] >= fewest, centred_t / size_t, common_t), valid_t)


@torch.no_grad()
def keep_largest(advantage_t: Tensor, valid_t: Tensor, share: float) -> Tensor:
    """Return a valid mask with only the `share` of valid steps that have the largest |advantage|.

    The number kept is rounded and at least one of any; of equals the earlier ones are kept.
    """
    if not 0 < share <= 1:
        raise ValueError(f"The share to keep must lie in (0, 1], got {share}.")
    flags = as_flags(valid_t)
    size = torch.where(flags, advantage_t.abs(), -1.0).flatten()
    order = size.argsort(descending=True, stable=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device)
    count = (flags.sum().double() * share).round().clamp(min=1)
    return (rank.view_as(flags) < count) & flags


def mean_over(values: Tensor, valid_t: Tensor) -> Tensor:
    """Return the mean of `values` `[T, B, ...]` over valid steps, `[...]`; 0 if there is none.

    Padding is cut out before it is summed, so even its infinities change nothing.
    """
    total = kept(values, valid_t).sum(tuple(range(valid_t.dim())))
    if is_unpadded(valid_t):
        return total / max(valid_t.numel(), 1)
    return total / valid_count(valid_t, values.dtype)


def kept(values: Tensor, valid_t: Tensor) -> Tensor:
    """Return `values` `[T, B, ...]` with padding set to 0, which also stops its gradient."""
    if is_unpadded(valid_t):
        return values
    flags = as_flags(valid_t)
    while flags.dim() < values.dim():
        flags = flags.unsqueeze(-1)
    return torch.where(flags, values, _zero(values.device))


def unpadded(like: Tensor) -> Tensor:
    """Return a mask of `like`'s shape without padding, which need not be looked at; read-only."""
    return _valid_one(like.device).expand(like.shape)


def is_unpadded(valid_t: Tensor) -> bool:
    """Whether a mask comes from `unpadded`, or is a part of one that does."""
    return valid_t.data_ptr() == _valid_one(valid_t.device).data_ptr()


@cache
def _valid_one(device: torch.device) -> Tensor:
    return torch.ones((), dtype=torch.bool, device=device)


@cache
def _zero(device: torch.device) -> Tensor:
    # A number would be sent to a GPU each time.
    return torch.zeros((), device=device)


def counted(valid_t: Tensor, count: Tensor) -> Tensor:
    """Return a mask that knows how many of its steps are valid, at least 1, in float32.

    A loss asks for that many times, and a GPU would add it up each time.
    """
    valid_t.valid_count = count  # type: ignore[attr-defined]
    return valid_t


def valid_count(valid_t: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return the number of valid steps, at least 1, so that it can be divided by."""
    count: Tensor | None = getattr(valid_t, "valid_count", None)
    if count is None:
        count = as_flags(valid_t).sum().clamp(min=1)
    return count.to(dtype)


def as_flags(valid_t: Tensor) -> Tensor:
    """Return a mask of 0 and 1, or of bools, as bools."""
    return valid_t if valid_t.dtype is torch.bool else valid_t != 0


def _variance(values: Tensor, valid_t: Tensor) -> Tensor:
    centred = values - mean_over(values, valid_t)
    return mean_over(centred.square(), valid_t)


def _next(values_t: Tensor, last: Tensor) -> Tensor:
    return torch.cat([values_t[1:], last[None]])


def _backward(add_t: Tensor, keep_t: Tensor, last: Tensor) -> Tensor:
    """Return x_t = `add_t` + `keep_t` · x_{t+1}, starting from `last`, `[T, B]`.

    Every return in this module is this recurrence. What is not finite stays visible: it reaches
    every earlier step of its unroll, even over a `keep_t` of 0.
    """
    if add_t.device.type in _BY_DOUBLING:
        return _doubling(add_t, keep_t, last)
    current, out = last, []
    for add, keep in zip(reversed(add_t.unbind()), reversed(keep_t.unbind()), strict=True):
        current = torch.addcmul(add, keep, current)
        out.append(current)
    return torch.stack(out[::-1])


def _doubling(add_t: Tensor, keep_t: Tensor, last: Tensor) -> Tensor:
    """Return the same in 2 log₂ T operations on whole tensors, where T small ones cost more.

    After n rounds x_t = add_t + keep_t · x_{t + 2ⁿ}. Beyond T both are 0, as is what `last` keeps.
    """
    steps = len(add_t) + 1
    spans = [2**n for n in range((steps - 1).bit_length())]
    # Two pairs, since a round reads what it replaces.
    room = add_t.new_zeros((4, steps + spans[-1], *last.shape))
    add, keep, next_add, next_keep = room.unbind()
    add[: steps - 1], add[steps - 1], keep[: steps - 1] = add_t, last, keep_t
    for span in spans:
        later = slice(span, steps + span)
        torch.addcmul(add[:steps], keep[:steps], add[later], out=next_add[:steps])
        torch.mul(keep[:steps], keep[later], out=next_keep[:steps])
        add, keep, next_add, next_keep = next_add, next_keep, add, keep
    return add[: steps - 1]


def _check(reward_t: Tensor, discount_t: Tensor, last_value: Tensor, *others: Tensor) -> None:
    if reward_t.dim() != 2 or len(reward_t) == 0:
        raise ValueError(f"Rewards must be [T, B] with T ≥ 1, got {list(reward_t.shape)}.")
    for tensor in (discount_t, *others):
        if tensor.shape != reward_t.shape:
            raise ValueError(
                f"All of an unroll must be {list(reward_t.shape)}, got {list(tensor.shape)}."
            )
    if last_value.shape != reward_t.shape[1:]:
        raise ValueError(
            f"`last_value` must be {list(reward_t.shape[1:])}, got {list(last_value.shape)}."
        )
