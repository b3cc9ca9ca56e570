"""Workers of a fleet in processes of their own, started again when they die.

Weights and unrolls go through shared memory without a name, so nothing is left behind however a
process ends. This is their parent's half, which needs no torch; theirs is `process_worker`. Knows
nothing of chunks and lag.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from lanista.data.trajectory import Unrolls, from_arrays
from lanista.errors import LanistaError
from lanista.rollout.chunks import Line, Played
from lanista.rollout.launchers.plan import PATIENCE, Launched, Message, Plan
from lanista.rollout.launchers.restarts import Restarts
from lanista.rollout.launchers.shared_memory import (
    Inbox,
    Pins,
    Segment,
    needed,
    write,
)

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext

NOT_THEIRS = (signal.SIGINT, signal.SIGTERM)
"""Sent to all processes of a run at once; only the parent knows what must be saved first."""
_WORK = "lanista.rollout.launchers.process_worker"
ENDED = "ended:"
"""What the names of a chunk's ended matches begin with, beside its unrolls."""


class WorkerError(LanistaError):
    """A process that plays dies again and again; what was saved is good."""

    exit_code = 1


class ChunkTaker(Pins, Protocol):
    """Takes chunks out of shared memory, and keeps that memory so that it can."""

    def taken(self, unrolls: Unrolls) -> Unrolls:
        """Return the same unrolls elsewhere; their memory may be written again afterwards."""


class SharedWeights:
    """The weights of the last updates, where processes can read them."""

    def __init__(self, arrays_now: Callable[[], Mapping[str, NDArray[Any]]], lag: int) -> None:
        """Keep what `arrays_now` gives at each `publish`, named as by `arrays_of`."""
        self._arrays_now = arrays_now
        arrays = arrays_now()
        self.segments = [Segment.create(needed(arrays)) for _ in range(lag + 1)]
        self.layout = write(self.segments[0], arrays)

    def publish(self, version: int) -> None:
        """Keep the weights as they are now for the orders that name `version`.

        They take the place of those that nobody needs any more.
        """
        write(self.segments[version % len(self.segments)], self._arrays_now())

    def close(self) -> None:
        for segment in self.segments:
            segment.close()


class WorkerProcess:
    """One process, as its parent sees it."""

    def __init__(
        self,
        slots: int,
        again: Callable[[], Sequence[Message]],
        say: Callable[[str], None],
        *,
        shared: SharedWeights | None = None,
        attach: Callable[[], Connection] | None = None,
        taker: ChunkTaker | None = None,
        preload: Sequence[str] = (),
    ) -> None:
        """Start a process that may be `slots` chunks ahead of what is fetched.

        `again` gives what a process must be told that takes a dead one's place. It plays with the
        `shared` weights, or asks somebody for its choices over what `attach` gives. `taker` takes
        chunks out of the memory they lie in; without one they are copied. `preload`: modules that
        it needs.
        """
        self._slots, self._again, self._say, self._taker = slots, again, say, taker
        self._shared, self._attach, self._preload = shared, attach, preload
        self._requests: deque[Message] = deque()
        """What was asked and not answered, the oldest first."""
        self._restarts = Restarts()
        self._open()

    def ask(self, method: str, argument: Any) -> None:
        self._requests.append((method, argument))
        self._send(method, argument)

    def answer(self) -> Any:
        while True:
            try:
                arrays, (fine, value) = self._inbox.receive()
            except (EOFError, OSError):
                self._begin_again()
                continue
            method, _ = self._requests.popleft()
            if not fine:
                kind, message = value
                raise kind(message)
            if method != "collect":
                return value
            self._restarts.delivered()
            return _chunk(arrays, value, self._taker)

    def let_go(self) -> None:
        self.pipe.close()

    def end(self, last: float) -> None:
        """Wait until `last` on the clock, then end what still plays."""
        self.process.join(max(0.0, last - time.monotonic()))
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self._inbox.close()

    def _open(self) -> None:
        # From a server with a fresh interpreter: nothing of this one's threads and devices comes
        # along, and who takes a dead one's place need not import torch again. What it is to build
        # it is told later: a long message would wait here for it to come up.
        context = _context(self._preload)
        self.pipe, its = context.Pipe()
        self._inbox = Inbox(self.pipe, self._taker)
        line = self._attach() if self._attach else None
        arguments = (its, line, self._slots, dict(os.environ))
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        with _held_back():
            self.process.start()
        its.close()
        if line is not None:
            line.close()  # So that its death is noticed.
        # At its exit Python waits for processes; one that heeds no SIGTERM must see the pipe close.
        Finalize(self, self.pipe.close, exitpriority=0)
        segments = self._shared.segments if self._shared else ()
        with contextlib.suppress(OSError):
            self.pipe.send((self._shared.layout if self._shared else (), len(segments)))
            for segment in segments:
                segment.send(self.pipe)

    def _send(self, method: str, argument: Any) -> None:
        # Whether it is gone is found out when its answer is waited for.
        with contextlib.suppress(OSError):
            self.pipe.send((method, argument))

    def _begin_again(self) -> None:
        """Start a process in the dead one's place and ask it what was not answered."""
        self._bury()
        time.sleep(self._restarts.pause)
        self._open()
        unanswered, self._requests = list(self._requests), deque()
        building = bool(unanswered) and unanswered[0][0] == "build"
        for method, argument in [] if building else self._again():
            self.ask(method, argument)
            self.answer()
        for method, argument in unanswered:
            self.ask(method, argument)

    def _bury(self) -> None:
        self.end(time.monotonic() + PATIENCE)
        self.pipe.close()
        code = self.process.exitcode
        self._restarts.ended(code)
        if self._restarts.hopeless:
            codes = self._restarts.codes
            raise WorkerError(
                f"A process that plays matches died {len(codes)} times without having played "
                f"anything, with the codes {', '.join(map(str, codes))}, and is given up; what was "
                "saved is good, so fix what its messages say (-9: often too little memory), and "
                "resume the run."
            )
        self._say(
            f"A process that plays matches ended with code {code} and was started again; the "
            "matches it had under way are restarted."
        )


