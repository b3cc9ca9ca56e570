"""How noisy gradients are: the simple noise scale, from an epoch's minibatches and their sum.

B = tr(Σ) / |G|² (McCandlish et al. 2018), in decisions: G is the true gradient, Σ the covariance of
one decision's. The drift of the weights within the epoch is taken for noise. Knows nothing of
losses and of optimisers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lanista.learn.shards import Gradients

_REMEMBERED = 20
"""Updates over which both parts of the scale are averaged; alone, either is mostly noise."""
FEWEST = 2
"""Minibatches that it takes to measure anything."""


class EpochGradients:
    """The gradients of an epoch's minibatches: their squares, and their sum."""

    def __init__(self) -> None:
        self._sum: list[Tensor] = []
        self._squares: list[Tensor] = []
        self._rows: list[int] = []

    def add(self, gradients: Gradients, rows: int) -> None:
        """Take in the mean gradient of a minibatch of so many decisions, before it is clipped."""
        present = [gradient for gradient in gradients if gradient is not None]
        self._squares.append(_square(present))
        self._rows.append(rows)
        if self._sum:
            torch._foreach_add_(self._sum, present, alpha=rows)
        else:
            self._sum = [gradient * rows for gradient in present]

    def measured(self) -> dict[str, Tensor]:
        """Return unbiased estimates of tr(Σ), `trace`, and of |G|², `square`.

        The mean gradient of b decisions has E|g|² = |G|² + tr(Σ)/b; minibatches and the whole epoch
        are two such b.
        """
        if len(self._rows) < FEWEST:
            return {}
        whole = sum(self._rows)
        of_whole = _square(self._sum) / whole**2
        of_minibatches = torch.stack(self._squares).mean()
        share = sum(1 / rows for rows in self._rows) / len(self._rows)
        trace = (of_minibatches - of_whole) / (share - 1 / whole)
        return {"trace": trace, "square": of_whole - trace / whole}


def _square(gradients: list[Tensor]) -> Tensor:
    return torch.stack(torch._foreach_norm(gradients)).square().sum()


@dataclass
class NoiseScale:
    """The noise scale over updates, and the minibatches that it asks for."""

    trace: float = 0.0
    square: float = 0.0
    updates: int = 0

    def follow(self, trace: float, square: float) -> None:
        """Take in what an update measured; the first `_REMEMBERED` updates count alike."""
        self.updates += 1
        share = 1 / min(self.updates, _REMEMBERED)
        self.trace += share * (trace - self.trace)
        self.square += share * (square - self.square)

    @property
    def decisions(self) -> float:
        """The scale in decisions; infinity where no gradient stands out from the noise."""
        return self.trace / self.square if self.square > 0 else float("inf")

    def minibatches(self, decisions: int, most: int) -> int:
        """Return how many minibatches of about the scale's size an epoch is cut into."""
        if self.trace <= 0:  # Nothing but signal: every decision would do alone.
            return most
        return min(most, max(FEWEST, round(decisions / self.decisions)))

    def state(self) -> dict[str, Any]:
        """Return both averages."""
        return {"trace": self.trace, "square": self.square, "updates": self.updates}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` gave."""
        self.trace, self.square = float(state["trace"]), float(state["square"])
        self.updates = int(state["updates"])
