"""Runs a policy file with NumPy alone, for bots where torch is not installed or too heavy.

Says the same as the torch policy of the same file to about seven digits. Owns no format: files
are read by policy_format. Knows nothing of training.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.extensions import located
from lanista.games.contract import Observation, Spec
from lanista.nets.boards import KERNEL, board_columns, board_of, channels_of
from lanista.nets.files.policy_format import (
    PolicyContent,
    PolicyFileError,
    PolicyHeader,
    read,
    refused,
)
from lanista.nets.finish import Finish
from lanista.nets.finite import named, refuse_not_finite
from lanista.nets.normal_columns import normaliser
from lanista.nets.portable.heads import head_of
from lanista.nets.portable.weights import Floats, Layer, Weights, relu
from lanista.nets.tokens import depth_of, layout_of
from lanista.nets.torso_table import TORSOS

ILLEGAL = np.float32(-1e9)
"""The log-probability of an illegal choice, as in nets/distribution."""


class PortablePolicy:
    """A policy as a function from a view, a legal mask and a state to log-probabilities."""

    def __init__(self, content: PolicyContent) -> None:
        self.header: PolicyHeader = content.header
        self.digest: str = content.digest
        self._label = named(content.digest, content.header.name)
        weights = Weights(content.arrays)
        turns = _turns(self.header, weights)
        normal = _normal(self.header, weights)
        self._torso: TorsoRunner = _runner(self.header.network.kind)(self.header, weights)
        if normal is not None:
            self._torso = _after(normal, self._torso)
        self._head = head_of(self.header, weights)
        if turns is not None:
            self._torso, self._head = turns.around(self._torso, self._head)
        weights.refuse_rest()

    @property
    def state_size(self) -> int:
        """Numbers of recurrent state a seat carries through its match; 0: none."""
        network = self.header.network
        return 2 * network.resolved_width * network.resolved_layers if network.recurrent else 0

    @property
    def _choices(self) -> int:
        return sum(head.size for head in self.header.heads)

    def log_probs(
        self, observation: NDArray[Any], mask: NDArray[np.bool_], state: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return log-probabilities `[N, choices]` and the new state `[N, state_size]`.

        `observation` is `[N, length]`, `mask` `[N, choices]`; `state` is what the last call
        returned for the same seats, or None where their match begins.
        """
        self._refuse_shapes(observation, mask)
        if state is None:
            state = np.zeros((len(observation), self.state_size), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # It is looked at below.
            features, state = self._torso(observation, state)
            logits = self._head(features)
            refuse_not_finite(np.where(mask, logits, 0), self._label)
            return self._normal(logits, mask), state

    def act(
        self,
        observation: NDArray[Any],
        mask: NDArray[np.bool_],
        state: Floats | None = None,
        uniforms: Floats | None = None,
    ) -> tuple[NDArray[np.int32], Floats]:
        """Return actions `[N, heads]` and the new state.

        Sampled with `uniforms` `[N, heads]` in [0, 1); without them, the likeliest of each head.
        """
        log_probs, state = self.log_probs(observation, mask, state)
        actions = []
        for number, head_log_probs in enumerate(self._split(log_probs)):
            if uniforms is None:
                actions.append(head_log_probs.argmax(-1))
                continue
            running = np.exp(head_log_probs).cumsum(-1)
            # Kept below the total, so that there always is a first choice beyond it.
            total = running[:, -1]
            point = np.minimum(uniforms[:, number] * total, np.nextafter(total, np.float32(-1)))
            beyond = (running > point[:, None]) & (head_log_probs > ILLEGAL)
            actions.append(beyond.argmax(-1))
        return np.stack(actions, -1).astype(np.int32), state

    def _normal(self, logits: Floats, mask: NDArray[np.bool_]) -> Floats:
        """Return the log-softmax over the legal choices of each head."""
        masked = np.where(mask, logits, np.finfo(np.float32).min)
        log_probs = []
        for head_logits in self._split(masked):
            shifted = head_logits - head_logits.max(-1, keepdims=True)
            log_probs.append(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))
        joined = np.where(mask, np.concatenate(log_probs, -1), ILLEGAL).astype(np.float32)
        finish = self.header.network.finish
        return joined if finish is None else self._finished(joined, finish)

    def _finished(self, log_probs: Floats, finish: Finish) -> Floats:
        """Return the log-probabilities of a finished policy; what it drops is illegal."""
        prob = np.concatenate([finish(np.exp(head)) for head in self._split(log_probs)], -1)
        tiny = np.finfo(np.float32).tiny
        return np.where(prob > 0, np.log(np.maximum(prob, tiny)), ILLEGAL).astype(np.float32)

    def _split(self, values: Floats) -> list[Floats]:
        borders = np.cumsum([head.size for head in self.header.heads])[:-1]
        return np.split(values, borders, -1)

    def _refuse_shapes(self, observation: NDArray[Any], mask: NDArray[Any]) -> None:
        shapes = (observation.shape, mask.shape)
        rows = len(observation)
        if shapes != ((rows, self.header.observation.length), (rows, self._choices)):
            raise PolicyFileError(
                f"The policy {self.digest[:12]} of {self.header.game} was shown observations and "
                f"masks of shapes {list(shapes[0])} and {list(shapes[1])}; it needs "
                f"[N, {self.header.observation.length}] and [N, {self._choices}]."
            )


