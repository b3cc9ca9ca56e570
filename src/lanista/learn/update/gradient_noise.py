"""How noisy gradients are: the simple noise scale, from the parts of a step and their sum.

B = tr(Σ) / |G|² (McCandlish et al. 2018), in decisions: G is the true gradient, Σ the covariance of
one decision's. Parts of one step have the same weights; minibatches do not, and the steps between
them would be taken for noise. Knows nothing of losses and of optimisers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lanista.learn.update.shards import Gradients

_REMEMBERED = 20
"""Updates over which both parts of the scale are averaged; alone, either is mostly noise."""
PARTS = 4
"""Into how many an update's first step is cut where the noise is asked for."""
FEWEST = 1
"""Minibatches at least."""


def square_of(gradients: Gradients) -> Tensor:
    """Return the squared norm of all gradients together, `[]`."""
    present = [gradient for gradient in gradients if gradient is not None]
    return torch.stack(torch._foreach_norm(present)).square().sum()


def noise_of(squares: Sequence[Tensor], rows: Sequence[int], whole: Tensor) -> dict[str, Tensor]:
    """Return unbiased estimates of tr(Σ), `trace`, and of |G|², `square`.

    A step's gradient, whose square is `whole`, is the sum of its parts' gradients, which have these
    `squares`: their own mean gradients times their share of the step's `rows`. The mean gradient g
    of b decisions has E|g|² = |G|² + tr(Σ)/b, and parts and whole are two such b.
    """
    count = sum(rows)
    squares = [square * (count / number) ** 2 for square, number in zip(squares, rows, strict=True)]
    inverse = sum(1 / number for number in rows) / len(rows)
    trace = (torch.stack(squares).mean() - whole) / (inverse - 1 / count)
    return {"trace": trace, "square": whole - trace / count}


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
