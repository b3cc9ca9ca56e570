"""Unrolls kept to be learnt from again: a size limit, and limits of reuse and of age.

What is drawn is a pure function of the seed, the update and what is kept, so there is no random
state to save. Knows nothing of networks and games' rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lanista.data.trajectory import Unrolls, from_arrays, join, to_arrays
from lanista.errors import LanistaError
from lanista.games.streams import uniforms

Sampling = Literal["uniform", "prioritised"]
_LEAST = 1e-6
"""Added to priorities, so that nothing kept is out of reach."""


class ReplayBuffer:
    """At most `size` unrolls, the oldest of which make room for new ones."""

    def __init__(
        self,
        size: int,
        *,
        minimum: int = 1,
        sampling: Sampling = "uniform",
        exponent: float = 0.6,
        reuse: int = 0,
        staleness: int = 0,
        gamma: float = 1.0,
        seed: int = 0,
    ) -> None:
        if size < 1 or minimum > size:
            raise LanistaError(f"A replay of size {size} cannot hold a minimum of {minimum}.")
        self.size, self.minimum, self.seed = size, minimum, seed
        self.sampling, self.exponent, self.gamma = sampling, exponent, gamma
        self.reuse, self.staleness = reuse, staleness
        self.lanes: list[Unrolls] = []
        """One unroll each, the oldest first."""
        self.uses: list[int] = []
        self.priority: list[float] = []

    def __len__(self) -> int:
        return len(self.lanes)

    def add(self, unrolls: Unrolls) -> None:
        """Keep every unroll; beyond the size limit the oldest go."""
        priority = self._priorities(unrolls)
        for number in range(len(unrolls)):
            self.lanes.append(_single(unrolls, number))
            self.uses.append(0)
            self.priority.append(float(priority[number]))
        over = len(self.lanes) - self.size
        if over > 0:
            del self.lanes[:over], self.uses[:over], self.priority[:over]

    def ready(self, update: int) -> bool:
        """Return whether `update` may draw: what is too old or used up does not count."""
        self._drop(update)
        return len(self.lanes) >= self.minimum

    def sample(self, count: int, update: int) -> Unrolls:
        """Return `count` different unrolls for `update`, or all where there are fewer."""
        self._drop(update)
        if not self.lanes:
            raise LanistaError("The replay is empty; add unrolls before drawing from it.")
        chosen = self._draw(min(count, len(self.lanes)), update)
        for number in chosen:
            self.uses[number] += 1
        return join([self.lanes[number] for number in chosen])

    def _draw(self, count: int, update: int) -> list[int]:
        """Draw without replacement with chances by weight (Efraimidis and Spirakis, 2006)."""
        numbers = np.zeros(1, np.int64)
        drawn = uniforms(
            self.seed, numbers + update, numbers.astype(np.int32), numbers.astype(np.int32),
            len(self.lanes),
        )[0].astype(np.float64)  # fmt: skip
        weight = np.ones(len(self.lanes))
        if self.sampling == "prioritised":
            weight = (np.array(self.priority) + _LEAST) ** self.exponent
        with np.errstate(divide="ignore"):
            key = np.log(drawn) / weight
        order = np.argsort(-key, kind="stable")
        return [int(number) for number in order[:count]]

    def _drop(self, update: int) -> None:
        """Forget what was used often enough or has become too old."""
        staying = [
            number
            for number, (lane, uses) in enumerate(zip(self.lanes, self.uses, strict=True))
            if not (self.reuse and uses >= self.reuse)
            and not (self.staleness and update - int(lane.update.min()) > self.staleness)
        ]
        if len(staying) < len(self.lanes):
            self.lanes = [self.lanes[number] for number in staying]
            self.uses = [self.uses[number] for number in staying]
            self.priority = [self.priority[number] for number in staying]

    def _priorities(self, unrolls: Unrolls) -> NDArray[np.float64]:
        """Return how wrong the critic was in each unroll: the mean of |r + γ v' − v|."""
        if self.sampling == "uniform":
            return np.ones(len(unrolls))
        if unrolls.value is None:
            raise LanistaError(
                "Prioritised replay needs the critic's values while playing; choose uniform "
                "sampling or a critic_output of value."
            )
        index = unrolls.index
        valid = index >= 0
        value = np.where(valid, unrolls.value[index], 0.0).astype(np.float64)
        following = np.zeros_like(value)
        following[:-1] = value[1:]
        last = valid.sum(0) - 1
        if unrolls.next_value is not None:
            following[last, np.arange(len(unrolls))] = unrolls.next_value
        error = np.abs(unrolls.reward[index] + self.gamma * following - value)
        mean: NDArray[np.float64] = np.where(valid, error, 0.0).sum(0) / valid.sum(0)
        return mean

    def save(self) -> dict[str, Any]:
        """Return all that is kept, as arrays."""
        if not self.lanes:
            return {}
        # Priorities follow from the unrolls themselves.
        return {"uses": np.array(self.uses, np.int64), "unrolls": to_arrays(join(self.lanes))}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what `save` gave."""
        self.lanes, self.uses, self.priority = [], [], []
        if saved:
            self.add(from_arrays(saved["unrolls"]))
            self.uses = [int(uses) for uses in saved["uses"]]


def _single(unrolls: Unrolls, number: int) -> Unrolls:
    """Return one unroll, its index no longer than itself."""
    lane = unrolls.take(np.array([number]))
    return replace(lane, index=lane.index[: lane.decisions])
