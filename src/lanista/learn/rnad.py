"""Regularised Nash dynamics for two-player zero-sum games (Perolat et al. 2022, "DeepNash").

The reward is transformed by −η log(π/π_ref) for whoever acts and by its opposite for the other
seat; the game so regularised has one equilibrium, play converges to it, and then the reference
moves there. Here are the transform, the schedule of references, and the two-player V-trace that
estimates V and Q of every choice, to be used with `losses.neurd`. A joint trajectory is `[T, B]`
decisions of both seats in order, `actor_t` saying whose each is, padded after the match's end.
Knows nothing of networks; targets are averaged by whoever owns the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from lanista.errors import LanistaError
from lanista.learn.returns import as_flags
from lanista.nets.distribution import Heads


class Stage(NamedTuple):
    """Where a learner step lies in the schedule of fixed points."""

    iteration: int
    """How many times the references have moved, this step included."""
    alpha: float
    """The weight of the current reference; the rest is the previous one's."""
    update: bool
    """Whether the references move before this step: previous ← current ← averaged policy."""


@dataclass(frozen=True)
class FixedPoint:
    """How many learner steps each regularised game is played; the last size repeats for ever."""

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1:
            raise LanistaError(
                f"Fixed points need sizes of at least one step each, got {self.sizes}."
            )

    def at(self, step: int) -> Stage:
        """Return the stage of learner step `step`, from 0.

        α rises from 0 to 1 over the first half of an iteration, so that the game changes
        without a jump: at a border the current reference becomes the previous one.
        """
        first, iteration = 0, 0
        while iteration < len(self.sizes) - 1 and step >= first + self.sizes[iteration]:
            first += self.sizes[iteration]
            iteration += 1
        size = self.sizes[iteration]
        repeats, inside = divmod(step - first, size)
        update = inside == 0 and step > 0
        return Stage(iteration + repeats, min(1.0, 2 * inside / size), update)


def interpolate(current_log_prob: Tensor, previous_log_prob: Tensor, alpha: float) -> Tensor:
    """Return α log π_current + (1 − α) log π_previous, the log of the reference between two.

    As in the paper it is not normalised: between two references the sum of its chances is below 1.
    """
    return alpha * current_log_prob + (1 - alpha) * previous_log_prob


@torch.no_grad()
def log_policy_ratio(log_prob: Tensor, reference_log_prob: Tensor, mask: Tensor) -> Tensor:
    """Return log π(a) − log π_ref(a) of every choice, 0 at illegal ones, no gradient."""
    return (log_prob - reference_log_prob).masked_fill(~mask, 0.0)


@torch.no_grad()
def transform_rewards(
    reward_t: Tensor, actor_t: Tensor, log_ratio_t: Tensor, valid_t: Tensor, *, eta: float
) -> Tensor:
    """Return the rewards `[T, B, 2]` of both seats in the regularised game, joint view.

    `log_ratio_t` `[T, B]` is log(π/π_ref) of the played action: its actor pays η times it, the
    other seat receives that.
    """
    _joint(actor_t, log_ratio_t, valid_t)
    if reward_t.shape != (*actor_t.shape, 2):
        raise ValueError(
            f"R-NaD needs the rewards of two seats, {[*actor_t.shape, 2]}, got "
            f"{list(reward_t.shape)}."
        )
    paid_t = torch.where(as_flags(valid_t), eta * log_ratio_t, 0.0)[..., None]
    own_t = actor_t[..., None] == torch.arange(2, device=actor_t.device)
    return reward_t - torch.where(own_t, paid_t, -paid_t)


@torch.no_grad()
def transform_own_rewards(
    reward_t: Tensor,
    log_ratio_t: Tensor,
    opponent_log_ratio_t: Tensor,
    valid_t: Tensor,
    *,
    eta: float,
) -> Tensor:
    """Return one seat's rewards `[T, B]` in the regularised game, over its own decisions.

    `opponent_log_ratio_t` is the sum of the opponent's log(π/π_ref) between this own decision and
    the next, folded in as its rewards are; `between_own` makes it from a joint trajectory.
    """
    _joint(reward_t, log_ratio_t, opponent_log_ratio_t, valid_t)
    paid_t = torch.where(as_flags(valid_t), log_ratio_t - opponent_log_ratio_t, 0.0)
    return reward_t - eta * paid_t


@torch.no_grad()
def between_own(values_t: Tensor, actor_t: Tensor, valid_t: Tensor, *, seat: int) -> Tensor:
    """Return, at each decision of `seat`, the sum of `values_t` over the other seat's decisions
    that follow it before the seat's next own one; 0 elsewhere, `[T, B]`.

    What comes before a seat's first decision follows none of its choices and is left out.
    """
    _joint(values_t, actor_t, valid_t)
    own_t = (actor_t == seat) & as_flags(valid_t)
    values_t = torch.where(as_flags(valid_t), values_t, 0.0)
    running, out = torch.zeros_like(values_t[0]), []
    for value, own in zip(reversed(values_t.unbind()), reversed(own_t.unbind()), strict=True):
        out.append(torch.where(own, running, 0.0))
        running = torch.where(own, 0.0, running + value)
    return torch.stack(out[::-1])


