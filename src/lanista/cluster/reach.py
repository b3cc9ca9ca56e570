"""Whether anybody answers at a cluster's address, asked for a bounded time.

Ray by itself waits for an address at which nobody listens for a quarter of an hour. Knows nothing
of what a cluster is used for.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

from lanista.errors import LanistaError

REACH_SECONDS = 15.0
"""How long an address may take to answer; a cluster that was started just now needs some."""
ONE_TRY = 5.0
"""Seconds of one attempt, where nobody says no."""
PAUSE = 0.5


def latest_cluster() -> str:
    """Return the address of the cluster that was started last on this machine; empty: none."""
    named = os.environ.get("RAY_ADDRESS", "auto")
    if named not in ("", "auto", "local"):
        return named
    try:
        return _note().read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _note() -> Path:
    """Return where Ray notes the cluster that was started last, as Ray looks for it."""
    system = os.environ.get("TMPDIR", "/tmp") if sys.platform.startswith("linux") else "/tmp"
    return Path(os.environ.get("RAY_TMPDIR", system)) / "ray" / "ray_current_cluster"


def same_place(one: str, other: str) -> bool:
    """Return whether two addresses, HOST:PORT, may be one: host by any name, and port."""
    (host, _, port), (other_host, _, other_port) = one.rpartition(":"), other.rpartition(":")
    if port != other_port:
        return False
    addresses, others = _addresses(host), _addresses(other_host)
    if not addresses or not others:  # A name that is known elsewhere alone.
        return True
    return bool(addresses & others) or all(map(_is_own, addresses | others))


def _addresses(host: str) -> set[str]:
    """Return the addresses that a host's name stands for."""
    try:
        return {str(place[4][0]) for place in socket.getaddrinfo(host.strip("[]"), None)}
    except OSError:
        return set()


def _is_own(address: str) -> bool:
    """Return whether an address is one of this machine: only these can be listened at."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as line:
        try:
            line.bind((address, 0))
        except OSError:
            return False
    return True


def await_cluster(named: str, seconds: float | None = None) -> None:
    """Wait until somebody listens at `named`: HOST:PORT or auto; refuse after `seconds`."""
    address = latest_cluster() if named == "auto" else named
    if not address:
        raise LanistaError(
            f"--cluster is auto, and no cluster of this machine is noted in {_note()}; start one "
            "with `lanista cluster start`, or name its HOST:PORT."
        )
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        raise LanistaError(f"RAY_ADDRESS is {address!r}; give HOST:PORT, or leave it out.")
    last = time.monotonic() + (REACH_SECONDS if seconds is None else seconds)
    while (reason := _attempt(host.strip("[]"), int(port), last)) and time.monotonic() < last:
        time.sleep(PAUSE)
    if reason:
        raise LanistaError(
            f"The cluster at {address} cannot be reached ({reason}); start one with `lanista "
            "cluster start`, or name its HOST:PORT."
        )


def _attempt(host: str, port: int, last: float) -> str:
    """Return why nobody was reached; nothing: somebody was."""
    try:
        left = max(PAUSE, min(ONE_TRY, last - time.monotonic()))
        socket.create_connection((host, port), left).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""
