"""Runs torsos that remember with NumPy: LSTM cells, alone or behind a transformer.

Says the same as the torch torsos of nets/torsos to about seven digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.nets.files.policy_format import PolicyHeader
from lanista.nets.portable.runtime import Flat, TorsoRunner, token_maker, transformer, width_of
from lanista.nets.portable.weights import Floats, Weights, relu
from lanista.nets.tokens import token_count

Encoder = Callable[[NDArray[Any]], Floats]


def lstm(header: PolicyHeader, weights: Weights) -> TorsoRunner:
    encode, inputs = _lstm_encoder(header, weights)
    into = weights.layer("torso.into", inputs, width_of(header))
    cells = _cells(header, weights)

    def run(observation: NDArray[Any], state: Floats) -> tuple[Floats, Floats]:
        return cells(relu(into(encode(observation))), state)

    return run


def _lstm_encoder(header: PolicyHeader, weights: Weights) -> tuple[Encoder, int]:
    """Return what an LSTM's first layer reads, and how wide it is."""
    if header.network.embedding is None:
        flat = Flat(header.observation)
        return flat, flat.width
    tokens_of = token_maker(header, weights)

    def encode(observation: NDArray[Any]) -> Floats:
        return relu(tokens_of(observation)).reshape(len(observation), -1)

    return encode, token_count(header.observation) * width_of(header)


def _cells(header: PolicyHeader, weights: Weights) -> TorsoRunner:
    """Return LSTM cells that run one after the other."""
    width, cells = width_of(header), []
    for i in range(header.network.resolved_layers):
        sides = []
        for side in ("ih", "hh"):
            weight = weights.take(f"torso.cells.{i}.weight_{side}", 4 * width, width).T
            sides.append((weight, weights.take(f"torso.cells.{i}.bias_{side}", 4 * width)))
        cells.append(sides)

    def run(x: Floats, state: Floats) -> tuple[Floats, Floats]:
        before, after = np.split(state, 2 * len(cells), -1), []
        for number, ((w_in, b_in), (w_on, b_on)) in enumerate(cells):
            hidden, memory = before[2 * number : 2 * number + 2]
            gates = x @ w_in + b_in + hidden @ w_on + b_on
            take, keep, new, show = np.split(gates, 4, -1)
            memory = _sigmoid(keep) * memory + _sigmoid(take) * np.tanh(new)
            x = _sigmoid(show) * np.tanh(memory)
            after += [x, memory]
        return x, np.concatenate(after, -1)

    return run


def transformer_lstm(header: PolicyHeader, weights: Weights) -> TorsoRunner:
    attend, cells, width = transformer(header, weights), _cells(header, weights), width_of(header)

    def run(observation: NDArray[Any], state: Floats) -> tuple[Floats, Floats]:
        whole, _ = attend(observation, state)
        features, tokens = np.split(whole, [width], -1)
        remembered, state = cells(features, state)
        return np.concatenate([features + remembered, tokens], -1), state

    return run


def _sigmoid(x: Floats) -> Floats:
    # Through tanh, which does not overflow.
    half = np.float32(0.5)
    out: Floats = half * (np.tanh(half * x) + np.float32(1))
    return out
