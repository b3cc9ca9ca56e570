"""`lanista cluster`: Ray's own programs with a token and, unless told otherwise, on loopback.

`start` makes this machine the head of a cluster, `join` adds a machine to one; both stay until
Ctrl-C. Everything else of a cluster is Ray's business (`ray status`, `ray stop`).
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from lanista.cli.common.flags import number, optional
from lanista.errors import LanistaError

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class ClusterStart:
    """Make this machine the first of a Ray cluster, until Ctrl-C.

    Whoever has the token may run anything here; it is made at the first start."""

    host: Annotated[str, tyro.conf.arg(metavar="IP", help_behavior_hint="(default: 127.0.0.1)")] = (
        LOOPBACK
    )
    """The address under which other machines reach this one; with 127.0.0.1 none can."""
    port: Annotated[int, number(6379)] = 6379
    """The port of the cluster's address."""
    cpus: Annotated[int | None, optional("N")] = None
    """Cores that may be used; all unless given."""
    object_store: Annotated[int | None, optional("MB")] = None
    """Memory for unrolls and weights under way; as Ray chooses unless given."""

    def run(self) -> int:
        """Become `ray start --head`."""
        from lanista.cluster import session

        session.refuse_missing()
        session.require_token(create=True)
        session.stay_within_machine(self.host == LOOPBACK)
        words = ["--head", "--include-dashboard=false", f"--port={self.port}"]
        words.append(f"--node-ip-address={self.host}")
        print(f"token: {os.environ.get('RAY_AUTH_TOKEN_PATH') or session.token_path()}")
        print("then: lanista run RECIPE --cluster auto", flush=True)
        return become_ray([*words, *_sizes(self.cpus, self.object_store)])


@dataclass(frozen=True)
class ClusterJoin:
    """Add this machine to a Ray cluster, until Ctrl-C.

    It must have the cluster's token, and run the same Python and the same version and build of this
    package: a run refuses it otherwise."""

    address: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="HOST:PORT")]
    """What `lanista cluster start` was given."""
    host: Annotated[str | None, optional("IP")] = None
    """The address under which other machines reach this one; as Ray finds it unless given."""
    cpus: Annotated[int | None, optional("N")] = None
    """Cores that may be used; all unless given."""
    object_store: Annotated[int | None, optional("MB")] = None
    """Memory for unrolls and weights under way; as Ray chooses unless given."""

    def run(self) -> int:
        """Become `ray start --address`."""
        from lanista.cluster import session
        from lanista.cluster.reach import await_cluster

        session.refuse_missing()
        session.require_token(create=False)
        if session.on_loopback(session.checked(self.address)):
            raise LanistaError(
                f"The cluster at {self.address} stays within one machine, which is in it already; "
                "start it with --host and an address that others reach, then join that."
            )
        await_cluster(self.address)
        words = [f"--address={self.address}"]
        if self.host is not None:
            words.append(f"--node-ip-address={self.host}")
        return become_ray([*words, *_sizes(self.cpus, self.object_store)])


def become_ray(words: list[str]) -> int:
    """Replace this process by `ray start`, which ends with Ctrl-C."""
    beside = Path(sys.executable).with_name("ray")
    program = str(beside) if beside.is_file() else shutil.which("ray")
    if program is None:
        raise LanistaError("The program `ray` is not there; pip install 'lanista[ray]'.")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.execv(program, [program, "start", "--block", *words])


def _sizes(cpus: int | None, object_store: int | None) -> list[str]:
    sizes = [] if cpus is None else [f"--num-cpus={cpus}"]
    if object_store is not None:
        sizes.append(f"--object-store-memory={object_store << 20}")
    return sizes
