"""Plain networks of one shape as one: every layer of all of them is a single product.

A device is told once what to do instead of once for every network, and that telling, which needs
the interpreter, is what many small networks cost. Products round otherwise than each alone would.
Knows nothing of masks and draws.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from lanista.nets.policy import Policy
from lanista.nets.torsos import MLP


class Stacked:
    """Policies whose weights do not change any more; all of one `shape_of`."""

    @torch.no_grad()
    def __init__(self, policies: Sequence[Policy]) -> None:
        """Copy their weights, on the current stream."""
        self.encoder = _plain(policies[0]).encoder
        of_each = [_layers(policy) for policy in policies]
        self._layers = [
            (torch.stack([w.mT for w, _ in same]), torch.stack([b[None] for _, b in same]))
            for same in zip(*of_each, strict=True)
        ]
        """Weights `[policies, inputs, outputs]` and biases `[policies, 1, outputs]`."""

    def __call__(self, observation: Tensor) -> Tensor:
        """Return logits `[policies, rows, choices]` for `[policies, rows, length]`."""
        x: Tensor = self.encoder(observation)
        *hidden, (weight, bias) = self._layers
        for into, shift in hidden:
            x = torch.baddbmm(shift, x, into).relu_()
        return torch.baddbmm(bias, x, weight)


def shape_of(policy: Policy) -> Hashable:
    """Return what policies must have in common to be stacked; None: it cannot be."""
    if type(policy.torso) is not MLP:
        return None
    return tuple(weight.shape for weight, _ in _layers(policy))


def _plain(policy: Policy) -> MLP:
    assert isinstance(policy.torso, MLP)
    return policy.torso


def _layers(policy: Policy) -> list[tuple[Tensor, Tensor]]:
    """Return weights `[outputs, inputs]` and bias of each layer, that of the choices last."""
    with torch.no_grad():
        hidden = [(layer.weight, layer.bias) for layer in _plain(policy).layers]
        return [*hidden, (policy.head.whole(), policy.head.bias)]  # type: ignore[list-item, operator]
