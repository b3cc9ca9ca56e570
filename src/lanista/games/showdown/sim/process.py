"""One Node worker: started, asked, ended.

Sends a JSON line, reads a JSON line. A worker that is gone raises `WorkerGoneError`; what its
battles mean to anybody is decided elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from lanista.games.contract import GameError
from lanista.games.showdown.install import find, find_node

SCRIPT = Path(__file__).parents[1] / "worker.mjs"
YOUNG = "--max-semi-space-size=64"
"""Megabytes for what Node has just made, four times its usual: garbage is collected less often."""


class WorkerGoneError(Exception):
    """The worker's process has ended."""


class Worker:
    """A Node process that answers every line with a line.

    It ends when its standard input does, so a killed parent leaves nothing behind.
    """

    def __init__(self, *, plain: bool = False) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115, it lives as long as the worker.
        command = [find_node(), YOUNG, str(SCRIPT), str(find())]
        # A session of its own: a signal to all processes of a run would end its battles.
        self.process = subprocess.Popen(
            [*command, "plain"] if plain else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
        )
        try:
            self.about = self.receive()
        except WorkerGoneError as error:
            self.close()
            raise GameError(f"The Showdown worker could not be started: {error}") from error

    def send(self, message: dict[str, Any]) -> None:
        """Write one message; its answer must be received before the next is sent."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise WorkerGoneError(self._last_words()) from error

    def receive(self) -> dict[str, Any]:
        """Return the answer to the message sent last."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise WorkerGoneError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise GameError(f"The Showdown worker refused a command: {answer['error']}")
        return answer

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send and receive."""
        self.send(message)
        return self.receive()

    def close(self) -> None:
        """End the process; a second call does nothing."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # Gone before it had read everything.
                    stream.close()
        self.process.kill()
        self.process.wait()
        self.errors.close()

    def _last_words(self) -> str:
        code = self.process.wait()
        self.errors.seek(0)
        lines = [line for line in self.errors.read().decode(errors="replace").splitlines() if line]
        words = [line.strip() for line in lines if "Error" in line] or lines[-1:]
        return f"it ended with code {code}" + (f" ({words[0]})" if words else "")
