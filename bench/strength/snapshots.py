"""A peer's network in NumPy: as an opponent in its own training, and as what is judged.

A row takes some ten microseconds, where the peer's own class takes a hundred and more: nothing in
the comparison is lost to how slowly a frozen network could be asked.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import Player
from lanista.games.contract import Decisions, Ints, Spec
from lanista.nets.encoders import FlatEncoder

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Weights `[in, out]` and biases."""


class Snapshot:
    """Frozen weights of layers with tanh between them, over what our encoder makes of a view."""

    name = "snapshot"
    digest = "peer:snapshot"

    def __init__(
        self, spec: Spec, layers: Sequence[Layer], greedy: bool = False, *, seed: int = 0
    ) -> None:
        self.layers, self.greedy = layers, greedy
        self.sizes = [head.size for head in spec.heads]
        self._encoder = Encoder(spec)
        self._random = np.random.Generator(np.random.PCG64(seed))

    def logits(self, observation: NDArray[Any]) -> NDArray[np.float32]:
        """Return `[n, choices]`, whatever is legal."""
        values = self._encoder(observation)
        for weights, bias in self.layers[:-1]:
            values = np.tanh(values @ weights + bias)
        weights, bias = self.layers[-1]
        return values @ weights + bias

    def probabilities(
        self, observation: NDArray[Any], mask: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return those of the legal choices, head by head."""
        logits = np.where(mask, self.logits(observation).astype(np.float64), -np.inf)
        chances, at = np.empty_like(logits), 0
        for size in self.sizes:
            own = logits[:, at : at + size]
            weights = np.exp(own - own.max(1, keepdims=True))
            chances[:, at : at + size] = weights / weights.sum(1, keepdims=True)
            at += size
        return chances

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Draw a legal choice of each head, or take the likeliest."""
        logits = np.where(decisions.mask[rows], self.logits(decisions.observation[rows]), -np.inf)
        if not self.greedy:
            # The largest of logits with Gumbel noise is a draw from their softmax.
            logits += self._random.gumbel(size=logits.shape)
        actions, at = np.empty((len(rows), len(self.sizes)), np.int32), 0
        for head, size in enumerate(self.sizes):
            actions[:, head] = logits[:, at : at + size].argmax(1)
            at += size
        return actions


class Encoder:
    """What our networks make of a view, one-hot categories and scaled numbers, in NumPy.

    For single rows, which a peer's environments have, it takes a third of the time of the module.
    """

    def __init__(self, spec: Spec) -> None:
        module = FlatEncoder(spec.observation)
        self.width, self._hot, self._plain = module.width, module.hot, module.plain
        self._entries, self._values = module.entries.numpy(), module.values.numpy()
        self._scale = module.scale.numpy()

    def __call__(self, observation: NDArray[Any]) -> NDArray[np.float32]:
        numbers = observation.astype(np.float32)
        if self._plain:
            return numbers
        columns: NDArray[np.float32] = numbers[..., self._entries]
        columns[..., : self._hot] = columns[..., : self._hot] == self._values
        columns[..., self._hot :] *= self._scale
        return columns


@dataclass
class Mixture:
    """Whoever sits opposite in a match: a bot, or one of the learner's snapshots.

    Half of the matches among snapshots go to the newest, the others to any of those kept.
    """

    members: Sequence[tuple[Player | None, float]]
    """Players with their weights; None stands for the snapshots."""
    snapshots: list[Snapshot]
    random: np.random.Generator
    name: str = "mixture"
    digest: str = "peer:mixture"
    match: int = -1

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Answer as the one does who was drawn for this match."""
        match = int(decisions.match[rows[0]])
        if match != self.match:
            self.match, self._member = match, self._drawn()
        return self._member.act(decisions, rows)

    def _drawn(self) -> Player:
        bounds = list(accumulate(weight for _, weight in self.members))
        member, _ = self.members[bisect(bounds, self.random.random() * bounds[-1])]
        if member is not None:
            return member
        if self.random.random() < 0.5:
            return self.snapshots[-1]
        return self.snapshots[self.random.integers(len(self.snapshots))]
