"""Turns a seat's view into what a network computes with.

Built from the spec's observation alone: categories become one-hot columns or embeddings, numbers
are divided by their scale. Observations stay in their small dtype until they reach the device.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lanista.games.contract import Field, Observation


def _runs(observation: Observation) -> list[tuple[int, int, Field]]:
    """Return (start, stop, field) of each field."""
    out, start = [], 0
    for field in observation.fields:
        out.append((start, start + field.size, field))
        start += field.size
    return out


class FlatEncoder(nn.Module):
    """`[..., length]` to `[..., width]`: one-hot categories, then scaled numbers."""

    classes: Tensor
    scale: Tensor

    def __init__(self, observation: Observation) -> None:
        super().__init__()
        # Entries are put in order of their number of classes, so that equals are done at once.
        entries: dict[int, list[int]] = {}
        scales: list[float] = []
        numbers: list[int] = []
        for start, stop, field in _runs(observation):
            if field.classes:
                entries.setdefault(field.classes, []).extend(range(start, stop))
            else:
                numbers.extend(range(start, stop))
                scales.extend([field.scale] * field.size)
        self.groups = sorted(entries)
        for classes in self.groups:
            self.register_buffer(f"entries_{classes}", torch.tensor(entries[classes]), False)
            # Compared in the observation's own dtype: a tenth of the bytes of a wider one.
            dtype = getattr(torch, observation.dtype)
            self.register_buffer(f"values_{classes}", torch.arange(classes, dtype=dtype), False)
        self.register_buffer("numbers", torch.tensor(numbers, dtype=torch.long), False)
        self.register_buffer("scale", 1.0 / torch.tensor(scales, dtype=torch.float32), False)
        self.plain = not self.groups and all(scale == 1.0 for scale in scales)
        self.width = sum(classes * len(entries[classes]) for classes in self.groups) + len(numbers)

    def forward(self, observation: Tensor) -> Tensor:
        if self.plain:
            return observation.to(self.scale.dtype)
        parts = []
        for classes in self.groups:
            values = observation.index_select(-1, getattr(self, f"entries_{classes}"))
            hot = values.unsqueeze(-1) == getattr(self, f"values_{classes}")
            parts.append(hot.flatten(-2).to(self.scale.dtype))
        numbers = self.get_buffer("numbers")
        if len(numbers):
            parts.append(observation.index_select(-1, numbers).to(self.scale.dtype) * self.scale)
        return torch.cat(parts, -1) if len(parts) > 1 else parts[0]


class TokenEncoder(nn.Module):
    """`[N, length]` to tokens `[N, tokens, width]`.

    Fields of one group describe the same tokens, an entry each; a token is the sum of what its
    fields say and of its own place. Fields without a group are one more token together.
    """

    def __init__(self, observation: Observation, width: int) -> None:
        super().__init__()
        self.parts = nn.ModuleDict()
        self.layout: dict[str, list[tuple[str, int, int, int]]] = {}
        plain = [
            Field(f.name, f.size, f.classes, f.scale) for f in observation.fields if not f.group
        ]
        self.rest = FlatEncoder(Observation(tuple(plain), observation.dtype)) if plain else None
        rest_at: list[int] = []
        for number, (start, stop, field) in enumerate(_runs(observation)):
            if not field.group:
                rest_at.extend(range(start, stop))
                continue
            name = f"field{number}"
            entry = nn.Embedding(field.classes, width) if field.classes else nn.Linear(1, width)
            self.parts[name] = entry
            self.layout.setdefault(field.group, []).append((name, start, stop, field.classes))
        self.register_buffer("rest_at", torch.tensor(rest_at, dtype=torch.long), False)
        self.rest_in = nn.Linear(self.rest.width, width) if self.rest else None
        self.places = nn.ParameterDict(
            {
                group: nn.Parameter(torch.randn(entries[0][2] - entries[0][1], width) * 0.1)
                for group, entries in self.layout.items()
            }
        )

    def forward(self, observation: Tensor) -> Tensor:
        tokens = []
        for group, entries in self.layout.items():
            total: Tensor = self.places[group]
            for name, start, stop, classes in entries:
                values = observation[..., start:stop]
                if classes:
                    total = total + self.parts[name](values.long())
                else:
                    total = total + self.parts[name](values.to(total.dtype).unsqueeze(-1))
            tokens.append(total)
        if self.rest is not None and self.rest_in is not None:
            rest = self.rest(observation.index_select(-1, self.get_buffer("rest_at")))
            tokens.append(self.rest_in(rest).unsqueeze(-2))
        return torch.cat(tokens, -2)
