"""Runs the server: a socket, uvicorn, and a line with the address.

The address carries the token, and is printed once; requests are not logged, so that no log has it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from lanista.view.app import make_app
from lanista.view.context import Limits, ViewContext
from lanista.web import listening as web
from lanista.web.requests import new_token


def address_of(server: socket.socket, context: ViewContext, path: str = "/") -> str:
    """Return the address to open, with the token."""
    return f"{bare_address(server, context)}{path}?token={context.token}"


def bare_address(server: socket.socket, context: ViewContext) -> str:
    """Return the address without the token."""
    return web.address_of(server, context.host)


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
    options = web.quiet_options(context.limits.patience)
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
    listener = web.listening(context.host, port)
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
