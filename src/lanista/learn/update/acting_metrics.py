"""What is logged of a policy whatever its loss: how far it is from what acted, how random it is."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lanista.learn.loss_terms import LossInputs
from lanista.learn.losses import log_ratio
from lanista.learn.regularisers import behaviour_kl_sampled
from lanista.learn.returns import mean_over


@torch.no_grad()
def acting_metrics(inputs: LossInputs) -> dict[str, Tensor]:
    """Return what is logged of a policy whatever its loss."""
    everything, frozen = inputs.everything, inputs.frozen
    own = everything
    if frozen is not None:
        own, frozen = ~frozen & everything, frozen & everything
    numbers = {
        "behaviour_kl": behaviour_kl_sampled(inputs.chosen, inputs.behaviour, own).loss,
        "entropy": mean_over(inputs.entropy, everything),
    }
    if inputs.weight is not None:
        numbers["matchup_weight"] = mean_over(inputs.weight, everything)
    if frozen is not None:
        ratio = log_ratio(inputs.chosen, inputs.behaviour, frozen).exp()
        ratio = ratio.clamp(max=inputs.settings.pg_rho_clip)
        mean = mean_over(ratio, frozen)
        numbers["frozen_ratio"] = torch.where(frozen.any(), mean, math.nan)
    return numbers
