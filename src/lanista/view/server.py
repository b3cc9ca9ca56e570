"""Runs the server: a socket, uvicorn, and a line with the address.

The address carries the token, and is printed once; requests are not logged, so that no log has it.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from lanista.errors import LanistaError
from lanista.view.app import make_app
from lanista.view.context import Limits, ViewContext

PORT = 8787


class _Hurried(H11Protocol):
    """Drops a client that keeps the server waiting.

    One that has sent no request, whole or at all, since the last look; or that has taken nothing of
    what waits for it. A stream on which there is nothing to say is none of these.
    """

    patience = Limits().patience
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


def new_token() -> str:
    """Return a token for one server's life."""
    return secrets.token_urlsafe(24)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; with port 0 the system chooses one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((host, port))
        server.listen(256)
    except (OSError, OverflowError) as error:
        server.close()
        why = getattr(error, "strerror", None) or str(error)
        raise LanistaError(
            f"The server cannot listen on {host}:{port}: {why.lower()}; give another --port."
        ) from error
    return server


def address_of(server: socket.socket, context: ViewContext, path: str = "/") -> str:
    """Return the address to open, with the token."""
    return f"{bare_address(server, context)}{path}?token={context.token}"


def bare_address(server: socket.socket, context: ViewContext) -> str:
    """Return the address without the token."""
    name = "127.0.0.1" if context.host in ("0.0.0.0", "localhost") else context.host
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{server.getsockname()[1]}"


class _Server(uvicorn.Server):
    """Ends the streams first: a server waits for its answers to end, and those would not."""

    def __init__(self, config: uvicorn.Config, context: ViewContext) -> None:
        super().__init__(config)
        self.context = context

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.context.hub.close()
        await super().shutdown(sockets)


def uvicorn_server(context: ViewContext) -> uvicorn.Server:
    """Return a server that logs nothing but its own faults."""
    protocol = type("_Protocol", (_Hurried,), {"patience": context.limits.patience})
    options: dict[str, Any] = {"access_log": False, "log_level": "error", "lifespan": "off"}
    options |= {"server_header": False, "ws": "none", "http": protocol, "proxy_headers": False}
    options |= {"timeout_keep_alive": 30, "timeout_graceful_shutdown": 1}
    return _Server(uvicorn.Config(make_app(context), **options), context)


@contextmanager
def beside(folder: Path, port: int = 0, limits: Limits | None = None) -> Iterator[str]:
    """Serve a folder on loopback from a thread while the block runs; give the address."""
    with serving(folder, port, limits) as (_, address):
        yield address


@contextmanager
def serving(
    folder: Path, port: int = 0, limits: Limits | None = None
) -> Iterator[tuple[ViewContext, str]]:
    """Serve as `beside` does; give the context too."""
    context = ViewContext(folder, new_token(), limits=limits or Limits())
    listener = listening(context.host, port)
    server = uvicorn_server(context)
    thread = threading.Thread(
        target=lambda: asyncio.run(server.serve([listener])), name="view", daemon=True
    )
    thread.start()
    try:
        yield context, address_of(listener, context)
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listener.close()
