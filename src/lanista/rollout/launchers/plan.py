"""What a launcher is given, and what it gives back.

A plan says how many workers there are and whose weights they play with. Knows nothing of where
they run, and is imported without torch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lanista.rollout.launchers.hangs import HANG_SECONDS

if TYPE_CHECKING:
    from lanista.rollout.chunks import Weights
    from lanista.rollout.inference.actor import Actor
    from lanista.rollout.inference.server import InferenceServer

PATIENCE = 10.0
"""How many seconds workers have to end by themselves when their work is over."""
Message = tuple[str, Any]
"""What a worker is asked: the name of a `CollectWorker`'s method, and its argument."""


class Worker(Protocol):
    """Somebody who plays chunks, as the parallel collector sees it."""

    def ask(self, method: str, argument: Any) -> None:
        """Ask for something; answers come in the order of what was asked."""

    def answer(self) -> Any:
        """Wait for the oldest answer that was not fetched yet; a failure is raised here."""

    def let_go(self) -> None:
        """Tell it that nothing more will be asked."""

    def end(self, last: float) -> None:
        """Wait until `last` on the clock for its end."""


class WeightStore(Protocol):
    """Keeps the weights of the last updates for workers to play with."""

    def publish(self, version: int) -> None:
        """Keep the weights as they are now for the orders that name `version`."""

    def close(self) -> None:
        """Let go of what is kept."""


class WeightsByVersion(WeightStore, Protocol):
    """The same, where they can be read in this process."""

    def weights(self, version: int) -> Weights:
        """Return the weights of `version`, one of the last."""


@dataclass(frozen=True)
class Desk:
    """Where processes ask for choices."""

    actor: Actor
    """With networks of its own, which load the weights that are published."""
    batch: int
    """Rows that one inference has at most to wait for."""
    deadline: float
    """Seconds that a request waits for others at most."""

    def opened(self, workers: int, published: WeightsByVersion) -> InferenceServer:
        """Return somebody who answers `workers` with the weights that their orders name."""
        from lanista.rollout.collect_worker import take_up
        from lanista.rollout.inference.server import InferenceServer

        def prepare(version: int) -> None:
            take_up(self.actor, published.weights(version))

        batch, deadline = self.batch, self.deadline
        return InferenceServer(self.actor, workers, batch=batch, deadline=deadline, prepare=prepare)


@dataclass(frozen=True)
class Plan:
    """Which workers to start."""

    workers: int
    actor: Actor
    """Has the weights that they play with."""
    restart_messages: Callable[[int], list[Message]]
    """What a worker, by its number, must be asked first when it takes a dead one's place."""
    notify: Callable[[str], None]
    """Takes a sentence for the user."""
    lag: int = 0
    """Chunks that are ordered ahead of the learner."""
    desk: Desk | None = None
    """Where separate processes ask for choices; None: they have networks of their own."""
    sends: bool = False
    """What workers played is put on the actor's device: by threads themselves, of processes by
    whoever takes it from them."""
    preload: tuple[str, ...] = ()
    """Modules that every worker needs, for those who start processes to import once for all."""
    hang_seconds: float = HANG_SECONDS
    """How long a machine may owe an answer before it is taken for hung."""


@dataclass(frozen=True)
class Launched:
    """Workers that run, and what they play with."""

    weights: WeightStore
    workers: list[Worker] = field(default_factory=list)
    server: InferenceServer | None = None
    """Central inference, where they ask for choices."""
    measured: Callable[[], dict[str, float]] | None = None
    """Gives numbers for the run's log since the last call; None: there are none."""

    def close(self, patience: float) -> None:
        """End the workers within `patience` seconds, then what they played with."""
        with ExitStack() as stack:  # One that cannot be closed does not keep the others.
            if self.server is not None:
                stack.callback(self.server.close)
            stack.callback(self.weights.close)
            last = time.monotonic() + patience
            for worker in self.workers:
                stack.callback(worker.end, last)
            for worker in self.workers:
                stack.callback(worker.let_go)
