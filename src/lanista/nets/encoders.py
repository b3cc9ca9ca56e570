"""Turns a seat's view into what a network computes with.

Built from the spec's observation alone: categories become one-hot columns or embeddings, numbers
are divided by their scale. Observations stay in their small dtype until they reach the device.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lanista.games.contract import Observation
from lanista.nets import rowwise
from lanista.nets.boards import board_columns, board_of
from lanista.nets.dropout import IdDropout
from lanista.nets.tokens import depth_of, layout_of

_HALF = torch.bfloat16
_BY_ROW = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.float32)


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
        fields = observation.fields
        sizes = np.array([field.size for field in fields], np.int64)
        classes = np.repeat(np.array([field.classes for field in fields], np.int64), sizes)
        scales = np.repeat(np.array([field.scale for field in fields], np.float64), sizes)
        # Ordered by number of classes: policy files hold a first layer for this order.
        categories = np.flatnonzero(classes)
        categories = categories[np.argsort(classes[categories], kind="stable")]
        counts = classes[categories]
        first = np.cumsum(counts) - counts
        numbers = np.flatnonzero(classes == 0)
        self.hot = int(counts.sum())
        """How many columns are of categories."""
        # What follows from the layout stays on the CPU until the module is moved, so that a
        # policy file can be read into a network built without memory of its own.
        entries = np.concatenate([np.repeat(categories, counts), numbers])
        values = (np.arange(self.hot) - np.repeat(first, counts)).astype(np.float32)
        scale = torch.from_numpy(scales[numbers].astype(np.float32)).to("cpu")
        self.register_buffer("entries", torch.from_numpy(entries).to("cpu"), False)
        self.register_buffer("values", torch.from_numpy(values).to("cpu"), False)
        self.register_buffer("scale", 1.0 / scale, False)
        self.plain = not self.hot and bool((scales == 1.0).all())
        self.width = len(entries)
        self._categories = np.stack([categories, first, counts], 1).astype(np.int32)
        self._numbers = numbers.astype(np.int32)

    def forward(self, observation: Tensor) -> Tensor:
        if self._by_row(observation):
            return self._columns(observation)
        numbers = observation.to(self.scale.dtype)
        if self.plain:
            return numbers
        # Widened first and then written over: on the CPU five times as fast as comparing in the
        # observation's own dtype and joining the parts.
        columns = numbers.index_select(-1, self.entries)
        columns[..., : self.hot].eq_(self.values)
        columns[..., self.hot :].mul_(self.scale)
        return columns

    def _by_row(self, observation: Tensor) -> bool:
        return (
            observation.device.type == "cpu"
            and self.scale.dtype == torch.float32
            and observation.dtype in _BY_ROW
            and not observation.requires_grad
            and not torch.compiler.is_compiling()
        )

    def _columns(self, observation: Tensor) -> Tensor:
        """Return what `forward` does, made row by row, and in bf16 where the next layer wants it.

        A layer under autocast would narrow it in a pass of its own, to the same numbers.
        """
        half = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == _HALF
        dtype = _HALF if half else torch.float32
        if self.plain:
            return observation.to(dtype)
        columns = torch.empty((*observation.shape[:-1], self.width), dtype=dtype)
        rows = observation.reshape(-1, observation.shape[-1]).contiguous().numpy()
        out = columns.view(torch.uint16 if half else dtype).view(-1, self.width).numpy()
        rowwise.encode(rows, self._categories, self._numbers, self.scale.numpy(), out)
        return columns


class BoardEncoder(nn.Module):
    """`[N, length]` to planes `[N, planes, rows, columns]` and the columns beside them `[N, M]`."""

    on_board: Tensor
    beside_board: Tensor

    def __init__(self, observation: Observation) -> None:
        super().__init__()
        self.flat = FlatEncoder(observation)
        self.planes = board_of(observation)
        on_board, beside = board_columns(observation)
        self.beside = len(beside)
        """How many columns lie beside the planes."""
        self.register_buffer(
            "on_board", torch.from_numpy(np.array(on_board, np.int64)).to("cpu"), False
        )
        self.register_buffer(
            "beside_board", torch.from_numpy(np.array(beside, np.int64)).to("cpu"), False
        )

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        columns = self.flat(observation)
        board = columns.index_select(-1, self.on_board).view(-1, *self.planes)
        return board, columns.index_select(-1, self.beside_board)


class TokenEncoder(nn.Module):
    """`[N, length]` to tokens `[N, tokens, width]`.

    A token is one layer over all its entries, embeddings of the categories and scaled numbers,
    and its own place; tokens.py says which entries those are.
    """

    def __init__(
        self,
        observation: Observation,
        width: int,
        embedding: int | None = None,
        readout: str | None = None,
        id_dropout: float | None = None,
    ) -> None:
        super().__init__()
        self.id_dropout = IdDropout(id_dropout)
        layout, depth = layout_of(observation, readout), depth_of(width, embedding)
        # One table below the other, so that all categories of a token are looked up at once.
        self.embedding = nn.Embedding(layout.rows, depth) if layout.rows else None
        self.inputs = nn.ModuleList(nn.Linear(kind.inputs(depth), width) for kind in layout.kinds)
        self.places = nn.ParameterList(
            nn.Parameter(nn.init.normal_(torch.empty(kind.distinct_places, width), std=0.1))
            for kind in layout.kinds
        )
        self._shared = [kind.distinct_places < kind.count for kind in layout.kinds]
        for number, kind in enumerate(layout.kinds):
            for name in ("categories", "rows", "ids", "numbers", "scale", "places"):
                buffer = torch.from_numpy(getattr(kind, name)).to("cpu")
                self.register_buffer(f"{name}{number}", buffer, False)

    def forward(self, observation: Tensor) -> Tensor:
        tokens = [
            into(self._token_inputs(observation, number)) + self._place(number)
            for number, into in enumerate(self.inputs)
        ]
        return torch.cat(tokens, -2)

    def _place(self, number: int) -> Tensor:
        """Return the places of the tokens of one kind, `[tokens, width]`."""
        place: Tensor = self.places[number]
        if not self._shared[number]:
            return place
        return functional.embedding(self.get_buffer(f"places{number}"), place)

    def _token_inputs(self, observation: Tensor, number: int) -> Tensor:
        """Return `[N, tokens, inputs]`: what the tokens of one kind are made of."""
        columns = []
        categories = self.get_buffer(f"categories{number}")
        if self.embedding is not None and categories.shape[1]:
            values = observation.index_select(-1, categories.flatten()).long()
            rows = values.view(-1, *categories.shape) + self.get_buffer(f"rows{number}")
            embedded = self.id_dropout(self.embedding(rows), self.get_buffer(f"ids{number}"))
            columns.append(embedded.flatten(-2))
        numbers = self.get_buffer(f"numbers{number}")
        if numbers.shape[1]:
            scale = self.get_buffer(f"scale{number}")
            values = observation.index_select(-1, numbers.flatten()).to(scale.dtype)
            columns.append(values.view(-1, *numbers.shape) * scale)
        return columns[0] if len(columns) == 1 else torch.cat(columns, -1)