def load_portable(path: str | Path, spec: Spec | None = None) -> PortablePolicy:
    """Return the policy in a file; with `spec`, one that does not fit this game is refused."""
    content = read(path)
    try:
        if spec is not None:
            content.header.refuse_other(spec)
        return PortablePolicy(content)
    except PolicyFileError as error:
        raise refused(path, error) from error


_Normal = Callable[[NDArray[Any]], Floats]
TorsoRunner = Callable[[NDArray[Any], Floats], tuple[Floats, Floats]]


class _Turns:
    """Turns views before a torso sees them and choices back, as nets/symmetry does."""

    def __init__(self, header: PolicyHeader, weights: Weights, turns: int) -> None:
        length = header.observation.length
        self.columns = weights.take("torso.columns", turns, length).astype(np.int64)
        self.signs = weights.take("torso.signs", turns, length)
        direction = weights.take("torso.direction", length)
        choices = sum(head.size for head in header.heads)
        self.permutation = weights.take("head.permutation", turns, choices).astype(np.int64)
        self.weights = np.zeros_like(self.signs)
        np.put_along_axis(self.weights, self.columns, direction * self.signs, -1)
        weights.rename("torso.inner.", "torso.")

    def around(self, torso: TorsoRunner, head: Layer) -> tuple[TorsoRunner, Layer]:
        """Return a torso and a head that take and give what is not turned."""

        def turned_torso(observation: NDArray[Any], state: Floats) -> tuple[Floats, Floats]:
            turn = (observation.astype(np.float32) @ self.weights.T).argmax(-1)
            turned = np.take_along_axis(observation, self.columns[turn], -1)
            turned = turned * self.signs[turn].astype(observation.dtype)
            features, state = torso(turned, state)
            return np.concatenate([features, turn[:, None].astype(np.float32)], -1), state

        def turned_head(features: Floats) -> Floats:
            turn = features[:, -1].astype(np.int64)
            return np.take_along_axis(head(features[:, :-1]), self.permutation[turn], -1)

        return turned_torso, turned_head


def _turns(header: PolicyHeader, weights: Weights) -> _Turns | None:
    turns = header.network.symmetry
    return None if turns is None else _Turns(header, weights, turns)


def _normal(header: PolicyHeader, weights: Weights) -> _Normal | None:
    """Return what normalises the numbers of views, as nets/normalise does; None: nothing."""
    bound = header.network.normalise_observations
    if bound is None:
        return None
    length = header.observation.length
    mean = weights.take("torso.mean", length)
    deviation = weights.take("torso.deviation", length)
    weights.take("torso.seen", 1)
    weights.rename("torso.inner.", "torso.")
    return normaliser(header.observation, mean, deviation, bound)


def _after(normal: _Normal, torso: TorsoRunner) -> TorsoRunner:
    return lambda observation, state: torso(normal(observation), state)


def width_of(header: PolicyHeader) -> int:
    return header.network.resolved_width


