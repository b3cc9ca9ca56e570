"""What workers are asked and what they answer: orders, chunks, and what makes what they need.

Who only hands these on needs neither torch nor a game. Knows nothing of who plays.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from numpy.typing import NDArray

from lanista.data.trajectory import Unrolls
from lanista.errors import LanistaError
from lanista.games.bots import Player
from lanista.games.contract import Spec

if TYPE_CHECKING:
    from torch import Tensor

    from lanista.rollout.collector import Collector

T = TypeVar("T")
Line = Connection | None
"""What a worker asks for choices over; None: it has networks of its own."""
Build = Callable[[Line], "Collector"]
"""Makes a worker's collector; it may be sent to a process, so it must be a picklable function."""
Make = Callable[[Spec], Player]
"""Makes an opponent where it is needed; equal ones make the same opponent."""
Weights = Sequence[Mapping[str, "Tensor"]]
"""State of the policy, and of the critic where there is one."""


@dataclass(frozen=True)
class Order:
    """A chunk to be played."""

    how: str
    """whole_matches or unrolls, of a collector."""
    count: int
    """How many of them."""
    update: int
    """The update that the weights come from."""
    temperature: float
    shaping_scale: float
    version: int
    """Which of the published weights are to play."""


@dataclass(frozen=True)
class Played:
    """A chunk that was played."""

    unrolls: Unrolls
    ended: Mapping[str, NDArray[Any]]
    """Matches that ended, as `Tally.rows` gives them."""
    next_match: int
    """The id of the worker's next match."""
    wall: Mapping[str, float]
    """Seconds by phase."""
    cpu: Mapping[str, float]
    """CPU seconds by phase."""
    cpu_seconds: float = 0.0
    """Of the worker's own process; 0 where it has none."""
    measured: Mapping[str, float] | None = None
    """What the worker's collector measured, if anything."""


class MachineError(LanistaError):
    """The machine that plays cannot: no room on its disk, no file, no connection."""

    exit_code = 1


@dataclass(frozen=True)
class Sealed(Generic[T]):
    """Something pickled that only a worker opens: who hands it on need not be able to import it."""

    data: bytes

    def open(self) -> T:
        return cast(T, pickle.loads(self.data))


def opened(value: T | Sealed[T]) -> T:
    """Return what was sealed, or what never was."""
    return value.open() if isinstance(value, Sealed) else value
