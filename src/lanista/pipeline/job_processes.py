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
from lanista.cluster.identity import Identity, identity
from lanista.cluster.tasks import cores
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
    machines = session.machines(ray).values()
    at_once = sum(int(machine["cpus"]) // threads for machine in machines)

    def start(
        command: Sequence[str], log: Path, environment: Mapping[str, str], lock: int
    ) -> Process:
        return ClusterProcess(ray, threads, command, log.absolute(), environment)

    return Starter(start, max(1, at_once))


class ClusterProcess:
    """A command on some machine of a cluster, which Ray chooses."""

    stdin = None
    pid = 0

    def __init__(
        self,
        ray: Any,
        threads: int,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
    ) -> None:
        self._ray = ray
        kind = ray.remote(num_cpus=threads, max_restarts=0, max_concurrency=2)(CommandRunner)
        self._runner = kind.remote(identity(), str(Path.cwd()))
        own = {name: value for name, value in environment.items() if _is_ours(name)}
        self._code = self._runner.run.remote(list(command), str(log), own)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and self._ray.wait([self._code], timeout=0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int | None:
        from ray.exceptions import RayActorError, RayTaskError

        if self.returncode is None:
            try:
                self.returncode = int(self._ray.get(self._code))
            except RayTaskError as error:
                raise LanistaError(str(error.cause)) from None
            except RayActorError as error:
                if (raised := session.raised_at_start(error)) is not None:
                    raise LanistaError(str(raised) or type(raised).__name__) from None
                self.returncode = LOST
            self._ray.kill(self._runner)
        return self.returncode

    def kill(self) -> None:
        self._ray.kill(self._runner)

    def send_signal(self, number: int) -> None:
        self._runner.signal.remote(int(number))


class CommandRunner:
    """Runs one command on its machine; an actor of Ray."""

    def __init__(self, driver: Identity, folder: str) -> None:
        if refusal := driver.refusal(identity(), os.uname().nodename):
            raise LanistaError(refusal)
        if not Path(folder).is_dir():
            raise LanistaError(
                f"Machine {os.uname().nodename} has no folder {folder}; run the command in one "
                "that all machines share."
            )
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