class Flat:
    """One-hot categories in order of their number of classes, then scaled numbers."""

    def __init__(self, observation: Observation) -> None:
        entries: dict[int, list[int]] = {}
        numbers: list[int] = []
        scales: list[float] = []
        start = 0
        for field in observation.fields:
            at = range(start, start + field.size)
            if field.classes:
                entries.setdefault(field.classes, []).extend(at)
            else:
                numbers.extend(at)
                scales.extend([field.scale] * field.size)
            start += field.size
        self.entries = sorted(entries.items())
        self.numbers = numbers
        self.scale = np.float32(1) / np.array(scales, np.float32)
        self.width = sum(classes * len(at) for classes, at in self.entries) + len(numbers)

    def __call__(self, observation: NDArray[Any]) -> Floats:
        one_hot = [
            (observation[..., at, None] == np.arange(classes)).reshape(len(observation), -1)
            for classes, at in self.entries
        ]
        hot = [columns.astype(np.float32) for columns in one_hot]
        numbers = observation[..., self.numbers].astype(np.float32) * self.scale
        return np.concatenate([*hot, numbers], -1)


def _runner(kind: str) -> Callable[[PolicyHeader, Weights], TorsoRunner]:
    """Return what makes a torso of this kind run in NumPy."""
    place = TORSOS[kind].numpy
    if place is None:
        raise PolicyFileError(f"its torso {kind!r} is run by torch alone, and NumPy was asked for")
    runner: Callable[[PolicyHeader, Weights], TorsoRunner] = located(place)
    return runner


def mlp(header: PolicyHeader, weights: Weights) -> TorsoRunner:
    encoder, width = Flat(header.observation), width_of(header)
    layers = [
        weights.layer(f"torso.layers.{i}", encoder.width if i == 0 else width, width)
        for i in range(header.network.resolved_layers)
    ]

    def run(observation: NDArray[Any], state: Floats) -> tuple[Floats, Floats]:
        x = encoder(observation)
        for layer in layers:
            x = relu(layer(x))
        return x, state

    return run


def residual(header: PolicyHeader, weights: Weights) -> TorsoRunner:
    encoder, width = Flat(header.observation), width_of(header)
    into = weights.layer("torso.into", encoder.width, width)
    blocks = []
    for i in range(header.network.resolved_layers):
        name = f"torso.blocks.{i}"
        norm = weights.norm(f"{name}.0", width)
        first = weights.layer(f"{name}.1", width, width)
        blocks.append((norm, first, weights.layer(f"{name}.3", width, width)))
    out = weights.norm("torso.out", width)

    def run(observation: NDArray[Any], state: Floats) -> tuple[Floats, Floats]:
        x = into(encoder(observation))
        for norm, first, second in blocks:
            x = x + second(relu(first(norm(x))))
        return relu(out(x)), state

    return run


def convolution(header: PolicyHeader, weights: Weights) -> TorsoRunner:
    flat, width = Flat(header.observation), width_of(header)
    on_board, beside_board = board_columns(header.observation)
    planes, rows, columns = board_of(header.observation)
    channels = channels_of(width)
    into = kernels(weights, "torso.into", planes, channels)
    beside = weights.layer("torso.beside", len(beside_board), channels) if beside_board else None
    blocks = []
    for i in range(header.network.resolved_layers):
        first = kernels(weights, f"torso.blocks.{i}.0", channels, channels)
        blocks.append((first, kernels(weights, f"torso.blocks.{i}.2", channels, channels)))
    out = weights.layer("torso.out", channels * rows * columns, width)

    def run(observation: NDArray[Any], state: Floats) -> tuple[Floats, Floats]:
        x = flat(observation)
        board = x[:, on_board].reshape(-1, planes, rows, columns)
        y = into(board.transpose(0, 2, 3, 1))
        if beside is not None:
            y = y + beside(x[:, beside_board])[:, None, None, :]
        y = relu(y)
        for first, second in blocks:
            y = relu(y + second(relu(first(y))))
        # Channels first, as the layer over all was learned.
        return relu(out(y.transpose(0, 3, 1, 2).reshape(len(y), -1))), state

    return run