class SeatEstimate(NamedTuple):
    """Targets at the decisions of one seat, 0 elsewhere."""

    value: Tensor
    """v̂ `[T, B]`."""
    q: Tensor
    """q̂ `[T, B, choices]`."""
    own: Tensor
    """`[T, B]`: which decisions are the seat's."""


@torch.no_grad()
def two_player_vtrace(
    heads: Heads,
    log_prob_t: Tensor,
    behaviour_log_prob_t: Tensor,
    log_ratio_t: Tensor,
    action_t: Tensor,
    value_t: Tensor,
    reward_t: Tensor,
    actor_t: Tensor,
    valid_t: Tensor,
    *,
    seat: int,
    eta: float,
    lam: float = 1.0,
    rho_clip: float = 1.0,
    c_clip: float = 1.0,
) -> SeatEstimate:
    """Estimate V and Q of the regularised game for `seat`, from whole matches in the joint view.

    `log_prob_t`, `log_ratio_t` `[T, B, choices]` are log π and log(π/π_ref) of every choice;
    `behaviour_log_prob_t` `[T, B]` is log μ of what was played; `value_t` `[T, B]` the actor's
    value; `reward_t` `[T, B]` what came to `seat` after each decision. Going backwards, with
    ρ_t = π/μ of the played action and h_t = ∓η Σ_a π log(π/π_ref), − for the seat, + for the
    other, five numbers are carried over the opponent's decisions between two own ones: the
    rewards with and without correction r and u, the product ξ of ρ, and V′ and v′ of the next own
    decision. At an own decision

        v̂_t = V_t + min(ρ̄, ρ_t ξ) (r_t + h_t + u + V′ − V_t) + λ min(c̄, ρ_t ξ) (v′ − V′)
        q̂_t(a) = V_t − η log(π/π_ref)(a) + 1[a = a_t] / μ(a_t) (r_t + r + ξ v′ − V_t).
    """
    one_head(heads)
    _joint(actor_t, valid_t, behaviour_log_prob_t, value_t, reward_t)
    valid_t = as_flags(valid_t)
    own_t = (actor_t == seat) & valid_t
    log_prob_t = torch.where(valid_t[..., None], log_prob_t, 0.0)
    log_mu_t = torch.where(valid_t, behaviour_log_prob_t, 0.0)
    rho_t = (heads.joint(log_prob_t, action_t) - log_mu_t).exp()
    spent_t = eta * (log_prob_t.exp() * log_ratio_t).sum(-1)
    bonus_t = torch.where(own_t, -spent_t, spent_t)
    gain_t, value_out = _scan(
        (own_t, valid_t, rho_t, bonus_t, reward_t, value_t), lam, rho_clip, c_clip
    )
    played_t = torch.zeros_like(log_prob_t).scatter(-1, action_t.long(), 1.0)
    weight_t = (-log_mu_t).exp() * gain_t
    q_t = value_t[..., None] - eta * log_ratio_t + played_t * weight_t[..., None]
    return SeatEstimate(value_out, torch.where(own_t[..., None], q_t, 0.0), own_t)


def _scan(
    columns: tuple[Tensor, ...], lam: float, rho_clip: float, c_clip: float
) -> tuple[Tensor, Tensor]:
    """Return r_t + r + ξ v′ − V_t and v̂_t at own decisions, 0 elsewhere, both `[T, B]`."""
    zero = torch.zeros_like(columns[-1][0])
    corrected = plain = next_value = next_target = zero
    product = torch.ones_like(zero)
    gains, targets = [], []
    for row in reversed(list(zip(*(column.unbind() for column in columns), strict=True))):
        own, valid, rho, bonus, reward, value = row
        plain = reward + bonus + plain
        ratio = rho * product
        target = (
            value
            + ratio.clamp(max=rho_clip) * (plain + next_value - value)
            + lam * ratio.clamp(max=c_clip) * (next_target - next_value)
        )
        gain = reward + corrected + product * next_target - value
        gains.append(torch.where(own, gain, 0.0))
        targets.append(torch.where(own, target, 0.0))
        # An own decision restarts the sums; padding does, and forgets what follows too.
        other = valid & ~own
        corrected = torch.where(other, bonus + rho * (reward + corrected), 0.0)
        plain = torch.where(other, plain, 0.0)
        product = torch.where(other, ratio, 1.0)
        next_value = torch.where(own, value, torch.where(valid, next_value, 0.0))
        next_target = torch.where(own, target, torch.where(valid, next_target, 0.0))
    return torch.stack(gains[::-1]), torch.stack(targets[::-1])


def one_head(heads: Heads) -> None:
    """Refuse actions of several heads."""
    if len(heads) != 1:
        raise LanistaError(
            f"R-NaD estimates the value of every choice of one head, and this game has "
            f"{len(heads)}; use another policy loss."
        )


def _joint(first: Tensor, *others: Tensor) -> None:
    if first.dim() != 2:
        raise ValueError(f"A trajectory must be [T, B], got {list(first.shape)}.")
    for tensor in others:
        if tensor.shape != first.shape:
            raise ValueError(
                f"All of a trajectory must be {list(first.shape)}, got {list(tensor.shape)}."
            )
