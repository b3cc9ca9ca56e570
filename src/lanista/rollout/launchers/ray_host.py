"""The actor that every machine of a cluster has: it hosts workers, and hands on what they played.

Workers are those of the launchers `processes` and `threads`; inside a machine everything goes
through its memory. What they answer leaves in pieces of about a megabyte: a streaming call whose
consumer must keep up, or the workers wait. Where they are processes, torch is theirs alone: without
it an actor starts in half the time. Knows nothing of other machines and of chunks' order.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lanista.cluster.identity import Identity, identity, stamp
from lanista.data.trajectory import from_arrays, to_arrays
from lanista.errors import LanistaError
from lanista.games import trust
from lanista.rollout.chunks import MachineError, Make, Played, Sealed
from lanista.rollout.launchers.plan import PATIENCE, Message, Worker
from lanista.rollout.launchers.processes import SharedWeights, WorkerProcess, warm_up
from lanista.rollout.launchers.ray_shard import ShardState

if TYPE_CHECKING:
    from lanista.rollout.chunks import Weights
    from lanista.rollout.collect_worker import CollectWorker
    from lanista.rollout.collector import Seating

PIECE = 1 << 20
"""Bytes from which on a piece leaves at once."""
WAIT = 0.02
"""Seconds that an answer waits at most for others to share a piece with."""
ROOM = 1 << 26
"""Bytes of answers that lie here at most; with more, the workers wait."""
QUEUE = 2
"""Pieces that have left and were not fetched, at most; with more, none leaves."""

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Question:
    """Something that a shard is asked."""

    shard: int
    ticket: int
    method: str
    argument: Any
    weights: int | None = None
    """The version that a chunk is played with."""


@dataclass(frozen=True)
class Company:
    """Opponents and who sits where, with references to what makes the opponents."""

    makes: Sequence[Sequence[Any]]
    """Each in a list of its own, or Ray would fetch it before it is wanted."""
    seating: Sealed[Seating]


@dataclass(frozen=True)
class Answer:
    """What a shard answered; the ticket is the question's."""

    shard: int
    ticket: int
    fine: bool
    value: Any
    seconds: float
    """How long it took."""

    @property
    def size(self) -> int:
        """Bytes, of a chunk's arrays."""
        return self.value.size if isinstance(self.value, Chunk) else 0


@dataclass(frozen=True)
class Chunk:
    """A chunk that was played, as arrays that an object store holds without copying them again."""

    arrays: Arrays
    ended: Arrays
    rest: tuple[Any, ...]

    @classmethod
    def of(cls, played: Played) -> Chunk:
        rest = (played.next_match, dict(played.wall), dict(played.cpu), played.cpu_seconds)
        return cls(to_arrays(played.unrolls), dict(played.ended), (*rest, played.measured))

    def played(self) -> Played:
        """Return it in memory of its own: the object store's is given back, and read-only."""
        own = {name: np.array(array) for name, array in self.arrays.items()}
        ended = {name: np.array(array) for name, array in self.ended.items()}
        return Played(from_arrays(own), ended, *self.rest)

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in (*self.arrays.values(), *self.ended.values()))


