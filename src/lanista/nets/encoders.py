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

    entries: Tensor
    """`[width]`: the entry of the observation that each column looks at."""
    values: Tensor
    """What a category's column asks for, for the first columns."""
    scale: Tensor
    """What a number's column is multiplied by, for the others."""

    def __init__(self, observation: Observation) -> None:
        super().__init__()
        # Ordered by number of classes: policy files hold a first layer for this order.
        categories: list[tuple[int, int]] = []
        numbers: list[int] = []
        scales: list[float] = []
        for start, stop, field in _runs(observation):
            if field.classes:
                categories.extend((field.classes, entry) for entry in range(start, stop))
            else:
                numbers.extend(range(start, stop))
                scales.extend([field.scale] * field.size)
        columns = [
            (entry, value)
            for classes, entry in sorted(categories, key=lambda category: category[0])
            for value in range(classes)
        ]
        # What follows from the layout stays on the CPU until the module is moved, so that a
        # policy file can be read into a network built without memory of its own.
        at = torch.tensor([entry for entry, _ in columns] + numbers, dtype=torch.long, device="cpu")
        values = torch.tensor([v for _, v in columns], dtype=torch.float32, device="cpu")
        scale = torch.tensor(scales, dtype=torch.float32, device="cpu")
        self.register_buffer("entries", at, False)
        self.register_buffer("values", values, False)
        self.register_buffer("scale", 1.0 / scale, False)
        self.hot = len(columns)
        """How many columns are of categories."""
        self.plain = not columns and all(scale == 1.0 for scale in scales)
        self.width = len(at)

    def forward(self, observation: Tensor) -> Tensor:
        seen = observation.to(self.scale.dtype)
        if self.plain:
            return seen
        # Widened first and then written over: on the CPU five times as fast as comparing in the
        # observation's own dtype and joining the parts.
        columns = seen.index_select(-1, self.entries)
        columns[..., : self.hot].eq_(self.values)
        columns[..., self.hot :].mul_(self.scale)
        return columns


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