def kernels(weights: Weights, name: str, inputs: int, outputs: int, stride: int = 1) -> Layer:
    """Return a convolution over `[N, rows, columns, channels]` with a margin of zeros."""
    square = weights.take(f"{name}.weight", outputs, inputs, KERNEL, KERNEL)
    bias = weights.take(f"{name}.bias", outputs)
    weight = square.transpose(2, 3, 1, 0).reshape(-1, outputs)
    margin = KERNEL // 2

    def convolution(x: Floats) -> Floats:
        rows, columns = x.shape[1:3]
        padded = np.pad(x, ((0, 0), (margin, margin), (margin, margin), (0, 0)))
        patches = [
            padded[:, i : i + rows : stride, j : j + columns : stride]
            for i in range(KERNEL)
            for j in range(KERNEL)
        ]
        out: Floats = np.concatenate(patches, -1) @ weight + bias
        return out

    return convolution


def transformer(header: PolicyHeader, weights: Weights) -> TorsoRunner:
    width = width_of(header)
    tokens_of = token_maker(header, weights)
    heads = header.network.resolved_attention_heads
    blocks = [
        _block(f"torso.blocks.{i}", width, heads, weights)
        for i in range(header.network.resolved_layers)
    ]
    out = weights.norm("torso.out", width)

    def run(observation: NDArray[Any], state: Floats) -> tuple[Floats, Floats]:
        tokens = tokens_of(observation)
        for block in blocks:
            tokens = block(tokens)
        features = out(tokens.mean(-2))
        if header.network.readout is None:
            return features, state
        return np.concatenate([features, tokens.reshape(len(tokens), -1)], -1), state

    return run


def _block(name: str, width: int, heads: int, weights: Weights) -> Layer:
    before_mixing = weights.norm(f"{name}.before_mixing", width)
    projected = weights.layer(f"{name}.queries_keys_values", width, 3 * width)
    mixed = weights.layer(f"{name}.mixed", width, width)
    before_layers = weights.norm(f"{name}.before_layers", width)
    up = weights.layer(f"{name}.up", width, 2 * width)
    down = weights.layer(f"{name}.down", 2 * width, width)
    scale = np.float32((width // heads) ** -0.5)

    def block(tokens: Floats) -> Floats:
        rows, count, _ = tokens.shape
        split = projected(before_mixing(tokens)).reshape(rows, count, 3, heads, width // heads)
        query, key, value = split.transpose(2, 0, 3, 1, 4)
        likeness = query @ key.swapaxes(-1, -2) * scale
        likeness = np.exp(likeness - likeness.max(-1, keepdims=True))
        attended = likeness / likeness.sum(-1, keepdims=True) @ value
        tokens = tokens + mixed(attended.swapaxes(1, 2).reshape(rows, count, width))
        return tokens + down(relu(up(before_layers(tokens))))

    return block


def token_maker(header: PolicyHeader, weights: Weights) -> Callable[[NDArray[Any]], Floats]:
    """Return what makes tokens of observations, as nets/encoders does."""
    width = width_of(header)
    layout = layout_of(header.observation, header.network.readout)
    depth = depth_of(width, header.network.embedding)
    table = np.zeros((0, depth), np.float32)
    if layout.rows:
        table = weights.take("torso.encoder.embedding.weight", layout.rows, depth)
    kinds = [
        (
            kind,
            weights.layer(f"torso.encoder.inputs.{number}", kind.inputs(depth), width),
            weights.take(f"torso.encoder.places.{number}", kind.distinct_places, width)[
                kind.places
            ],
        )
        for number, kind in enumerate(layout.kinds)
    ]

    def run(observations: NDArray[Any]) -> Floats:
        tokens = []
        for kind, into, place in kinds:
            embedded = table[observations[:, kind.categories].astype(np.int64) + kind.rows]
            numbers = observations[:, kind.numbers].astype(np.float32) * kind.scale
            inputs = [embedded.reshape(len(observations), kind.count, -1), numbers]
            tokens.append(into(np.concatenate(inputs, -1)) + place)
        return np.concatenate(tokens, -2)

    return run
