"""Regret matching and the losses of regret learning, pure: arrays and tensors in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


def regret_matching(regrets: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return probabilities in proportion to positive regrets, `[rows, choices]`.

    Where no legal choice has any, the choice with the largest one is taken (as in Deep CFR, Brown
    et al., 2019): a network is hardly ever right about which of two negative numbers matter.
    """
    positive = np.where(mask, np.maximum(regrets, 0.0), 0.0).astype(np.float64)
    total = positive.sum(1, keepdims=True)
    largest = np.where(mask, regrets, -np.inf).argmax(1)
    alone = np.zeros_like(positive)
    alone[np.arange(len(alone)), largest] = 1.0
    # A sum below the smallest normal number would not divide to probabilities.
    return np.where(total > 1e-30, positive / np.maximum(total, 1e-30), alone)


def regret_loss(predicted: Tensor, target: Tensor, mask: Tensor, weight: Tensor) -> Tensor:
    """Return the weighted mean of squared errors over legal choices; illegal ones do not count."""
    error = ((predicted - target).square() * mask).sum(-1)
    return (error * weight).sum() / weight.sum()


def strategy_loss(log_probs: Tensor, target: Tensor, mask: Tensor, weight: Tensor) -> Tensor:
    """Return the weighted mean of cross-entropies to target probabilities, over legal choices."""
    entropy = -(target * log_probs.masked_fill(~mask, 0.0)).sum(-1)
    return (entropy * weight).sum() / weight.sum()
