"""Bets against a claim about a mean, on results that come one after another.

Somebody who bets against a true claim and never on credit is unlikely ever to become rich: the
chance of reaching 1/α times the first stake, at any time, is at most α (Ville's inequality). So a
claim may be dropped as soon as a bet against it has made that much, however often one looked.
Owns the bets and the counts they rest on. Knows nothing of policies, of games or of files.

Reference: I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by
betting", Journal of the Royal Statistical Society B 86 (2024).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Key = tuple[float | None, ...]
"""What can happen in one game, as numbers; equal games have equal keys."""

EFFECTS: Values = np.array([0.025, 0.05, 0.1, 0.2, 0.4])
"""The differences bet on; each has a purse, with the stake that is best if it is the true one."""
PURSES: Values = np.array([0.15, 0.4, 0.2, 0.15, 0.1])
"""How the first stake is shared out among them."""
CAP = 0.75
"""The most that one game may take from a purse."""
SPAN = 0.5
"""Bets are made against claims about differences within ±SPAN."""


@dataclass(frozen=True)
class Claim:
    """That the difference is at most `bound` (sign 1), or at least `bound` (sign −1)."""

    sign: int
    bound: float


@dataclass(frozen=True)
class Increment:
    """What one game adds: `value` has the mean `unit` × difference, given all that came before."""

    value: float
    unit: float


@dataclass
class Block:
    """Games played under the same bets; only their number counts, not their order."""

    facts: dict[str, float]
    """What the bets were made from, all of it known before the block's first game."""
    counts: dict[Key, int] = field(default_factory=dict)


def stakes(unit: float, variance: float, reach: float) -> Values:
    """Return the stake of each purse, for increments of mean `unit` × difference.

    For a small difference d the growth of a purse is largest at unit · d / variance. `reach` is
    the largest size of an increment, so that no claim within ±SPAN costs more than CAP.
    """
    best = EFFECTS * unit / max(variance, 1e-12)
    capped: Values = np.minimum(best, CAP / (reach + unit * SPAN))
    return capped


def log_factors(claim: Claim, increment: Increment, stake: Values) -> Values:
    """Return the logarithm of what one game does to each purse that bets against `claim`."""
    surplus = increment.value - increment.unit * claim.bound
    grown: Values = np.log1p(claim.sign * stake * surplus)
    return grown


def purses_for(margin: float) -> Values:
    """Return how the first stake is shared out where only differences of `margin` are worth
    waiting for: nothing goes to a purse whose difference is below half of that."""
    kept = np.where(margin / 2 - 1e-12 <= EFFECTS, PURSES, 0.0)
    if not kept.any():
        kept[-1] = 1.0
    shares: Values = kept / kept.sum()
    return shares


def log_evidence(purses: Values, shares: Values = PURSES) -> Values:
    """Return the logarithm of all purses together, from logarithms `[..., purse]`."""
    top = purses.max(axis=-1, keepdims=True)
    total: Values = np.log((np.exp(purses - top) * shares).sum(axis=-1)) + top[..., 0]
    return total


class Purses:
    """The purses of several claims, kept as counts by block, so that a copy is exact.

    `factors(facts, key)` gives the logarithms `[claim, purse]` that one game adds.
    """

    def __init__(self, claims: int, factors: Callable[[Mapping[str, float], Key], Values]) -> None:
        self.blocks: list[Block] = []
        self._factors = factors
        self._closed: Values = np.zeros((claims, len(EFFECTS)))
        self._rows: dict[Key, int] = {}
        self._table: list[Values] = []

    def open(self, block: Block) -> None:
        """Begin a block, or take in one that was saved."""
        self._closed = self.logs()
        self._rows, self._table = {}, []
        self.blocks.append(block)
        for key in block.counts:
            self._row(key)

    def add(self, keys: Sequence[Key]) -> None:
        """Count games in the open block."""
        counts = self.blocks[-1].counts
        for key in keys:
            self._row(key)
            counts[key] = counts.get(key, 0) + 1

    def _row(self, key: Key) -> int:
        if key not in self._rows:
            self._rows[key] = len(self._rows)
            self._table.append(self._factors(self.blocks[-1].facts, key))
        return self._rows[key]

    def logs(self) -> Values:
        """Return the logarithm of every purse, `[claim, purse]`."""
        now: Values = self.path([])[0]
        return now

    def path(self, keys: Sequence[Key]) -> Values:
        """Return the logarithms now and after each of `keys` more, `[1 + games, claim, purse]`.

        Nothing is counted yet. Each comes from counts and not from the one before it, so the same
        games give the same bits, one at a time, together or loaded.
        """
        here = np.array([self._row(key) for key in keys], np.int64)
        logs = np.zeros((1 + len(keys), *self._closed.shape))
        before = self.blocks[-1].counts if self.blocks else {}
        for key, row in self._rows.items():
            count = np.full(1 + len(keys), before.get(key, 0), np.float64)
            count[1:] += np.cumsum(here == row)
            logs += count[:, None, None] * self._table[row]
        together: Values = self._closed + logs
        return together


def extreme(evidence: Callable[[float], float], level: float, sign: int) -> float:
    """Return the end of the differences that the bets leave standing at error `level`.

    `evidence(bound)` is the logarithm of what was won against "at most bound" (sign 1, falling in
    the bound: the lower end) or "at least bound" (sign −1, rising: the upper end). The answer errs
    to the outside, by less than 1e-6 within ±SPAN; beyond that it is ±1, since nobody bet there.
    """
    line = -math.log(level)
    outside, inside = -SPAN * sign, SPAN * sign
    if evidence(outside) < line:
        return -float(sign)
    while abs(inside - outside) > 1e-6:
        middle = (inside + outside) / 2
        if evidence(middle) < line:
            inside = middle
        else:
            outside = middle
    return outside
