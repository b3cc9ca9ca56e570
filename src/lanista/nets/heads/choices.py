"""The last layer of a policy: features in, a logit for every choice of every head out."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from lanista.games.contract import Head


class Choices(nn.Linear):
    """One linear layer with all heads' choices.

    Where a head's choices are made of parts, a choice's weights are the sum of its own and those
    of its parts: what is learned of a part in one choice holds in all.
    """

    def __init__(self, width: int, heads: Sequence[Head]) -> None:
        super().__init__(width, sum(head.size for head in heads))
        self.sizes = [(head.size, head.parts) for head in heads]
        # Without such heads there is no further tensor, in files either.
        count = sum(sum(head.parts) for head in heads)
        self.parts = nn.Parameter(torch.zeros(count, width)) if count else None

    def start(self) -> None:
        """Draw first weights with which every choice has about the same probability."""
        nn.init.orthogonal_(self.weight, 0.01)

    def forward(self, features: Tensor) -> Tensor:
        return linear(features, self.whole(), self.bias)

    def whole(self) -> Tensor:
        """Return the weights `[choices, width]` of a plain layer that does the same."""
        if self.parts is None:
            return self.weight
        pieces, at = [], 0
        owns = torch.split(self.weight, [size for size, _ in self.sizes])
        for own, (_, part_sizes) in zip(owns, self.sizes, strict=True):
            piece = own.view(*(part_sizes or (len(own),)), -1)
            for axis, size in enumerate(part_sizes):
                shape = [size if axis == other else 1 for other in range(len(part_sizes))]
                piece = piece + self.parts[at : at + size].view(*shape, -1)
                at += size
            pieces.append(piece.flatten(0, -2))
        return torch.cat(pieces)
