"""One real Showdown server on this machine: started, waited for, ended.

It is bound to 127.0.0.1, runs in a folder of its own and keeps its log there. Knows nothing of
players and battles.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from lanista.games.closing import Closing
from lanista.games.contract import GameError
from lanista.games.showdown.install import find, find_node
from lanista.games.showdown.local_servers.server_folder import ENVIRONMENT, lay_out
from lanista.lock import holding

SCRIPT = Path(__file__).parents[1] / "serve.mjs"
OFFLINE = Path(__file__).parents[1] / "offline.mjs"
HOST = "127.0.0.1"
PATH = "/showdown/websocket"
LOG = "server.log"
PATIENCE = 120.0
"""How many seconds a server may take to answer; five to eight are usual."""
_BETWEEN_LOOKS = 0.05
_LAST_PORT = 65535
# A websocket's opening, by hand: nothing else here needs a library for it.
_HELLO = (
    f"GET {PATH} HTTP/1.1\r\nHost: {HOST}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: bGFuaXN0YSBzaG93ZG93bg==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_GREETING = b"|challstr|"


class Server(Closing):
    """A Showdown server that answers from when this object is made until it is closed.

    It ends when our process does, however that ends: it watches its standard input.
    """

    def __init__(
        self,
        folder: Path | None = None,
        port: int = 0,
        *,
        keep_battles: bool = False,
        wait: bool = True,
    ) -> None:
        """Start a server in `folder` (a temporary one unless given) on `port` (0: a free one).

        `keep_battles` lets it write the challenges that end below `folder`/logs. Without `wait`
        call `wait` before the address is used; so several servers start at the same time.
        """
        refuse_unready([port])
        command = [find_node(), "--import", OFFLINE.as_uri(), str(SCRIPT)]
        self._cleanup = contextlib.ExitStack()
        try:
            self.folder = self._take(folder)
            lay_out(self.folder, keep_battles=keep_battles)
            self.log = self.folder / LOG
            """Where everything goes that the server prints."""
            self.port = port
            temporary = ["temporary"] if folder is None else []
            self._start([*command, str(self.folder), str(port), *temporary])
            if wait:
                self.wait()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """The address for players."""
        return f"ws://{HOST}:{self.port}{PATH}"

    @property
    def alive(self) -> bool:
        """Whether the server's process is running."""
        return self.process.poll() is None

    def wait(self) -> None:
        """Return once the server greets whoever connects; `port` is known from then on."""
        last = time.monotonic() + PATIENCE
        while not self._greets():
            if not self.alive:
                raise GameError(
                    f"The Showdown server in {self.folder} ended with code "
                    f"{self.process.returncode} before it answered: {self.last_words()}"
                )
            if "EADDRINUSE" in self.complaint():
                raise GameError(_in_use(self.port))
            if time.monotonic() > last:
                raise GameError(
                    f"The Showdown server in {self.folder} did not answer within {PATIENCE:g} "
                    f"seconds: {self.last_words()}"
                )
            time.sleep(_BETWEEN_LOOKS)

    def close(self) -> None:
        """End the server and its children; a second call does nothing."""
        self._cleanup.close()

    def last_words(self) -> str:
        """Return what the log says went wrong, or its last line."""
        message = self.complaint() or "".join(self._lines()[-1:])
        return message or "it said nothing"

    def complaint(self) -> str:
        """Return the error that the log tells of; empty where it tells of none."""
        return next((line.strip() for line in self._lines() if "Error" in line), "")

    def _lines(self) -> list[str]:
        with self.log.open("rb") as log:
            log.seek(self._log_from)
            return [line for line in log.read().decode(errors="replace").splitlines() if line]

    def _take(self, folder: Path | None) -> Path:
        """Return the folder, held against other servers; a temporary one goes at the end."""
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="lanista-showdown-"))
            self._cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        folder = folder.resolve()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GameError(
                f"A Showdown server cannot run in {folder} ({error.strerror}); name a folder that "
                "can be written."
            ) from error
        self._cleanup.enter_context(holding(folder, "Showdown server's folder"))
        return folder

    def _start(self, command: list[str]) -> None:
        self._log_from = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C reaches us alone, and we end the server in order.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **ENVIRONMENT},
                start_new_session=True,
            )
        self._cleanup.callback(self._end)

    def _end(self) -> None:
        assert self.process.stdin is not None
        if self.alive:
            # The group is the server and its children; it is ours until we have waited for it.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.stdin.close()
        self.process.wait()

    def _greets(self) -> bool:
        port_file = self.folder / "port"
        if not port_file.exists():
            return False
        self.port = int(port_file.read_text())
        with contextlib.suppress(OSError), socket.create_connection((HOST, self.port), 5) as line:
            line.sendall(_HELLO.encode())
            received = b""
            while _GREETING not in received and (more := line.recv(4096)):
                received += more
            return _GREETING in received
        return False


def refuse_unready(ports: Iterable[int]) -> None:
    """Refuse where Node or the simulator is missing or a port is in use; nothing is written."""
    find_node()
    find()
    for port in ports:
        _refuse_port(port)


def _refuse_port(port: int) -> None:
    """Refuse a port that is no port or is in use; the server itself would say so in its log."""
    if port not in range(_LAST_PORT + 1):
        raise GameError(f"Port {port} does not exist; give one from 1 to {_LAST_PORT}.")
    with socket.socket() as line:
        # Without it a port counts as used for a minute after a server on it has ended.
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            line.bind((HOST, port))
        except OSError as error:
            if isinstance(error, PermissionError):
                raise GameError(
                    f"Port {port} on {HOST} may not be used by this user; choose one from 1024 on."
                ) from error
            raise GameError(_in_use(port)) from error


def _in_use(port: int) -> str:
    return f"Port {port} on {HOST} is in use; choose another or end the program that has it."
