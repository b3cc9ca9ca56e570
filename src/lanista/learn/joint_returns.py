"""Action values over the decisions of both seats: Retrace(λ) where one wins what the other loses.

A critic that sees the whole position judges it for either seat, V of one being −V of the other, so
a return can be cut at every decision of a match and not only at a seat's own. A joint trajectory
is `[T, B]` decisions of both seats in order, `actor_t` saying whose each is, padded after the
match's end. Nothing here has a gradient. Knows nothing of networks.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from lanista.learn.returns import as_flags


class JointEstimate(NamedTuple):
    """Targets at every decision of a joint trajectory, for its actor; 0 at padding."""

    target: Tensor
    """G `[T, B]`: what Q of the played choice is to learn."""
    value: Tensor
    """V `[T, B]` = Σ_a π(a) (Q(a) − cost(a))."""


@torch.no_grad()
def joint_retrace(
    q_t: Tensor,
    log_prob_t: Tensor,
    log_ratio_t: Tensor,
    cost_t: Tensor,
    action_t: Tensor,
    reward_t: Tensor,
    actor_t: Tensor,
    valid_t: Tensor,
    *,
    lam: float,
    c_clip: float = 1.0,
) -> JointEstimate:
    """Return Retrace's targets (Munos et al. 2016) over the decisions of both seats.

    `q_t`, `log_prob_t`, `cost_t` `[T, B, choices]` are Q, log π and what each choice costs its
    actor and pays the other seat (R-NaD: η log(π/π_ref); else 0), with Q = 0 and cost 0 where a
    choice is illegal; `log_ratio_t` `[T, B]` is log π/μ of the played one; `reward_t` `[T, B]` what
    came to the actor from this decision until its next. In the view of seat 0, with r_t what came
    to it between decisions t and t+1 and c_t = λ min(`c_clip`, π/μ):

        G_t = r_t + V_{t+1} + c_{t+1} (G_{t+1} − Q_{t+1}(a_{t+1})).

    With π = μ that is Expected SARSA(λ). Q has no cost of the choice itself, which is known.
    """
    valid_t = as_flags(valid_t)
    sign_t = torch.where(actor_t == 0, 1.0, -1.0).to(q_t) * valid_t
    value_t = (log_prob_t.exp() * (q_t - cost_t)).sum(-1)
    played_t = q_t.gather(-1, action_t).squeeze(-1)
    trace_t = lam * log_ratio_t.exp().clamp(max=c_clip)
    to_come_t = rewards_to_come(reward_t, actor_t, valid_t)
    zero = torch.zeros_like(reward_t[0])
    to_come, value, excess, targets = zero, zero, zero, []
    for t in reversed(range(len(reward_t))):
        target = to_come_t[t] - to_come + value + excess
        targets.append(torch.where(valid_t[t], target, 0.0))
        to_come, value = to_come_t[t], sign_t[t] * value_t[t]
        excess = torch.where(valid_t[t], trace_t[t] * (target - sign_t[t] * played_t[t]), 0.0)
    return JointEstimate(sign_t * torch.stack(targets[::-1]), value_t * valid_t)


@torch.no_grad()
def rewards_to_come(reward_t: Tensor, actor_t: Tensor, valid_t: Tensor) -> Tensor:
    """Return what seat 0 gets from each decision on, `[T, B]`, 0 at padding.

    Rewards are kept at a seat's own decisions. What comes after a decision of seat 1 is therefore
    read off seat 1's, which is the opposite.
    """
    out = torch.zeros_like(reward_t)
    for seat, sign in ((0, 1.0), (1, -1.0)):
        own_t = (actor_t == seat) & valid_t
        sums_t = torch.where(own_t, reward_t, 0.0).flip(0).cumsum(0).flip(0)
        out = torch.where(own_t, sign * sums_t, out)
    return out


@torch.no_grad()
def corrected(
    q_t: Tensor, action_t: Tensor, target_t: Tensor, behaviour_log_prob_t: Tensor, *, clip: float
) -> Tensor:
    """Return q̂(a) = Q(a) + 1[a = A] w (G − Q(A)) `[..., choices]`, w = 1/μ(A) within [1, `clip`].

    Without a clip its mean over A ~ μ is E[G | a] whatever Q is; the better Q, the less it varies.
    With a `clip` of 0 it is Q itself.
    """
    if not clip:
        return q_t
    weight_t = (-behaviour_log_prob_t).exp().clamp(1.0, max(1.0, clip))
    error_t = target_t[..., None] - q_t.gather(-1, action_t)
    return q_t.scatter_add(-1, action_t, weight_t[..., None] * error_t)
