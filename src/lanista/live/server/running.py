"""Runs a server of live games: its folder, its token, TLS, and a line with the address.

Owns where things lie: `policy/` and `spool/` as `lanista live run` has them, `server/token` beside
them. Knows nothing of what is sent.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from lanista.errors import LanistaError
from lanista.files import replacing
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.live.server.app import Service, make_app
from lanista.live.server.limits import Limits
from lanista.live.server.reception import Reception
from lanista.lock import holding
from lanista.text import printable
from lanista.web.listening import address_of, listening, quiet_options
from lanista.web.requests import new_token

LEAST_TOKEN = 16
"""Characters of a token."""
BACKLOG = 2048
"""Bots that may knock at once."""
_MOST_TOKEN_BYTES = 4096
_OTHER_FILES = 256
"""Files that are open beside connections."""


@dataclass(frozen=True)
class Certificate:
    """What TLS needs."""

    certificate: Path
    key: Path


def kept_token(path: Path, *, make: bool = True) -> str:
    """Return the token in a file that only its owner can read; make one where there is none."""
    try:
        about = path.lstat()
    except FileNotFoundError:
        if not make:
            raise LanistaError(
                f"There is no token in {printable(path)}; write one there."
            ) from None
        with replacing(path) as file:
            if os.name != "nt":
                os.fchmod(file.fileno(), 0o600)
            file.write(f"{new_token()}\n".encode())
        about = path.lstat()
    if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_TOKEN_BYTES:
        raise LanistaError(f"{printable(path)} is no file with a token; name another.")
    if os.name != "nt" and about.st_mode & 0o077:
        raise LanistaError(
            f"Others can read the token in {printable(path)}; take that away with chmod 600."
        )
    token = path.read_text(encoding="utf-8", errors="replace").strip()
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise LanistaError(
            f"The token in {printable(path)} must have {LEAST_TOKEN} or more letters, digits or "
            "signs without spaces; remove the file, and a good one is made."
        )
    return token


@contextmanager
def prepared(folder: Path, limits: Limits) -> Iterator[Service]:
    """Give what a server needs, while no other one serves the folder."""
    policies = PolicyFolder(folder / "policy")
    policies.pointer()
    home = folder / "server"
    home.mkdir(exist_ok=True)
    with holding(home, "server folder"):
        service = Service(Reception(Spool(folder / "spool"), policies, limits), policies, limits)
        try:
            yield service
        finally:
            service.writers.shutdown()


def allow_connections(limits: Limits) -> None:
    """Let this process have as many files open as the limits allow connections, if it may."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = limits.connections + _OTHER_FILES
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def uvicorn_server(
    service: Service, token: str, certificate: Certificate | None = None
) -> uvicorn.Server:
    """Return a server of live games; with a certificate it speaks TLS."""
    limits = service.limits
    options: dict[str, Any] = quiet_options(limits.patience)
    options |= {"limit_concurrency": limits.connections, "timeout_graceful_shutdown": 10}
    if certificate is not None:
        _refuse_certificate(certificate)
        options |= {"ssl_certfile": certificate.certificate, "ssl_keyfile": certificate.key}
    return uvicorn.Server(uvicorn.Config(make_app(service, token), **options))


def _refuse_certificate(certificate: Certificate) -> None:
    for path in (certificate.certificate, certificate.key):
        if not path.is_file():
            raise LanistaError(f"There is no file {printable(path)!r} for TLS; name one.")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            certificate.certificate, certificate.key
        )
    except (OSError, ValueError) as error:
        raise LanistaError(
            f"{printable(certificate.certificate)} and {printable(certificate.key)} are no "
            f"certificate and key for TLS: {printable(str(error), 200)}."
        ) from error


@contextmanager
def serving(
    folder: Path,
    token: str,
    *,
    port: int = 0,
    limits: Limits | None = None,
    certificate: Certificate | None = None,
) -> Iterator[str]:
    """Serve a folder on loopback from a thread while the block runs; give the address."""
    with prepared(folder, limits or Limits()) as service:
        server = uvicorn_server(service, token, certificate)
        listener = listening("127.0.0.1", port, BACKLOG)
        thread = threading.Thread(
            target=lambda: asyncio.run(server.serve([listener])), name="live-server", daemon=True
        )
        thread.start()
        try:
            yield address_of(listener, "127.0.0.1", "https" if certificate else "http")
        finally:
            server.should_exit = True
            thread.join(timeout=20)
            listener.close()