def launch(plan: Plan) -> Launched:
    """Return workers in processes, with the weights in shared memory or with central inference."""
    from lanista.rollout.launchers.in_process import Published
    from lanista.rollout.launchers.weight_arrays import arrays_of

    if plan.desk is None:
        shared = SharedWeights(partial(arrays_of, plan.actor), plan.lag)
        launched = Launched(shared)
    else:
        shared, published = None, Published(plan.actor, plan.lag)
        launched = Launched(published, server=plan.desk.opened(plan.workers, published))
    server = launched.server
    taker = _taker(plan)
    try:
        for number in range(plan.workers):
            attach = partial(server.attach, number) if server else None
            again = partial(plan.restart_messages, number)
            process = WorkerProcess(
                plan.lag + 1,
                again,
                plan.notify,
                shared=shared,
                attach=attach,
                taker=taker,
                preload=plan.preload,
            )
            launched.workers.append(process)
    except BaseException:
        launched.close(PATIENCE)
        raise
    return launched


def _context(preload: Sequence[str]) -> ForkServerContext:
    """Return what starts processes from a server that has imported torch, and these modules."""
    context = get_context("forkserver")
    context.set_forkserver_preload([_WORK, *preload])
    return context


def warm_up(preload: Sequence[str] = ()) -> None:
    """Start the server that processes are forked from; wait until it has imported what they need.

    `preload`: modules beside those of every worker.
    """
    context = _context(preload)
    with _held_back():
        first = context.Process(target=_nothing, daemon=True)
        first.start()
    first.join()


def _nothing() -> None:
    pass


def _taker(plan: Plan) -> ChunkTaker | None:
    """Return what puts chunks on the learner's device, where they belong there."""
    if not plan.sends:
        return None
    from lanista.rollout.launchers.chunks_to_device import ChunksToDevice

    return ChunksToDevice(plan.actor.device)


def _chunk(
    arrays: dict[str, NDArray[Any]],
    rest: tuple[int, Any, Any, float, Any],
    taker: ChunkTaker | None,
) -> Played:
    """Return a chunk of its own: the shared memory will be written again."""
    ended = {
        name.removeprefix(ENDED): arrays.pop(name).copy()
        for name in list(arrays)
        if name.startswith(ENDED)
    }
    if taker is not None:
        return Played(taker.taken(from_arrays(arrays)), ended, *rest)
    return Played(from_arrays({k: v.copy() for k, v in arrays.items()}), ended, *rest)


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Hold signals back here and in processes started meanwhile, until those can ignore them."""
    resource_tracker.ensure_running()  # It would let them through when it is first started.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, NOT_THEIRS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection, line: Line, slots: int, environment: Mapping[str, str]) -> None:
    from lanista.rollout.launchers.process_worker import work

    work(pipe, line, slots, environment)
