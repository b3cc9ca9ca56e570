"""A network for grids: two or three scales with skips, and what each cell is like at the end.

With x_s the cells at scale s, B residual blocks of two 3×3 convolutions and ↓ a 3×3 convolution of
stride 2,

    x_0 = B(relu(K ∗ planes + W beside))        x_{s+1} = relu(↓ B(x_s))
    features = relu(A vec(B(x_last)))           y_last = B(x_last)
    y_s = B(relu(B(x_s) + ↑ P y_{s+1}))         ↑ repeats each cell twice in both directions

Borders are padded with zeros; a side of odd length is halved upwards, and cut off on the way back.
Scales above the last are gone back to only where choices are read from cells.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lanista.games.contract import Observation
from lanista.nets.boards import KERNEL, channels_of
from lanista.nets.dropout import Dropout
from lanista.nets.encoders import FlatEncoder
from lanista.nets.grids import (
    channels_at,
    grid_columns,
    grid_groups,
    grid_of,
    halvings,
    scales_of,
)
from lanista.nets.settings import Network
from lanista.nets.torsos import Torso


class GridEncoder(nn.Module):
    """`[N, length]` to planes `[N, planes, rows, columns]` and the columns beside them `[N, M]`."""

    on_grid: Tensor
    beside_grid: Tensor

    def __init__(self, observation: Observation) -> None:
        super().__init__()
        # Refused before anything of its size is made.
        self.planes = grid_of(observation)
        self.flat = FlatEncoder(observation)
        on_grid, beside = grid_columns(observation)
        self.beside = len(beside)
        """How many columns lie beside the grid."""
        self.register_buffer("on_grid", torch.from_numpy(on_grid).to("cpu"), False)
        self.register_buffer("beside_grid", torch.from_numpy(beside).to("cpu"), False)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        columns = self.flat(observation)
        grid = columns.index_select(-1, self.on_grid).view(-1, *self.planes)
        return grid, columns.index_select(-1, self.beside_grid)


class Block(nn.Module):
    """Two convolutions around a skip."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = _convolution(channels, channels)
        self.second = _convolution(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.second(torch.relu(self.first(x))))


class UNet(Torso):
    """Features are of the whole grid; with a readout of cells, those follow it:
    `[N, width + cells · channels]`."""

    def __init__(self, observation: Observation, network: Network) -> None:
        super().__init__()
        self.encoder = GridEncoder(observation)
        self.width = network.resolved_width
        planes, rows, columns = self.encoder.planes
        channels, layers = channels_of(self.width), network.resolved_layers
        steps = halvings(channels, rows, columns)
        last, (last_rows, last_columns) = len(steps), scales_of(rows, columns)[-1]
        self.into = _convolution(planes, channels)
        self.beside = nn.Linear(self.encoder.beside, channels) if self.encoder.beside else None
        self.down = nn.ModuleList(
            _blocks(channels_at(channels, scale), layers) for scale in range(last + 1)
        )
        self.halve = nn.ModuleList(_convolution(fine, coarse, 2) for fine, coarse in steps)
        size = channels_at(channels, last) * last_rows * last_columns
        self.out = nn.Linear(size, self.width)
        self.shows_cells = network.readout is not None
        finer = steps if self.shows_cells else []
        self.project = nn.ModuleList(nn.Conv2d(coarse, fine, 1) for fine, coarse in finer)
        self.up = nn.ModuleList(_blocks(fine, layers) for fine, _ in finer)
        self.dropout = Dropout(network.dropout)
        if self.shows_cells:
            self.shown = dict.fromkeys(grid_groups(observation), 0)
            self.token_width = channels

    def start(self) -> None:
        # Every block begins as its skip, so that features keep their size through all of them.
        for module in self.modules():
            if isinstance(module, Block):
                nn.init.zeros_(module.second.weight)

    def forward(self, observation: Tensor) -> Tensor:
        planes, rest = self.encoder(observation)
        x = self.into(planes)
        if self.beside is not None:
            x = x + self.beside(rest)[..., None, None]
        x = torch.relu(x)
        skips = []
        for blocks, halve in zip(self.down, self.halve, strict=False):
            skips.append(blocks(x))
            x = torch.relu(halve(skips[-1]))
        x = self.down[-1](x)
        features: Tensor = self.dropout(torch.relu(self.out(x.flatten(1))))
        if not self.shows_cells:
            return features
        for scale in range(len(skips) - 1, -1, -1):
            skip = skips[scale]
            x = self.up[scale](torch.relu(skip + _twice(self.project[scale](x), skip)))
        return torch.cat([features, self.dropout(x).flatten(2).mT.flatten(1)], -1)


def _blocks(channels: int, layers: int) -> nn.Sequential:
    return nn.Sequential(*(Block(channels) for _ in range(layers)))


def _convolution(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, KERNEL, stride=stride, padding=KERNEL // 2)


def _twice(x: Tensor, like: Tensor) -> Tensor:
    """Return `x` `[N, C, rows, columns]` with each cell twice both ways, cut to `like`'s size."""
    rows, columns = x.shape[-2:]
    wide = x[..., :, None, :, None].expand(-1, -1, -1, 2, -1, 2)
    large = wide.reshape(-1, x.shape[1], 2 * rows, 2 * columns)
    return large[..., : like.shape[-2], : like.shape[-1]]
