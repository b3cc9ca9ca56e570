"""Predicts fields of a seat's next view, such as what the opponent did: an auxiliary loss.

A field of a group is read from the token or cell of its entry, where the torso shows those, and any
other from the features; numbers are predicted in bins. The head is thrown away after learning: it
shapes the torso, and no policy file holds it. Never imports a game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from lanista.data.demonstrations import Demonstrations, Indices
from lanista.errors import LanistaError, nearest
from lanista.games.contract import Field, Observation
from lanista.nets.torsos import Torso

LAST = -1
"""The row after the last of a trajectory."""
BINS = 16
"""Into so many equal parts [-1, 1] is cut, in which numbers lie once they are scaled."""


@dataclass(frozen=True)
class Target:
    """A field that is predicted, and where it is read from."""

    field: Field
    start: int
    """The first of its entries in an observation."""
    first_token: int | None
    """The token of its first entry; None: the features."""

    @property
    def classes(self) -> int:
        """How many values an entry can have."""
        return self.field.classes or BINS

    def values(self, views: Tensor) -> Tensor:
        """Return what each entry is in these views, `[N, entries]`: a category, or a bin."""
        entries = views[:, self.start : self.start + self.field.size]
        if self.field.classes:
            return entries.long()
        share = (entries.float() / self.field.scale + 1) / 2
        return (share * BINS).long().clamp(0, BINS - 1)


class Forecast(nn.Module):
    """Features of a torso to the chances of the values that fields have at the next decision."""

    def __init__(self, observation: Observation, names: Sequence[str], torso: Torso) -> None:
        super().__init__()
        self.width, self.token_width = torso.width, torso.token_width
        self.targets = [_target(observation, name, torso.shown) for name in names]
        self.layers = nn.ModuleList(
            nn.Linear(
                self.width if target.first_token is None else self.token_width, _outputs(target)
            )
            for target in self.targets
        )

    def forward(self, features: Tensor, after: Tensor) -> Tensor:
        """Return the mean loss of all predicted entries, `[N]`, where the next view is `after`."""
        losses = [
            self._losses(layer, target, features, after)
            for layer, target in zip(self.layers, self.targets, strict=True)
        ]
        return torch.cat(losses, -1).mean(-1)

    def _losses(self, layer: nn.Module, target: Target, features: Tensor, after: Tensor) -> Tensor:
        """Return the loss of every entry of a field, `[N, entries]`."""
        field, first = target.field, target.first_token
        if first is None:
            whole: Tensor = layer(features[:, : self.width])
            logits = whole.view(-1, field.size, target.classes)
        else:
            start = self.width + self.token_width * first
            tokens = features[:, start : start + self.token_width * field.size]
            logits = layer(tokens.reshape(-1, field.size, self.token_width))
        logits, values = logits.movedim(-1, 1).float(), target.values(after)
        return functional.cross_entropy(logits, values, reduction="none")


def next_rows(data: Demonstrations, rows: Indices) -> NDArray[np.int64]:
    """Return the row after each of `rows` in its trajectory; `LAST` where there is none."""
    owner = np.searchsorted(data.first, rows, side="right")
    return np.where(rows + 1 < data.first[owner], rows + 1, LAST)


def _target(observation: Observation, name: str, shown: Mapping[str, int]) -> Target:
    names = [field.name for field in observation.fields]
    if name not in names:
        raise LanistaError(f"The game's views have no field {name!r}; {nearest(name, names)}")
    field = observation.fields[names.index(name)]
    first = shown.get(field.group) if field.group else None
    return Target(field, observation.slice_of(name).start, first)


def _outputs(target: Target) -> int:
    return target.classes * (1 if target.first_token is not None else target.field.size)
