"""Work in tasks: a function and its arguments, in processes of this machine or on a cluster.

Results are those of a plain loop, in the order of the arguments; only when each is ready differs. A
task whose process dies is done again. A task must be a function that other processes can import,
and reads and writes files by their path: machines share a folder. Knows nothing of what is done.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

from lanista.cluster import session
from lanista.cluster.refusals import Refusals, checker, conditions
from lanista.errors import LanistaError, UnfitMachineError
from lanista.games import trust

MOST_DEATHS = 5
"""How often the processes of a task may die before it is given up."""
LOOK = 0.5
"""Seconds between two looks at whether to stop."""
Work = Callable[..., Any]
Stop = Callable[[], bool]
Answer = tuple[str, str, bytes]
"""A machine, why it does not do a task, and otherwise the task's result."""


class Tasks(Protocol):
    """Somebody who does tasks."""

    at_once: int
    """How many are done at the same time, as far as is known."""

    def each(
        self, work: Work, arguments: Sequence[tuple[Any, ...]], stop: Stop | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Do `work` with each of the arguments; give the number and the result as they come.

        A failure is raised when it is noticed, and what is under way then is left; so it is when
        `stop()` comes true.
        """

    def close(self) -> None:
        """End what was started."""


def wanted() -> bool:
    """Return whether `--cluster` asks for tasks: on a cluster, or in processes of this machine."""
    return bool(os.environ.get(session.CLUSTER))


@contextmanager
def tasks(at_once: int = 0) -> Iterator[Tasks]:
    """Give somebody who does tasks where `--cluster` says; `at_once` 0: as many as cores."""
    doer: Tasks = LocalTasks(at_once) if session.address() is None else RayTasks()
    try:
        yield doer
    finally:
        doer.close()


def in_order(doer: Tasks, work: Work, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return all results in the order of the arguments."""
    results: dict[int, Any] = dict(doer.each(work, arguments))
    return [results[number] for number in range(len(arguments))]


class LocalTasks:
    """Tasks in processes of this machine."""

    def __init__(self, at_once: int = 0) -> None:
        self.at_once = at_once or cores()
        self._pool: ProcessPoolExecutor | None = None

    def each(
        self, work: Work, arguments: Sequence[tuple[Any, ...]], stop: Stop | None = None
    ) -> Iterator[tuple[int, Any]]:
        waiting = list(range(len(arguments)))[::-1]
        under_way: dict[Future[Any], int] = {}
        deaths = dict.fromkeys(waiting, 0)
        while waiting or under_way:
            while waiting and len(under_way) < self.at_once:
                number = waiting.pop()
                under_way[self._submit(work, arguments[number])] = number
            done, _ = wait(under_way, LOOK, return_when=FIRST_COMPLETED)
            if stop is not None and stop():
                self.close()
                return
            broken = []
            for future in done:
                number = under_way.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    broken.append(number)
                    continue
                yield number, result
            if broken:
                # One that died takes all others of the pool along.
                again = sorted([*broken, *under_way.values()], reverse=True)
                under_way = {}
                self.close()
                _count_deaths(deaths, again)
                waiting += again

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        processes = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:  # What they do can be done again; nobody waits for it.
            process.kill()
        for process in processes:
            process.join()

    def _submit(self, work: Work, arguments: tuple[Any, ...]) -> Future[Any]:
        if self._pool is None:
            context = get_context("forkserver")
            context.set_forkserver_preload([__name__])
            self._pool = ProcessPoolExecutor(
                self.at_once, mp_context=context, initializer=_leave_interrupts_to_the_driver
            )
        return self._pool.submit(_done, work, arguments, str(Path.cwd()), session.own_environment())


class RayTasks:
    """Tasks of Ray on the machines of a cluster, a core each.

    What a machine that is refused was to do is done elsewhere.
    """

    def __init__(self) -> None:
        self._ray = session.connect()
        self._refusals = Refusals(self._ray)
        self._under_way: dict[Any, int] = {}
        machines = session.machines(self._ray).values()
        self.at_once = max(1, int(sum(machine["cpus"] for machine in machines)))

    def each(
        self, work: Work, arguments: Sequence[tuple[Any, ...]], stop: Stop | None = None
    ) -> Iterator[tuple[int, Any]]:
        remote = self._ray.remote(num_cpus=1, max_retries=MOST_DEATHS)(_shipped())
        where, needed = (str(Path.cwd()), session.own_environment()), conditions({})
        waiting = list(range(len(arguments)))[::-1]
        while waiting or self._under_way:
            # Not all at once: arguments and results would fill the object store.
            while waiting and len(self._under_way) < 2 * self.at_once:
                number = waiting.pop()
                # Sealed also for Ray, whose arrays could be read but not written.
                sealed = pickle.dumps((work, arguments[number], *where))
                chosen = remote.options(**self._refusals.options)
                self._under_way[chosen.remote(needed, sealed)] = number
            done, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=LOOK)
            if stop is not None and stop():
                self.close()
                return
            for reference in done:
                number = self._under_way.pop(reference)
                machine, refusal, result = self._answer(reference)
                if refusal:
                    self._refusals.add(machine, refusal)
                    waiting.append(number)
                else:
                    yield number, pickle.loads(result)
            if waiting or self._under_way:
                self._refusals.require_others()

    def close(self) -> None:
        for reference in self._under_way:
            self._ray.cancel(reference, force=True)
        self._under_way = {}

    def _answer(self, reference: Any) -> Answer:
        from ray.exceptions import RayError, RayTaskError

        try:
            answer: Answer = self._ray.get(reference)
            return answer
        except RayTaskError as error:
            cause = error.cause
            raise (cause if isinstance(cause, LanistaError) else LanistaError(str(error))) from None
        except RayError as error:
            first = str(error).strip().splitlines()[0]
            raise LanistaError(
                f"A task was lost {MOST_DEATHS + 1} times ({type(error).__name__}: {first}); see "
                "to the machines, and run the command again."
            ) from error


def _shipped() -> Callable[[bytes, bytes], Answer]:
    """Return what does a task of Ray on a machine that meets the conditions; see `checker`."""
    check = checker()

    def do(needed: bytes, sealed: bytes) -> Answer:
        machine, refusal = check(needed)
        if refusal:
            return machine, refusal, b""
        from lanista.cluster.tasks import opened

        return machine, *opened(sealed)

    return do


def opened(sealed: bytes) -> tuple[str, bytes]:
    """Do a task of Ray; return why this machine cannot, or the result."""
    try:
        return "", pickle.dumps(_done(*pickle.loads(sealed)))
    except UnfitMachineError as error:
        return str(error), b""


def _done(work: Work, arguments: tuple[Any, ...], folder: str, environment: dict[str, str]) -> Any:
    """Do a task in a process of its own, as the driver would."""
    os.chdir(folder)
    os.environ.update(environment)
    os.environ.pop(session.CLUSTER, None)  # A task has no tasks of its own.
    trust.inherit()
    _one_thread()
    return work(*arguments)


def _leave_interrupts_to_the_driver() -> None:
    """Ignore the terminal's Ctrl-C, which reaches every process of a command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _one_thread() -> None:
    """Let a task have one core; torch reads the environment when it is imported."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


def _count_deaths(deaths: dict[int, int], numbers: Sequence[int]) -> None:
    for number in numbers:
        deaths[number] += 1
        if deaths[number] > MOST_DEATHS:
            raise LanistaError(
                f"The processes of task {number + 1} died {deaths[number]} times; often there is "
                "too little memory for so many at once."
            )


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
