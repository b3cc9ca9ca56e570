"""The weights of the last updates in Ray's object store, put there once for each version.

A machine gets a version once, whichever of its shards needs it. Knows nothing of machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanista.rollout.inference.actor import Actor
from lanista.rollout.launchers.processes import arrays_of


class RayWeights:
    """A reference for each version that may still be played with."""

    def __init__(self, ray: Any, actor: Actor, lag: int, published: Callable[[], None]) -> None:
        """`published` is called after each version, at the border of an iteration."""
        self._ray, self._actor, self._lag, self._published = ray, actor, lag, published
        self.references: dict[int, Any] = {}
        self.newest = 0
        self._put(0)

    def publish(self, version: int) -> None:
        """Put the weights as they are now for the orders that name `version`."""
        self._put(version)
        self._published()

    def close(self) -> None:
        self.references = {}

    def _put(self, version: int) -> None:
        self.newest = version
        oldest = version - self._lag
        self.references = {old: ref for old, ref in self.references.items() if old >= oldest}
        # The store copies them once; a machine fetches them once for all of its workers.
        self.references[version] = self._ray.put(arrays_of(self._actor))
