"""Asks a server as no browser would: any header, any path, in pieces."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def error(self) -> str:
        """The one sentence of a refusal."""
        return str(json.loads(self.body)["error"])

    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    address: str,
    path: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> Answer:
    """Send one request, its path as it is written, and return the answer."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host="Host" in (headers or {}))
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        if body is not None and "Content-Length" not in (headers or {}):
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, names, answer.read())
    finally:
        connection.close()


def opened(address: str, text: bytes = b"") -> socket.socket:
    """Return a connection to the server, with some bytes sent."""
    parts = urlsplit(address)
    client = socket.create_connection((parts.hostname or "", parts.port or 80), timeout=60)
    client.sendall(text)
    return client
