"""Steps that fit networks to the goals of one update, each kind of position once.

NeuRD with a step of its own sets a goal for the logits of every view, and fits the policy to it;
a Q critic may be fitted further to the targets it has just had. Owns the goals and the losses of
these steps. Knows nothing of returns, and of what an optimiser does with a gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lanista.learn import losses
from lanista.learn.loss_terms import LossInputs
from lanista.learn.update.batch import Kinds
from lanista.nets.distribution import Heads
from lanista.nets.policy import Critic, Policy


@dataclass(frozen=True)
class LogitGoals:
    """What the logits of different views are to become."""

    heads: Heads
    view: Tensor
    """`[K, length]`."""
    mask: Tensor
    """`[K, choices]`."""
    goal: Tensor
    """`[K, choices]`: logits less their mean over legal choices."""
    weight: Tensor
    """`[K]`, with a sum of 1: in proportion to the root of how often a view came."""

    @classmethod
    @torch.no_grad()
    def of(cls, inputs: LossInputs, seat: Kinds, step: float) -> LogitGoals:
        """Return the goals that `inputs` set: y + `step` · A(a), within ± the threshold.

        A is cut to ± the clip first. A goal outside the threshold is moved to its edge, or left
        where the logit already is if that is further out.
        """
        settings, advantage = inputs.settings, inputs.q_advantage
        assert advantage is not None
        rows = torch.arange(len(inputs.mask), device=inputs.mask.device)
        first = rows if seat.first is None else seat.first
        group = rows if seat.group is None else seat.group
        mask = inputs.mask[first]
        now = losses.centred_logits(inputs.heads, inputs.logits.detach()[first], mask)
        clip, edge = settings.neurd_clip, settings.neurd_threshold
        wanted = now + step * advantage[first].clamp(-clip, clip)
        goal = torch.minimum(torch.maximum(wanted, now.clamp(max=-edge)), now.clamp(min=edge))
        weight = torch.bincount(group, minlength=len(first)).to(now).sqrt()
        return cls(inputs.heads, seat.view, mask, goal, weight / weight.sum())

    def loss(self, policy: Policy) -> Tensor:
        """Return ½ Σ w Σ_a (y(a) − goal(a))² over the views, `[]`."""
        logits = policy(self.view).float()
        return losses.logit_fit(self.heads, logits, self.goal, self.mask, self.weight)


@dataclass(frozen=True)
class ChoiceTargets:
    """The mean target of every choice that was made in each of different positions."""

    view: Tensor
    """`[K, length]`."""
    mean: Tensor
    """`[K, choices]`."""
    share: Tensor
    """`[K, choices]`: of all decisions, those that were this choice in this position."""

    @classmethod
    @torch.no_grad()
    def of(cls, inputs: LossInputs, seen: Kinds) -> ChoiceTargets:
        """Return the means of the critic's targets."""
        target, action = inputs.value_target, inputs.action.squeeze(-1)
        assert target is not None
        group = (
            torch.arange(len(action), device=action.device) if seen.group is None else seen.group
        )
        shape = len(seen.view), inputs.mask.shape[1]
        cell = group * shape[1] + action
        sums = target.new_zeros(shape[0] * shape[1]).index_add_(0, cell, target)
        count = torch.bincount(cell, minlength=len(sums)).to(sums)
        mean = sums / count.clamp(min=1)
        return cls(seen.view, mean.view(shape), (count / len(cell)).view(shape))

    def loss(self, critic: Critic) -> Tensor:
        """Return what `losses.q_loss` has over all decisions, less what no critic can change."""
        q: Tensor = critic(self.view).float()
        return 0.5 * (self.share * (q - self.mean).square()).sum()
