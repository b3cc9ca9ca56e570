"""A network for grids in NumPy, as nets/unet has it in torch. Cells are `[N, rows, columns, C]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.nets.boards import channels_of
from lanista.nets.files.policy_format import PolicyHeader
from lanista.nets.grids import channels_at, grid_columns, grid_of, halvings, scales_of
from lanista.nets.portable.runtime import Flat, TorsoRunner, kernels, width_of
from lanista.nets.portable.weights import Floats, Layer, Weights, relu


def unet(header: PolicyHeader, weights: Weights) -> TorsoRunner:
    width, layers = width_of(header), header.network.resolved_layers
    _, rows, columns = grid_of(header.observation)
    channels = channels_of(width)
    planes = _planes(header, weights, channels)
    steps = halvings(channels, rows, columns)
    down = [
        _blocks(weights, f"torso.down.{scale}", channels_at(channels, scale), layers)
        for scale in range(len(steps) + 1)
    ]
    halve = [
        kernels(weights, f"torso.halve.{scale}", fine, coarse, 2)
        for scale, (fine, coarse) in enumerate(steps)
    ]
    last_rows, last_columns = scales_of(rows, columns)[-1]
    size = channels_at(channels, len(steps)) * last_rows * last_columns
    out = weights.layer("torso.out", size, width)
    finer = list(enumerate(steps)) if header.network.readout else []
    project = [
        _pointwise(weights, f"torso.project.{scale}", coarse, fine)
        for scale, (fine, coarse) in finer
    ]
    up = [_blocks(weights, f"torso.up.{scale}", fine, layers) for scale, (fine, _) in finer]

    def run(observation: NDArray[Any], state: Floats) -> tuple[Floats, Floats]:
        x = relu(planes(observation))
        skips = []
        for blocks, halved in zip(down, halve, strict=False):
            skips.append(blocks(x))
            x = relu(halved(skips[-1]))
        x = down[-1](x)
        # Channels first, as the layer over all was learned.
        features = relu(out(x.transpose(0, 3, 1, 2).reshape(len(x), -1)))
        if not header.network.readout:
            return features, state
        for scale in reversed(range(len(skips))):
            skip = skips[scale]
            larger = project[scale](x).repeat(2, 1).repeat(2, 2)
            x = up[scale](relu(skip + larger[:, : skip.shape[1], : skip.shape[2]]))
        return np.concatenate([features, x.reshape(len(x), -1)], -1), state

    return run


def _planes(
    header: PolicyHeader, weights: Weights, channels: int
) -> Callable[[NDArray[Any]], Floats]:
    """Return what makes of views the first channels of cells, before they are cut off at 0."""
    planes, rows, columns = grid_of(header.observation)
    flat = Flat(header.observation)
    on_grid, beside_grid = grid_columns(header.observation)
    into = kernels(weights, "torso.into", planes, channels)
    beside = None
    if len(beside_grid):
        beside = weights.layer("torso.beside", len(beside_grid), channels)

    def first(observation: NDArray[Any]) -> Floats:
        x = flat(observation)
        cells = into(x[:, on_grid].reshape(-1, planes, rows, columns).transpose(0, 2, 3, 1))
        if beside is None:
            return cells
        everywhere: Floats = cells + beside(x[:, beside_grid])[:, None, None]
        return everywhere

    return first


def _blocks(weights: Weights, name: str, channels: int, layers: int) -> Layer:
    parts = [
        (
            kernels(weights, f"{name}.{number}.first", channels, channels),
            kernels(weights, f"{name}.{number}.second", channels, channels),
        )
        for number in range(layers)
    ]

    def blocks(x: Floats) -> Floats:
        for first, second in parts:
            x = relu(x + second(relu(first(x))))
        return x

    return blocks


def _pointwise(weights: Weights, name: str, inputs: int, outputs: int) -> Layer:
    weight = weights.take(f"{name}.weight", outputs, inputs, 1, 1)[:, :, 0, 0].T
    bias = weights.take(f"{name}.bias", outputs)

    def pointwise(x: Floats) -> Floats:
        out: Floats = x @ weight + bias
        return out

    return pointwise
