"""Finds views in a table: each is known by 64 bits made of its numbers, the table lies in order.

The bits are kept as four whole numbers below 65,536, which float32 holds exactly, as policy files
have nothing else. Knows nothing of torch and of files.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.nets.files.policy_format import PolicyHeader
    from lanista.nets.portable.weights import Weights

DIGITS = 4
"""Numbers of 16 bits that make a key."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_TOGETHER = 1 << 12
"""Views that are made into keys at once: each of their numbers takes eight bytes meanwhile."""
_DAMAGED = "The keys of a table are no keys, or not in order; solve the game again."
Floats = NDArray[np.float32]


class TableRows:
    """A table's keys in order, and what it has for each."""

    def __init__(self, digits: Floats, logits: Floats) -> None:
        numbers = np.asarray(digits)
        if not ((numbers >= 0) & (numbers < 1 << 16) & (np.floor(numbers) == numbers)).all():
            raise LanistaError(_DAMAGED)
        shifts = np.arange(DIGITS, dtype=np.uint64) * np.uint64(16)
        words = numbers.astype(np.uint64)
        self.keys: NDArray[np.uint64] = (words << shifts).sum(1, dtype=np.uint64)
        if not (self.keys[1:] > self.keys[:-1]).all():
            raise LanistaError(_DAMAGED)
        self.logits = np.asarray(logits)
        self._warned = False

    def find(self, observation: NDArray[Any]) -> Floats:
        """Return what the table has for each view; zeros, all choices alike, for one it has not."""
        keys = keys_of(observation)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        missing = self.keys[at] != keys
        out: Floats = self.logits[at]
        if missing.any():
            out[missing] = 0
            # Rows of zeros fill a batch up; nobody has seen them.
            shown = np.asarray(observation).any(1)
            self._warn(int((missing & shown).sum()), int(shown.sum()))
        return out

    def _warn(self, missing: int, views: int) -> None:
        if missing and not self._warned:
            self._warned = True
            warnings.warn(
                f"A table of {len(self.keys):,} views lacks {missing:,} of the {views:,} it was "
                "shown; there it chooses everything legal alike.",
                stacklevel=3,
            )


def portable_table(header: PolicyHeader, weights: Weights) -> Any:
    """Return the table of a policy file as nets/portable/runtime runs torsos."""
    rows, width = header.network.rows or 0, header.network.resolved_width
    keys = weights.take("torso.keys", rows, DIGITS)
    table = TableRows(keys, weights.take("torso.logits", rows, width))
    return lambda observation, state: (table.find(observation), state)


def keys_of(observation: NDArray[Any]) -> NDArray[np.uint64]:
    """Return 64 bits for each view: a sum of its numbers' bits, each times a factor of its own."""
    factors = _mixed(np.arange(1, observation.shape[-1] + 1, dtype=np.uint64) * _GOLDEN)
    keys = np.empty(len(observation), np.uint64)
    for start in range(0, len(observation), _TOGETHER):
        # With 0 added, which turns -0 into 0: equal views have equal bits.
        numbers = np.ascontiguousarray(observation[start : start + _TOGETHER], np.float32) + 0.0
        bits = numbers.view(np.uint32).astype(np.uint64)
        keys[start : start + _TOGETHER] = (bits * factors).sum(1, dtype=np.uint64)
    return _mixed(keys)


def sorted_table(observation: NDArray[Any], logits: Floats) -> tuple[Floats, Floats]:
    """Return keys as digits, and logits, in the order of the keys; each view has to be given once.

    Two views of one key are refused: with 64 bits that takes about four thousand million views.
    """
    keys = keys_of(observation)
    order = np.argsort(keys)
    keys = keys[order]
    if (keys[1:] == keys[:-1]).any():
        raise LanistaError("Two views of the table have the same key; give each view once.")
    shifts = np.arange(DIGITS, dtype=np.uint64) * np.uint64(16)
    digits = (keys[:, None] >> shifts) & np.uint64(0xFFFF)
    return digits.astype(np.float32), logits[order].astype(np.float32)


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each word's SplitMix64, as games/streams.pxd has it."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
