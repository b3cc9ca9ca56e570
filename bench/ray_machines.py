"""Machines of a Ray cluster on this one, each on cores of its own, and what they cost.

Raylets are processes of `ray.cluster_utils`; a machine of one core is a raylet whose processes may
use one core of this one. CPU time is read off the kernel for the driver and all that it started.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lanista.cluster import session

STORE = 512 << 20
"""Bytes of each machine's object store."""
_TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def machines(cores: Sequence[Sequence[int]], *, drivers_cores: int = 0) -> Iterator[str]:
    """Give the address of a cluster with one machine for each list of cores; it ends afterwards.

    The driver's own machine comes besides, with `drivers_cores` to play on.
    """
    session.stay_within_machine(True)
    session.require_token(create=True)
    mine = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory(prefix="lb", dir="/tmp") as folder, _notes_in(folder):
        session.load()
        session.reread_environment()  # Whoever loaded Ray before may have had another token.
        from ray.cluster_utils import Cluster

        common: dict[str, Any] = {
            "object_store_memory": STORE, "node_ip_address": "127.0.0.1",
            "temp_dir": f"{folder}/ray", "include_dashboard": False,
        }  # fmt: skip
        cluster = Cluster()
        try:
            cluster.add_node(num_cpus=drivers_cores, **common)
            for numbers in cores:
                os.sched_setaffinity(0, numbers)  # What is started inherits it.
                cluster.add_node(num_cpus=len(numbers), wait=False, **common)
            os.sched_setaffinity(0, mine)
            cluster.wait_for_nodes()
            with session.using(cluster.address):
                session.connect()
                yield cluster.address
        finally:
            os.sched_setaffinity(0, mine)
            session.disconnect()
            cluster.shutdown()


@contextmanager
def _notes_in(folder: str) -> Iterator[None]:
    """Let Ray note the newest cluster there: `--cluster auto` of its user stays theirs."""
    before = os.environ.get("RAY_TMPDIR")
    os.environ["RAY_TMPDIR"] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ["RAY_TMPDIR"]
        else:
            os.environ["RAY_TMPDIR"] = before


def players_cpu_seconds() -> float:
    """Return the CPU time of the machines' actors and of all that plays for them."""
    hosts = [pid for pid in descendants(os.getpid()) if _command(pid).startswith("ray::RayHost")]
    return _used({pid for host in hosts for pid in descendants(host)})


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all that it started and that still lives."""
    return _used(descendants(os.getpid()))


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def _used(processes: Iterable[int]) -> float:
    total = 0.0
    for pid in processes:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / _TICKS
    return total


def descendants(pid: int) -> list[int]:
    """Return a process and all that it started, those included whose parents have ended."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[1])
    family, added = {pid}, True
    while added:
        children = {child for child, parent in parents.items() if parent in family}
        added = not children <= family
        family |= children
    return sorted(family)
