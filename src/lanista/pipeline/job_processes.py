"""Where the processes of an experiment's runs are started: here, or on the machines of a cluster.

A run is a command that ends with whoever started it and can be gone on with, so a machine that is
lost costs what was done since its last checkpoint. Machines share the experiment's folder. Knows
nothing of what the commands do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lanista.cluster import session
from lanista.cluster.refusals import Refusals, checker, conditions
from lanista.cluster.tasks import LOOK, cores
from lanista.errors import LanistaError

LOST = -1000
"""The exit code of a process whose machine is gone."""


class Process(Protocol):
    """A command that runs, as `subprocess.Popen` has it."""

    returncode: int | None
    stdin: Any
    pid: int

    def poll(self) -> int | None: ...
    def wait(self) -> int | None: ...
    def kill(self) -> None: ...
    def send_signal(self, number: int) -> None: ...


Start = Callable[[Sequence[str], Path, Mapping[str, str], int], Process]
"""Starts a command with a log and an environment; the last is a handle that it inherits."""


@dataclass(frozen=True)
class Starter:
    """Starts processes somewhere."""

    start: Start
    at_once: int


def start_here(
    command: Sequence[str], log: Path, environment: Mapping[str, str], lock: int
) -> Process:
    """Start a command in a process of this machine that ends with this one."""
    with log.open("ab") as file:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            # Ctrl-C is passed on once, by us; a terminal would send it to everybody.
            start_new_session=True,
            pass_fds=(lock,),
        )


def starter_of(threads: int) -> Starter:
    """Return who starts runs of so many threads: as `--cluster` says."""
    if session.address() is None:
        return Starter(start_here, cores())
    ray = session.connect()
    machines, refusals = session.machines(ray).values(), Refusals(ray)
    at_once = sum(int(machine["cpus"]) // threads for machine in machines)

    def start(
        command: Sequence[str], log: Path, environment: Mapping[str, str], lock: int
    ) -> Process:
        return ClusterProcess(ray, refusals, threads, command, log.absolute(), environment)

    return Starter(start, max(1, at_once))


class ClusterProcess:
    """A command on some machine of a cluster, which Ray chooses among those not refused."""

    stdin = None
    pid = 0

    def __init__(
        self,
        ray: Any,
        refusals: Refusals,
        threads: int,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
    ) -> None:
        self._ray, self._refusals, self._threads = ray, refusals, threads
        own = {name: value for name, value in environment.items() if _is_ours(name)}
        self._command = (list(command), str(log), own)
        self._needed = conditions(own)
        self._signalled: list[int] = []
        self.returncode: int | None = None
        self._begin()

    def poll(self) -> int | None:
        if self.returncode is None:
            self._look(0.0)
        return self.returncode

    def wait(self) -> int | None:
        while self.returncode is None:
            self._look(LOOK)
        return self.returncode

    def _begin(self) -> None:
        kind = self._ray.remote(num_cpus=self._threads, max_restarts=0, max_concurrency=2)
        chosen = kind(_shipped()).options(**self._refusals.options)
        self._runner = chosen.remote(self._needed, str(Path.cwd()))
        self._placed = self._runner.placed.remote()
        self._answer = self._runner.run.remote(*self._command)
        for number in self._signalled:
            self._runner.signal.remote(number)

    def _look(self, seconds: float) -> None:
        """Wait so long for the command's end; where a machine is refused, begin it on another."""
        if not self._ray.wait([self._answer], timeout=seconds)[0]:
            if not self._ray.wait([self._placed], timeout=0)[0]:  # It may wait for a machine.
                self._refusals.require_others()
            return
        machine, refusal, self.returncode = self._ended()
        self._ray.kill(self._runner)
        if refusal:
            self._refusals.add(machine, refusal)
            self.returncode = None
            self._begin()

    def _ended(self) -> tuple[str, str, int]:
        """Return the machine, why it is refused, and otherwise the exit code."""
        from ray.exceptions import RayActorError, RayTaskError

        try:
            answer: tuple[str, str, int] = self._ray.get(self._answer)
            return answer
        except RayTaskError as error:
            raise LanistaError(str(error.cause)) from None
        except RayActorError as error:
            if (raised := session.raised_at_start(error)) is not None:
                raise LanistaError(str(raised) or type(raised).__name__) from None
            return "", "", LOST

    def kill(self) -> None:
        self._ray.kill(self._runner)

    def send_signal(self, number: int) -> None:
        self._signalled.append(int(number))
        self._runner.signal.remote(int(number))


def _shipped() -> type[Any]:
    """Return the actor that runs one command on a machine that meets the conditions.

    Ray carries a class that was made in a function by value; see `checker`.
    """
    check = checker()

    class Runner:
        """Runs one command, or says why its machine is refused."""

        def __init__(self, needed: bytes, folder: str) -> None:
            self.machine, self.refusal = check(needed)
            if not self.refusal:
                from lanista.pipeline.job_processes import CommandRunner

                self.commands = CommandRunner(folder)

        def placed(self) -> None:
            """Answer as soon as it is on a machine."""

        def run(self, *command: Any) -> tuple[str, str, int]:
            code = LOST if self.refusal else self.commands.run(*command)
            return self.machine, self.refusal, code

        def signal(self, number: int) -> None:
            if not self.refusal:
                self.commands.signal(number)

    return Runner


class CommandRunner:
    """Runs one command on its machine, in an actor of Ray."""

    def __init__(self, folder: str) -> None:
        os.chdir(folder)
        self._process: subprocess.Popen[bytes] | None = None
        self._signalled: list[int] = []
        self._started = threading.Lock()

    def run(self, command: Sequence[str], log: str, environment: Mapping[str, str]) -> int:
        """Run a command of this machine's Python to its end; return its exit code."""
        import fcntl

        with Path(log).open("ab") as file:
            # Of a machine that was lost for a while: two must not work on one run.
            fcntl.lockf(file, fcntl.LOCK_EX)
            with self._started:
                self._process = subprocess.Popen(
                    [sys.executable, *command[1:]],
                    stdin=subprocess.PIPE,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **environment},
                    start_new_session=True,
                )
                for number in self._signalled:
                    self._process.send_signal(number)
            return self._process.wait()

    def signal(self, number: int) -> None:
        """Pass a signal on."""
        with self._started:
            if self._process is None:
                self._signalled.append(signal.Signals(number))
            else:
                self._process.send_signal(number)


def _is_ours(name: str) -> bool:
    own = name.startswith("LANISTA_") and name != session.CLUSTER
    return own or name in ("PYTHONUNBUFFERED", "OMP_NUM_THREADS")