class Outgoing:
    """Answers on their way out, joined into pieces; whoever adds to a full one waits."""

    def __init__(self, room: int = ROOM, piece: int = PIECE, wait: float = WAIT) -> None:
        self._room, self._piece, self._wait = room, piece, wait
        self._answers: deque[tuple[float, Answer]] = deque()
        self._bytes = 0
        self._working = 0
        self._closed = False
        self._changed = threading.Condition()

    def begin(self) -> None:
        """Note that an answer is being worked on."""
        with self._changed:
            self._working += 1

    def put(self, answer: Answer) -> None:
        """Add an answer that was begun; wait while there is no room."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or not self._answers or self._bytes < self._room
            )
            self._working -= 1
            self._answers.append((time.monotonic(), answer))
            self._bytes += answer.size
            self._changed.notify_all()

    def take(self) -> list[Answer]:
        """Wait for a piece; an empty one: it was closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._answers)
            while not (self._closed or self._bytes >= self._piece or not self._working):
                left = self._answers[0][0] + self._wait - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            answers = [answer for _, answer in self._answers]
            self._answers.clear()
            self._bytes = 0
            self._changed.notify_all()
            return answers

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class HostedWeights:
    """The versions that this machine's workers may be asked to play with."""

    def __init__(self, lag: int, *, processes: bool) -> None:
        self._lag, self._processes = lag, processes
        self._arrays: dict[int, Arrays] = {}
        self._latest: Arrays = {}
        self._lock = threading.Lock()
        self.shared: SharedWeights | None = None

    def take(self, version: int, arrays: Arrays) -> None:
        """Keep a version, and let those go that nobody needs any more."""
        with self._lock:
            if version in self._arrays:
                return
            self._latest = arrays
            newest = max([version, *self._arrays])
            recent = {old: kept for old, kept in self._arrays.items() if old >= newest - self._lag}
            self._arrays = {**recent, version: arrays}
            if self._processes:
                if self.shared is None:
                    self.shared = SharedWeights(lambda: self._latest, self._lag)
                self.shared.publish(version)

    def weights(self, version: int) -> Weights:
        """Return a version for workers in this process."""
        from lanista.rollout.launchers.weight_arrays import weights_from

        return weights_from(self._arrays[version])

    def close(self) -> None:
        if self.shared is not None:
            self.shared.close()


class Shard:
    """One worker of this machine, and the thread that asks it."""

    def __init__(self, host: Host, number: int) -> None:
        self._host, self.number = host, number
        self._questions: SimpleQueue[Question | None] = SimpleQueue()
        self._state = ShardState()
        self._worker: Worker | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def ask(self, question: Question) -> None:
        self._host.outgoing.begin()
        self._questions.put(question)

    def let_go(self) -> None:
        self._questions.put(None)

    def _work(self) -> None:
        with self._host.playing():
            while (question := self._questions.get()) is not None:
                began = time.monotonic()
                fine, value = self._answer(question)
                seconds = time.monotonic() - began
                answer = Answer(self.number, question.ticket, fine, value, seconds)
                self._host.outgoing.put(answer)
            if self._worker is not None:
                self._worker.let_go()
                self._worker.end(time.monotonic() + PATIENCE)

    def _answer(self, question: Question) -> tuple[bool, Any]:
        try:
            if self._worker is None:
                self._worker = self._host.worker(self._state.messages)
            self._worker.ask(question.method, question.argument)
            value = self._worker.answer()
            self._state.answered(question.method, question.argument, value)
            return True, Chunk.of(value) if question.method == "collect" else value
        except LanistaError as error:
            return False, (type(error), str(error))
        except OSError as error:
            return False, (MachineError, f"{type(error).__name__}: {error}")
        except Exception:
            return False, (LanistaError, f"A machine's worker failed: {traceback.format_exc()}")


