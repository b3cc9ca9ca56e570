"""Workers of a fleet in this process: one after another, or each in a thread of its own.

All workers answer in the order they are asked. Knows nothing of what is asked and of processes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import torch

from lanista.rollout.chunks import Weights
from lanista.rollout.collect_worker import CollectWorker, weights_of
from lanista.rollout.inference.actor import Actor
from lanista.rollout.launchers.plan import Launched, Plan

Do = Callable[[CollectWorker, str, Any], Any]


class Published:
    """The weights of the last updates, for workers in this process.

    Without lag nobody plays while the learner learns, so its own tensors are used.
    """

    def __init__(self, actor: Actor, lag: int) -> None:
        self.actor, self.lag = actor, lag
        self._versions: dict[int, Weights] = {}

    def publish(self, version: int) -> None:
        """Keep the weights as they are now for the orders that name `version`."""
        current = weights_of(self.actor)
        if self.lag:
            current = [{name: t.clone() for name, t in state.items()} for state in current]
        recent = {old: state for old, state in self._versions.items() if old >= version - self.lag}
        # At once: somebody may look up an older one meanwhile.
        self._versions = {**recent, version: current}
        if self.actor.device.type == "cuda":
            # Workers have streams of their own, which do not wait for the learner's.
            torch.cuda.current_stream(self.actor.device).synchronize()

    def weights(self, version: int) -> Weights:
        """Return the weights of `version`, one of the last."""
        return self._versions[version]

    def close(self) -> None:
        self._versions = {}


class Inline:
    """A worker that works when its answer is wanted."""

    def __init__(self, do: Do) -> None:
        self._do, self._crew = do, CollectWorker()
        self._requests: deque[tuple[str, Any]] = deque()

    def ask(self, method: str, argument: Any) -> None:
        self._requests.append((method, argument))

    def answer(self) -> Any:
        return self._do(self._crew, *self._requests.popleft())

    def let_go(self) -> None:
        self._requests.clear()
        self._crew.close()

    def end(self, last: float) -> None:
        pass


class Threaded:
    """A worker in a thread."""

    def __init__(self, do: Do) -> None:
        self._requests: SimpleQueue[tuple[str, Any] | None] = SimpleQueue()
        self._answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self._gone = False
        # One that hangs in a game must not keep the whole program from ending.
        self._thread = threading.Thread(target=self._work, args=(do,), daemon=True)
        self._thread.start()

    def ask(self, method: str, argument: Any) -> None:
        self._requests.put((method, argument))

    def answer(self) -> Any:
        value, error = self._answers.get()
        if error is not None:
            raise error
        return value

    def let_go(self) -> None:
        self._gone = True
        self._requests.put(None)

    def end(self, last: float) -> None:
        self._thread.join(max(0.0, last - time.monotonic()))

    def _work(self, do: Do) -> None:
        crew = CollectWorker()
        # Autocast keeps converted weights for all threads together, and whoever leaves it last in
        # a thread drops them: the learner's too, who may be using them.
        with torch.autocast("cpu", enabled=False, cache_enabled=False):
            while (request := self._requests.get()) is not None and not self._gone:
                try:
                    self._answers.put((do(crew, *request), None))
                except BaseException as error:
                    self._answers.put((None, error))
            crew.close()


def launch_serial(plan: Plan) -> Launched:
    """Return workers that play one after another in the learner's thread."""
    return launch_here(plan, Inline)


def launch_threads(plan: Plan) -> Launched:
    """Return workers that play at once, in threads."""
    return launch_here(plan, Threaded)


def launch_here(plan: Plan, kind: Callable[[Do], Inline | Threaded]) -> Launched:
    """Return workers of `kind`, which read the learner's weights where they are."""
    published = Published(plan.actor, plan.lag)

    def do(worker: CollectWorker, method: str, argument: Any) -> Any:
        if method == "collect":
            weights = published.weights(argument.version)
            return worker.collect(argument, weights, sends=plan.sends)
        return getattr(worker, method)(argument)

    return Launched(published, [kind(do) for _ in range(plan.workers)])
