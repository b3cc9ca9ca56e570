"""`lanista showdown install` and `serve`: the simulator, and servers until they are stopped."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from lanista.cli.common.flags import number, switch
from lanista.cli.common.outputs import SERVERS, Writes
from lanista.errors import LanistaError

_BETWEEN_LOOKS = 0.5
_LAST_PORT = 65535


@dataclass(frozen=True)
class Install:
    """Install the simulator with npm, unless it is there already.

    It goes into the folder that the environment variable LANISTA_SHOWDOWN names, or into this
    Python's own.
    """

    def run(self) -> int:
        """Install, say where, and return 0."""
        from lanista.games.showdown.install import installed

        print(installed())
        return 0


@dataclass(frozen=True)
class Serve:
    """Run real Showdown servers on this machine alone, until Ctrl-C.

    Prints each server's address once it answers. A server that ends by itself is reported and
    started again on its port.
    """

    num_servers: Annotated[int, number(1)] = 1
    """How many servers; each is four processes."""
    port: Annotated[int, number(8000)] = 8000
    """The first server's port, the others follow; 0: free ones."""
    folder: Annotated[Path, tyro.conf.arg(metavar="DIR"), Writes(SERVERS)] = Path(
        "showdown-servers"
    )
    """Where the servers keep their logs, each in a folder of its own."""
    keep_battles: Annotated[bool, switch()] = False
    """Let the servers write every challenge that ends to DIR/server-N/logs/."""

    def run(self) -> int:
        """Serve until stopped, and return 0."""
        self._refuse_nonsense()
        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.cli.live.learn import say_on_error
        from lanista.games.showdown.local_servers.pool import Servers
        from lanista.games.showdown.local_servers.server import refuse_unready

        refuse_unready(self.port and self.port + at for at in range(self.num_servers))
        refuse_unwritable_folder("--folder", self.folder)
        with stopped_by_signals():
            say_on_error(f"starting {self.num_servers} on 127.0.0.1; some seconds.")
            servers = Servers(
                *(self.num_servers, self.port, self.folder),
                keep_battles=self.keep_battles,
                say=say_on_error,
            )
            with servers:
                for post in servers.posts:
                    print(f"{post.server.url}  log: {post.server.log}", flush=True)
                say_on_error("All answer; stop them with Ctrl-C.")
                while True:
                    time.sleep(_BETWEEN_LOOKS)
                    servers.look()
        say_on_error("All servers have ended.")
        return 0

    def _refuse_nonsense(self) -> None:
        if self.num_servers < 1:
            raise LanistaError(f"--num-servers is {self.num_servers}; give 1 or more.")
        last = self.port + self.num_servers - 1
        if not 0 <= self.port <= last <= _LAST_PORT:
            raise LanistaError(
                f"--port is {self.port}; give one such that it and the {self.num_servers - 1} "
                f"after it lie from 1 to {_LAST_PORT}, or 0 for free ones."
            )


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Let the first SIGINT or SIGTERM end the block, and none disturb how it ends."""
    signals = (signal.SIGINT, signal.SIGTERM)

    def caught(number: int, frame: object) -> None:
        for signal_number in signals:
            signal.signal(signal_number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = [signal.signal(signal_number, caught) for signal_number in signals]
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        for signal_number, handler in zip(signals, before, strict=True):
            signal.signal(signal_number, handler)
