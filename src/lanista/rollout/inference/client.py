"""An actor whose networks are elsewhere: workers ask, one `InferenceServer` answers all of them.

Rows go out and choices come back through shared memory; the pipe says only that they lie there.
Knows nothing of networks, and nothing of who else asks.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games.contract import Decisions
from lanista.rollout.inference.actor import Choice
from lanista.rollout.launchers.shared_memory import Arrays, Inbox, Outbox
from lanista.rollout.timing import BATCH, WAIT, Phases

CHOOSE, REST, MEMORY, RESTORE = "choose", "rest", "memory", "restore"
COLUMNS = ("slot", "seat", "match", "turn", "observation", "mask")
"""What of a decision is sent."""
PRIVILEGED = "privileged"


class Note(NamedTuple):
    """What is asked, beside the arrays."""

    kind: str
    version: int = 0
    """Which weights are to answer."""
    temperature: float = 1.0
    log_probs: bool = False
    """Those of all choices are wanted too."""
    sent_at: float = 0.0
    """When, on the clock that all processes of a machine share."""
    latency: float | None = None
    """Seconds that the answer before took to come; None: it was told already."""


class RemoteActor:
    """Has the calls of an `Actor` that a collector needs."""

    def __init__(self, pipe: Connection, *, log_probs: bool = False) -> None:
        """Ask over `pipe`, of `InferenceServer.attach`; for `log_probs` only where they are kept.

        They are many numbers in a game of many choices.
        """
        self.phases = Phases()
        """Where the time goes of whoever plays with this actor."""
        self.temperature = 1.0
        self.version = 0
        """Which weights are to answer, as the central side numbers them."""
        self.log_probs = log_probs
        self._pipe = pipe
        self._inbox, self._outbox = Inbox(pipe), Outbox(pipe, slots=1)
        self._latency: float | None = None

    def begin(
        self, decisions: Decisions, rows: NDArray[Any], privileged: NDArray[Any] | None = None
    ) -> Callable[[], Choice]:
        """Return what chooses as `choose` does."""
        return partial(self.choose, decisions, rows, privileged)

    def choose(
        self,
        decisions: Decisions,
        rows: NDArray[Any],
        privileged: NDArray[Any] | None = None,
    ) -> Choice:
        """Choose at `rows` of `decisions`; `privileged` is what the critic may see there."""
        with self.phases(BATCH):
            columns = {name: getattr(decisions, name).take(rows, 0) for name in COLUMNS}
            if privileged is not None:
                columns[PRIVILEGED] = privileged
        began = time.monotonic()
        note = Note(CHOOSE, self.version, self.temperature, self.log_probs, began, self._latency)
        with self.phases(WAIT):
            answer = self._ask(columns, note)
        self._latency = time.monotonic() - began
        with self.phases(BATCH):  # The memory is written again at the next call.
            own = {name: array.copy() for name, array in answer.items()}
        log_probs = own.get("log_probs", _not_asked)
        return Choice(own["action"], own["log_prob"], log_probs, own.get("value"), own.get("state"))

    def rest(self) -> None:
        """Tell that nothing is played for now, so that nobody waits for this worker's rows."""
        with contextlib.suppress(OSError):  # That nobody is there is told when it matters.
            self._outbox.send({}, Note(REST, latency=self._latency))
        self._latency = None

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return the recurrent states of this worker's matches, as arrays; none: empty."""
        return {name: array.copy() for name, array in self._ask({}, Note(MEMORY)).items()}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `memory` gave."""
        self._ask(memory, Note(RESTORE))

    def close(self) -> None:
        """Let go of the pipe and the memory."""
        self._pipe.close()
        self._inbox.close()
        self._outbox.close()

    def _ask(self, arrays: Arrays, note: Note) -> dict[str, NDArray[Any]]:
        try:
            self._outbox.send(arrays, note)
            answer, failure = self._inbox.receive()
        except (EOFError, OSError) as error:
            raise LanistaError(
                "Whoever chooses for this worker's matches is gone (rollouts.inference central); "
                "resume the run."
            ) from error
        if failure is not None:
            raise LanistaError(failure)
        return answer


def _not_asked() -> NDArray[np.float32]:
    raise ValueError("Log-probabilities of all choices were not asked for; say log_probs=True.")
