"""A server of live games on this machine, and requests to it that no bot would make."""

from __future__ import annotations

import hashlib
import http.client
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from toy import folder_of, game_of

from lanista.live.files.game_file import GameFile, encode
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.live.server.limits import Limits
from lanista.live.server.running import Certificate, serving

TOKEN = "a-token-for-tests-only"
PATIENCE = 60.0


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A server, and what lies behind it."""

    address: str
    folder: PolicyFolder
    spool: Spool

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = TOKEN,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        parts = urlsplit(self.address)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=PATIENCE)
        given = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            connection.request(method, path, body, given | (headers or {}))
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, fields, answer.read())
        finally:
            connection.close()

    def put(self, data: bytes, digest: str | None = None, **given: Any) -> Answer:
        digest = hashlib.sha256(data).hexdigest() if digest is None else digest
        return self.ask("PUT", f"/v1/games/{digest}", data, **given)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("GET", "/v1/status").json
        return found


@contextmanager
def served(
    path: Path, *, limits: Limits | None = None, port: int = 0,
    certificate: Certificate | None = None,
) -> Iterator[Served]:  # fmt: skip
    """Serve the folder `path`, in which a policy plays."""
    if not (path / "policy").exists():
        folder_of(path / "policy")
    limits = limits or Limits(free_bytes=0)
    with serving(path, TOKEN, port=port, limits=limits, certificate=certificate) as address:
        yield Served(address, PolicyFolder(path / "policy"), Spool(path / "spool"))


def numbered(number: int) -> GameFile:
    """Return a game that differs from others by its number."""
    return game_of(game_id=f"game {number}", play=f"{number:016x}")


def file_of(number: int) -> bytes:
    return encode(numbered(number))


def until(true: Callable[[], object], what: str = "it") -> None:
    """Wait until something is true."""
    last = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < last, f"{what} did not happen"
        time.sleep(0.01)


def self_signed(folder: Path, name: str = "localhost") -> Certificate:
    """Return a certificate of our own for this machine; skip the test where openssl is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    words += ["-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", str(made.key)]
    words += ["-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1", "-out", str(made.certificate)]
    try:
        subprocess.run(words, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no `openssl` here, so no certificate can be made")
    return made
