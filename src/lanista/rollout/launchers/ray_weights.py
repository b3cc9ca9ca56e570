"""The weights of the last updates in Ray's object store, put there once for each version.

A machine gets a version once, whichever of its shards needs it. Weights that are smaller than what
the store costs travel with the call that needs them. Knows nothing of machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lanista.rollout.inference.actor import Actor
from lanista.rollout.launchers.weight_arrays import arrays_of

SMALL = 1 << 16
"""Bytes up to which weights go along with a call; Ray sends up to 100 KB so."""


class RayWeights:
    """What machines are sent for each version that may still be played with."""

    def __init__(self, ray: Any, actor: Actor, lag: int, published: Callable[[], None]) -> None:
        """`published` is called after each version, at the border of an iteration."""
        self._ray, self._actor, self._lag, self._published = ray, actor, lag, published
        self.sendable: dict[int, Any] = {}
        """By version: arrays, or a list with a reference to them: Ray would fetch a bare one."""
        self.newest = 0
        self._put(0)

    def publish(self, version: int) -> None:
        """Put the weights as they are now for the orders that name `version`."""
        self._put(version)
        self._published()

    def close(self) -> None:
        self.sendable = {}

    def _put(self, version: int) -> None:
        self.newest = version
        oldest = version - self._lag
        self.sendable = {old: kept for old, kept in self.sendable.items() if old >= oldest}
        arrays = arrays_of(self._actor)
        if sum(array.nbytes for array in arrays.values()) <= SMALL:
            self.sendable[version] = {name: np.array(array) for name, array in arrays.items()}
            return
        # The store copies them once; a machine fetches them once for all of its workers.
        self.sendable[version] = [self._ray.put(arrays)]
