"""A socket that listens, and uvicorn on it: quiet, and impatient with clients that say nothing.

Requests are not logged, so that no log has a token. Knows nothing of what is served.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from lanista.errors import LanistaError

PATIENCE = 20.0
"""Seconds in which a client must send its request or take the next part of an answer."""


class Hurried(H11Protocol):
    """Drops a client that keeps the server waiting.

    One that has sent no request, whole or at all, since the last look; or that has taken nothing of
    what waits for it. A stream on which there is nothing to say is none of these.
    """

    patience = PATIENCE
    _unsent = 0
    _answered: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._next_look = self.loop.call_later(self.patience, self._look)

    def connection_lost(self, error: Exception | None) -> None:
        self._next_look.cancel()
        super().connection_lost(error)

    def _look(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        answered = self.cycle if self.cycle is None or self.cycle.response_complete else self
        silent = answered is None or answered is self._answered
        if silent or (unsent and unsent == self._unsent):
            self.transport.abort()
            return
        self._unsent, self._answered = unsent, None if answered is self else answered
        self._next_look = self.loop.call_later(self.patience, self._look)


def quiet_options(patience: float = PATIENCE) -> dict[str, Any]:
    """Return uvicorn's settings for a server that logs nothing but its own faults."""
    protocol = type("_Protocol", (Hurried,), {"patience": patience})
    options: dict[str, Any] = {"access_log": False, "log_level": "error", "lifespan": "off"}
    options |= {"server_header": False, "ws": "none", "http": protocol, "proxy_headers": False}
    return options | {"timeout_keep_alive": 30, "timeout_graceful_shutdown": 1}


def listening(host: str, port: int, backlog: int = 256) -> socket.socket:
    """Return a socket that listens; with port 0 the system chooses one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((host, port))
        server.listen(backlog)
    except (OSError, OverflowError) as error:
        server.close()
        why = getattr(error, "strerror", None) or str(error)
        raise LanistaError(
            f"The server cannot listen on {host}:{port}: {why.lower()}; give another --port."
        ) from error
    return server


def first_free(host: str, port: int, tries: int = 20) -> socket.socket:
    """Return a socket that listens on the first free port from `port` on, or on any."""
    for number in range(port, port + tries):
        try:
            return listening(host, number)
        except LanistaError:
            continue
    return listening(host, 0)


def address_of(server: socket.socket, host: str, scheme: str = "http") -> str:
    """Return the address under which this machine reaches a server that is bound to `host`."""
    name = "127.0.0.1" if host in ("0.0.0.0", "localhost") else host
    name = f"[{name}]" if ":" in name else name
    return f"{scheme}://{name}:{server.getsockname()[1]}"
