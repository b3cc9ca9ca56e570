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
        # What follows from the layout stays on the CPU until the module is moved, so that a
        # policy file can be read into a network built without memory of its own.
        dtype = getattr(torch, observation.dtype)
        for classes in self.groups:
            at = torch.tensor(entries[classes], device="cpu")
            # Compared in the observation's own dtype: a tenth of the bytes of a wider one.
            values = torch.arange(classes, dtype=dtype, device="cpu")
            self.register_buffer(f"entries_{classes}", at, False)
            self.register_buffer(f"values_{classes}", values, False)
        at = torch.tensor(numbers, dtype=torch.long, device="cpu")
        scale = torch.tensor(scales, dtype=torch.float32, device="cpu")
        self.register_buffer("numbers", at, False)
        self.register_buffer("scale", 1.0 / scale, False)
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
    fields say and of its own place. Fields without a group are one more token together; where no
    field has a group, each field is a token.
    """

    def __init__(self, observation: Observation, width: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList()
        self.places = nn.ParameterList()
        self.inputs = nn.ModuleList()
        self.groups: list[list[tuple[int, int, int, int, float]]] = []
        """By group: (part, start, stop, classes, 1 / scale) of each field."""
        self.rest = nn.ModuleList()
        runs = _runs(observation)
        for group in dict.fromkeys(field.group for _, _, field in runs if field.group):
            self._add_group([run for run in runs if run[2].group == group], width)
        plain = [run for run in runs if not run[2].group]
        for together in [plain] if self.groups and plain else [[run] for run in plain]:
            self._add_rest(together, observation.dtype, width)

    def _add_group(self, runs: list[tuple[int, int, Field]], width: int) -> None:
        entries = []
        for start, stop, field in runs:
            entries.append((len(self.parts), start, stop, field.classes, 1.0 / field.scale))
            part = nn.Embedding(field.classes, width) if field.classes else nn.Linear(1, width)
            self.parts.append(part)
        self.groups.append(entries)
        places = torch.empty(runs[0][1] - runs[0][0], width)
        self.places.append(nn.Parameter(nn.init.normal_(places, std=0.1)))

    def _add_rest(self, runs: list[tuple[int, int, Field]], dtype: str, width: int) -> None:
        encoder = FlatEncoder(Observation(tuple(field for _, _, field in runs), dtype))
        at = [entry for start, stop, _ in runs for entry in range(start, stop)]
        self.register_buffer(f"rest_at{len(self.rest)}", torch.tensor(at, device="cpu"), False)
        self.rest.append(encoder)
        self.inputs.append(nn.Linear(encoder.width, width))

    def forward(self, observation: Tensor) -> Tensor:
        tokens = []
        for entries, place in zip(self.groups, self.places, strict=True):
            total: Tensor = place
            for part, start, stop, classes, scale in entries:
                values = observation[..., start:stop]
                if classes:
                    total = total + self.parts[part](values.long())
                else:
                    numbers = values.to(place.dtype).unsqueeze(-1) * scale
                    total = total + self.parts[part](numbers)
            tokens.append(total)
        for number, (encoder, into) in enumerate(zip(self.rest, self.inputs, strict=True)):
            seen = observation.index_select(-1, self.get_buffer(f"rest_at{number}"))
            tokens.append(into(encoder(seen)).unsqueeze(-2))
        return torch.cat(tokens, -2)