class Host:
    """What runs on a machine of the cluster, as an actor of Ray."""

    def __init__(
        self, lag: int, kind: str, environment: Mapping[str, str], preload: Sequence[str] = ()
    ) -> None:
        """`kind`: processes or threads. `environment`: what the driver's commands may do.

        `preload`: modules that every worker needs.
        """
        os.environ.update(environment)
        trust.inherit()
        self._lag, self._kind, self._preload = lag, kind, preload
        self._weights = HostedWeights(lag, processes=kind == "processes")
        self._shards: dict[int, Shard] = {}
        self._notices: deque[str] = deque()
        self._references: tuple[Any, ...] | None = None
        self._makes: Sequence[Sealed[Make]] = ()
        self.outgoing = Outgoing()
        if kind == "threads":
            import torch

            torch.set_num_threads(1)
        else:
            # Every worker would run the file of Ray's program first, which imports all of Ray.
            vars(sys.modules["__main__"]).pop("__file__", None)

    def identity(self, accepted: str = "") -> tuple[Identity | None, str, int]:
        """Return what runs here, its stamp, and the id of this process.

        `accepted`: the stamp of an actor of this machine that was compared; with the same one there
        is nothing to compare. The first worker is there at once then: a shard that moves here keeps
        the others waiting.
        """
        if self._kind == "processes":
            warm_up(self._preload)
        present = stamp()
        return None if present == accepted else identity(), present, os.getpid()

    def ask(self, questions: Sequence[Question], weights: Mapping[int, Any]) -> None:
        """Ask shards, in this order; `weights`: versions that are played with, see RayWeights.

        Nobody fetches what this call returns, so what fails is answered like a question.
        """
        waiting = deque(questions)
        try:
            self._take(weights)
            while waiting:
                self._hand_on(waiting[0])
                waiting.popleft()
        except Exception as error:
            reason = MachineError, f"{type(error).__name__}: {error}"
            for question in waiting:
                self.outgoing.begin()
                self.outgoing.put(Answer(question.shard, question.ticket, False, reason, 0.0))

    def _take(self, weights: Mapping[int, Any]) -> None:
        for version, sent in weights.items():
            self._weights.take(version, _fetched(sent[0]) if isinstance(sent, list) else sent)

    def _hand_on(self, question: Question) -> None:
        if question.method == "leave":
            if (shard := self._shards.pop(question.shard, None)) is not None:
                shard.let_go()
            return
        if isinstance(question.argument, Company):
            question = replace(question, argument=self._company(question.argument))
        if question.shard not in self._shards:
            self._shards[question.shard] = Shard(self, question.shard)
        self._shards[question.shard].ask(question)

    def pieces(self) -> Iterator[tuple[list[Answer], list[str]]]:
        """Give what the shards answer, in pieces, until it is closed; a long call of Ray's."""
        while piece := self.outgoing.take():
            yield piece, [self._notices.popleft() for _ in range(len(self._notices))]

    def close(self) -> None:
        """Let all shards go."""
        for shard in self._shards.values():
            shard.let_go()
        self._shards = {}
        self.outgoing.close()
        self._weights.close()

    def worker(self, restart_messages: Any) -> Worker:
        """Return a worker of this machine."""
        if self._kind == "threads":
            from lanista.rollout.launchers.in_process import Inline

            return Inline(self._do)
        shared = self._weights.shared

        def again() -> list[Message]:
            return list(restart_messages())

        notify, preload = self._notices.append, self._preload
        return WorkerProcess(self._lag + 1, again, notify, shared=shared, preload=preload)

    def playing(self) -> contextlib.AbstractContextManager[object]:
        """Return what a thread is in that asks a worker."""
        if self._kind == "processes":
            return contextlib.nullcontext()
        import torch

        # As in a thread of the launcher `threads`: autocast's cache belongs to all threads.
        return torch.autocast("cpu", enabled=False, cache_enabled=False)

    def _company(self, company: Company) -> tuple[Sequence[Sealed[Make]], Sealed[Seating]]:
        """Return opponents as workers are told of them; all shards get the same objects."""
        key = tuple(reference for (reference,) in company.makes)
        if key != self._references:
            self._references, self._makes = key, _fetched(list(key))
        return self._makes, company.seating

    def _do(self, worker: CollectWorker, method: str, argument: Any) -> Any:
        if method == "collect":
            return worker.collect(argument, self._weights.weights(argument.version))
        return getattr(worker, method)(argument)


def _fetched(references: Any) -> Any:
    import ray

    return ray.get(references)


def hosted(ray: Any) -> type[Host]:
    """Return the class of the actors, with what Ray must know of its methods."""

    class RayHost(Host):
        """A machine's host."""

        identity = ray.method(concurrency_group="asked")(Host.identity)
        ask = ray.method(concurrency_group="asked")(Host.ask)
        close = ray.method(concurrency_group="asked")(Host.close)
        pieces = ray.method(
            concurrency_group="pieces",
            num_returns="streaming",
            _generator_backpressure_num_objects=QUEUE,
        )(Host.pieces)

    return RayHost
