"""The last layer of a policy in NumPy, as nets/heads has it in torch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from lanista.games.contract import Head
from lanista.nets.boards import channels_of
from lanista.nets.files.policy_format import PolicyHeader
from lanista.nets.heads.cells import by_number, cell_sizes, logits_at
from lanista.nets.heads.pointers import RANK, Pointers, part_sizes, pointers_of, undescribed
from lanista.nets.portable.weights import Floats, Layer, Weights, relu


def head_of(header: PolicyHeader, weights: Weights) -> Layer:
    """Return what gives a logit for every choice from a torso's features."""
    width = header.network.resolved_width
    if header.network.readout is None:
        return choices("head", header.heads, width, weights)
    if header.network.readout == "cells":
        return _cells(header, width, weights)
    return _Pointer(header, width, weights)


def choices(name: str, heads: Sequence[Head], width: int, weights: Weights) -> Layer:
    """Return the layer of all choices; weights of parts are added up once and for all."""
    own = weights.take(f"{name}.weight", sum(head.size for head in heads), width).copy()
    count = sum(sum(head.parts) for head in heads)
    part_weights = weights.take(f"{name}.parts", count, width) if count else None
    bias = weights.take(f"{name}.bias", len(own))
    start = at = 0
    for head in heads:
        for axis, size in enumerate(head.parts):
            assert part_weights is not None
            piece = own[start : start + head.size].reshape(*head.parts, width)
            shape = [size if axis == other else 1 for other in range(len(head.parts))]
            piece += part_weights[at : at + size].reshape(*shape, width)
            at += size
        start += head.size
    weight = own.T

    def layer(x: Floats) -> Floats:
        out: Floats = x @ weight + bias
        return out

    return layer


def _cells(header: PolicyHeader, width: int, weights: Weights) -> Layer:
    """Return what reads each choice from the cell that it is about."""
    observation, heads = header.observation, header.heads
    sizes, channels = cell_sizes(observation, heads), channels_of(width)
    at_cells = weights.layer("head.at_cells", channels, sizes.kinds)
    by_features = [weights.layer("head.apart", width, sizes.apart)] if sizes.apart else []
    if numbered := by_number(observation, heads):
        by_features.append(choices("head.by_number", numbered, width, weights))
    index = logits_at(observation, heads)

    def layer(features: Floats) -> Floats:
        rows = len(features)
        cells = at_cells(features[:, width:].reshape(rows, -1, channels)).reshape(rows, -1)
        outputs = [cells, *(one(features[:, :width]) for one in by_features)]
        logits: Floats = np.concatenate(outputs, -1)
        return logits if index is None else logits[:, index]

    return layer


class _Pointer:
    """Scores each choice by the tokens that it is about."""

    def __init__(self, header: PolicyHeader, width: int, weights: Weights) -> None:
        self.heads, self.width = header.heads, width
        self.pointers: Pointers = pointers_of(header.observation, header.heads)
        sizes = self.pointers.sizes
        self.norm = weights.norm("head.norm", width)
        self.roles = weights.take("head.roles", sizes.roles, width, width)
        kinds = weights.take("head.kinds", sizes.kinds, width)
        absent = weights.take("head.absent", sizes.absent, width) if sizes.absent else kinds[:0]
        self.constant = np.concatenate([absent, kinds])
        self.whole = weights.layer("head.whole", width, width)
        self.score = weights.take("head.score", 1, width)[0]
        self.pairs = weights.layer("head.pairs", width, 2 * RANK) if sizes.has_pairs else None
        by_number = undescribed(header.heads)
        self.by_number = choices("head.by_number", by_number, width, weights) if by_number else None

    def __call__(self, features: Floats) -> Floats:
        hidden = self._hidden(features)
        scores: Floats = hidden @ self.score
        numbered = self.by_number(features[:, : self.width]) if self.by_number else scores[:, :0]
        logits, at, by_number_at = [], 0, 0
        for head in self.heads:
            if not head.references:
                logits.append(numbered[:, by_number_at : by_number_at + head.size])
                by_number_at += head.size
                continue
            borders = np.cumsum([at, *part_sizes(head)])
            parts = [slice(*border) for border in pairwise(borders)]
            logits.append(self._joint(scores, hidden, parts))
            at = int(borders[-1])
        return np.concatenate(logits, -1)

    def _hidden(self, features: Floats) -> Floats:
        """Return `[N, choices, width]`: every choice of every part as the sum of its rows."""
        rows = len(features)
        tokens = self.norm(features[:, self.width :].reshape(rows, -1, self.width))
        kinds = np.split(tokens, np.cumsum(self.pointers.token_kinds)[:-1], 1)
        table = [
            kinds[kind] @ role.T
            for role, kind in zip(self.roles, self.pointers.role_kinds, strict=True)
        ]
        table.append(np.broadcast_to(self.constant, (rows, *self.constant.shape)))
        table.append(self.whole(features[:, : self.width])[:, None])
        return relu(self._sums(np.concatenate(table, 1)))

    def _sums(self, table: Floats) -> Floats:
        if self.pointers.counts is not None:
            sums: Floats = self.pointers.counts @ table
            return sums
        table = np.concatenate([table, np.zeros_like(table[:, :1])], 1)
        sums = table[:, self.pointers.index[:, 0]]
        for column in self.pointers.index.T[1:]:
            sums = sums + table[:, column]
        return sums

    def _joint(self, scores: Floats, hidden: Floats, parts: Sequence[slice]) -> Floats:
        """Return the logits of a head's choices, each made of one choice of every part."""
        if len(parts) == 1:
            return scores[:, parts[0]]
        assert self.pairs is not None
        count = len(parts)
        answers = [self.pairs(hidden[:, part]) for part in parts]
        joint: Any = 0
        for axis, part in enumerate(parts):
            joint = joint + _along(scores[:, part], (axis,), count)
        for first, second in combinations(range(count), 2):
            turned = np.roll(answers[second], RANK, -1).swapaxes(-1, -2)
            joint = joint + _along(answers[first] @ turned, (first, second), count)
        logits: Floats = joint.reshape(len(scores), -1)
        return logits


def _along(values: Floats, axes: tuple[int, ...], count: int) -> Floats:
    sizes = iter(values.shape[1:])
    return values.reshape(-1, *(next(sizes) if axis in axes else 1 for axis in range(count)))
