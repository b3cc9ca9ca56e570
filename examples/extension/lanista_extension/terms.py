"""Two terms of a loss: functions of what an update knows, with a scalar and numbers to log."""

from __future__ import annotations

from lanista.learn.loss_terms import LossInputs
from lanista.learn.losses import Term


def smooth(inputs: LossInputs) -> Term:
    """Return the mean square of the logits: keeps them small."""
    loss = inputs.logits.square().mean()
    return Term(loss, {"largest": inputs.logits.detach().abs().max()})


def hellinger(inputs: LossInputs) -> Term:
    """Return E[1 − Σ √(π ρ)], summed over heads, to the reference ρ."""
    policy, reference = inputs.log_probs, inputs.references["reference"].detach()
    overlap = ((policy + reference) / 2).exp() * inputs.mask
    loss = len(inputs.heads.sizes) - overlap.sum(-1).mean()
    return Term(loss, {"distance": loss.detach()})
