"""Starts Python processes that have torch and most of the package imported already.

They are forked from one process that imported everything once, so a start costs milliseconds and
not seconds. `run` and `Popen` are used like those of `subprocess`. Not for tests of what a process
imports, of how much memory it takes, or of how it starts.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

PRELOADED = (
    "torch._dynamo",  # The first optimiser of a process imports it.
    "lanista.cli.main",
    "lanista.live.learner.background_learner",
    "lanista.live.learner.service",
    "lanista.pipeline.runner",
    "lanista.training.loop",
)
_STANDARD = 3
"""Handles that a process begins with."""


# In the tests.


class _Server:
    """The process that forks, and the way to ask it."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._socket, there = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(there.fileno())],
            pass_fds=[there.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        there.close()
        atexit.register(self.close)

    def ask(self, request: dict[str, Any], handles: list[int] | None = None) -> Any:
        with self._asking:
            if handles:
                socket.send_fds(self._socket, [b" "], handles)
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            answer, _ = _line(self._socket)
        return json.loads(answer)

    def close(self) -> None:
        self._socket.close()
        self.process.wait()


def _line(connection: socket.socket) -> tuple[bytes, list[int]]:
    """Return the next line, without its end, and the handles that came with it."""
    text, handles = b"", []
    while not text.endswith(b"\n"):
        more, with_it, *_ = socket.recv_fds(connection, 2**16, _STANDARD)
        if not more:
            raise EOFError
        text += more
        handles += with_it
    return text.strip(), handles


_started: list[_Server] = []


def server() -> _Server:
    """Return the process that forks; it is started when it is first needed."""
    if not _started:
        _started.append(_Server())
    return _started[0]


class _Forked(subprocess.Popen):  # type: ignore[type-arg]
    """A process that was forked by the server; only it can wait for it."""

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest):
        _, _, shell, *pipes = rest[:9]
        assert args[0] == sys.executable
        assert (shell, preexec_fn, pass_fds) == (False, None, ())
        request = {
            "words": [os.fspath(word) for word in args[1:]],
            "cwd": str(Path(cwd or ".").absolute()),
            "env": dict(os.environ if env is None else env),
            "new_session": rest[14],
        }
        ends = (pipes[0], pipes[3], pipes[5])
        handles = [own if end == -1 else end for own, end in enumerate(ends)]
        self.pid = server().ask(request, handles)
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _try_wait(self, wait_flags):
        while True:
            number, status = server().ask({"reap": self.pid})
            if number or wait_flags:
                return number, status
            time.sleep(0.002)

    def _internal_poll(self, *_, **__):
        with self._waitpid_lock:
            if self.returncode is None:
                number, status = self._try_wait(os.WNOHANG)
                if number == self.pid:
                    self._handle_exitstatus(status)
        return self.returncode


# Where lines are counted, every process must begin by itself to be counted for its test.
_PLAIN = sys.platform == "win32" or "COVERAGE_PROCESS_START" in os.environ
Popen = subprocess.Popen if _PLAIN else _Forked


def run(
    command: list[Any],
    *,
    input: Any = None,
    check: bool = False,
    timeout: float | None = None,
    capture_output: bool = False,
    **how: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run a command to its end."""
    if capture_output:
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        how["stdin"] = subprocess.PIPE
    with Popen(command, **how) as process:
        try:
            out, errors = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, errors)
    if check:
        done.check_returncode()
    return done


# In the process that forks.


def serve(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork and wait as asked until the tests end; return, in each child, what it was asked for."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()  # Else a child's first collection would copy every page of what it shares.
    while True:
        try:
            line, handles = _line(connection)
        except (EOFError, ConnectionResetError):
            os._exit(0)
        request = json.loads(line)
        answer: object
        if "reap" in request:
            answer = os.waitpid(request["reap"], os.WNOHANG)
        else:
            answer = os.fork()
            if not answer:
                connection.close()
                return request, handles
        for handle in handles:
            os.close(handle)
        connection.sendall(json.dumps(answer).encode() + b"\n")


def become(request: dict[str, Any], handles: list[int]) -> list[str]:
    """Make this process what a started one would be; return the words of its command."""
    for place, handle in enumerate(handles):
        os.dup2(handle, place)
        os.close(handle)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    if request["new_session"]:
        os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    buffering = 1 if os.environ.get("PYTHONUNBUFFERED") else -1
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", buffering, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # type: ignore[misc]  # noqa: SIM115
        2, "w", 1, errors="backslashreplace", closefd=False
    )
    words: list[str] = request["words"]
    return words


def perform(words: list[str]) -> None:
    """Do what `python WORDS` does."""
    if words[0] == "-c":
        sys.argv, sys.path[0] = ["-c", *words[2:]], ""
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(words[1], "<string>", "exec"), main.__dict__)
    elif words[0] == "-m":
        sys.argv, sys.path[0] = words[1:], str(Path.cwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = words, str(Path(words[0]).parent)
        runpy.run_path(words[0], run_name="__main__")


def end(request: dict[str, Any], handles: list[int]) -> None:
    """Do what was asked and end as an interpreter does, but for taking everything apart."""
    code: object = 1
    try:
        perform(become(request, handles))
        code = 0
    except SystemExit as leaving:
        code = leaving.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        if isinstance(error, KeyboardInterrupt):
            code = -signal.SIGINT
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code & 0xFF)  # type: ignore[operator]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end(*serve(socket.socket(fileno=int(sys.argv[1]))))
