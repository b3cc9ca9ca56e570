"""A policy that plays turned positions alike: a view is turned before the network sees it.

Of all turns of a view the network is shown one, and what it says is turned back, so what it learns
in one position holds in all that are turns of it. Which turn it was goes from torso to head as
further features, one of which is 1. Knows nothing of games.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lanista.games.contract import Head, Symmetry
from lanista.nets.heads.choices import Choices
from lanista.nets.torsos import Torso


class TurnedTorso(Torso):
    """A torso that sees every view in one of its turns."""

    columns: Tensor
    signs: Tensor
    direction: Tensor

    def __init__(self, inner: Torso, symmetry: Symmetry | int, length: int) -> None:
        """With a number alone, as for a policy file, the turns are those that it will load."""
        super().__init__()
        self.inner = inner
        self.turns = symmetry if isinstance(symmetry, int) else len(symmetry)
        self.width = inner.width + self.turns
        tables = None if isinstance(symmetry, int) else symmetry
        shape = (self.turns, length)
        self.register_buffer("columns", _table(tables and tables.columns, shape))
        self.register_buffer("signs", _table(tables and tables.signs, shape))
        self.register_buffer("direction", _table(tables and tables.direction, (length,)))

    def forward(self, observation: Tensor) -> Tensor:
        turn = self._turn_of(observation)
        features = self.inner(self._turned(observation, turn))
        which = nn.functional.one_hot(turn, self.turns).to(features.dtype)
        return torch.cat([features, which], -1)

    def turned(self, observation: Tensor) -> Tensor:
        """Return every view in the turn that the inner torso sees."""
        return self._turned(observation, self._turn_of(observation))

    def _turned(self, observation: Tensor, turn: Tensor) -> Tensor:
        columns = self.columns.long()[turn]
        return observation.gather(-1, columns) * self.signs.to(observation.dtype)[turn]

    def _turn_of(self, observation: Tensor) -> Tensor:
        """Return the turn `[N]` in which the view has the largest sum along `direction`."""
        # Weights are turned, not views: w[g][columns[g][i]] = direction[i] · signs[g][i].
        weights = torch.zeros_like(self.signs)
        weights.scatter_(-1, self.columns.long(), self.direction * self.signs)
        with torch.autocast(observation.device.type, enabled=False):
            return (observation.float() @ weights.mT).argmax(-1)


class TurnedChoices(Choices):
    """The head of such a policy: turns what it says back."""

    permutation: Tensor

    def __init__(self, width: int, heads: Sequence[Head], symmetry: Symmetry | int) -> None:
        self.turns = symmetry if isinstance(symmetry, int) else len(symmetry)
        super().__init__(width - self.turns, heads)
        choices = sum(head.size for head in heads)
        table = None if isinstance(symmetry, int) else symmetry.choices
        self.register_buffer("permutation", _table(table, (self.turns, choices)))

    def forward(self, features: Tensor) -> Tensor:
        logits = super().forward(features[..., : -self.turns])
        turn = features[..., -self.turns :].argmax(-1)
        return logits.gather(-1, self.permutation.long()[turn])


def _table(numbers: object, shape: tuple[int, ...]) -> Tensor:
    if numbers is None:
        return torch.zeros(shape)
    return torch.tensor(numbers, dtype=torch.float32)
