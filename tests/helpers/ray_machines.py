"""Several machines of a Ray cluster on this one, in a program of its own that tests steer.

`RayMachines` starts it and talks to it in JSON lines. Every machine is a raylet with its own object
store. All of it listens on loopback alone and wants a token. What was started carries a mark in
its environment, by which tests see whether anything is left.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCES = str(HERE.parent.parent / "src")
MARK = "LANISTA_TEST_MARK"
TOKEN = uuid.uuid4().hex * 2
"""Of all clusters of a process: Ray reads it once."""
STORE = 80 << 20
"""Bytes of a machine's object store: the least that Ray takes."""
AGENTS = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")
"""Processes of Ray that look for a killed head for a minute before they end."""
FAST_DEATH = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}
"""A machine that does not answer for two seconds is dead; Ray's own numbers are for larger ones."""


class RayMachines:
    """A cluster with one head, where drivers run, and further machines."""

    def __init__(self, machines: int = 1, head_cpus: int = 0, **node: Any) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lr", dir="/tmp"))  # Ray's sockets: short paths.
        self.environment, self.mark = environment_of(self.folder)
        with (self.folder / "log").open("wb") as log:
            self._program = subprocess.Popen(
                [sys.executable, __file__, str(self.folder)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env=self.environment,
            )  # fmt: skip
        started = self._do("start", machines=machines, head_cpus=head_cpus, node=node)
        self.address: str = started["address"]
        self.raylets: dict[int, int] = {int(k): v for k, v in started["raylets"].items()}
        """By number: the process of a machine's raylet."""
        self.head: int = started["head"]
        """The process of the first machine's raylet."""

    def add(self, **node: Any) -> int:
        """Add a machine and return its number."""
        added = self._do("add", node=node)
        self.raylets[added["number"]] = added["raylet"]
        return int(added["number"])

    def kill(self, number: int) -> None:
        """Kill a machine's raylet, and with it all that runs there."""
        self._do("kill", number=number)
        del self.raylets[number]

    def kill_head(self) -> None:
        """Kill the first machine with all that runs there, the cluster's own records included."""
        self._do("kill_head")

    def close(self) -> None:
        with suppress(Exception):
            self._do("stop")
        with suppress(subprocess.TimeoutExpired):
            self._program.wait(20)
        self._program.kill()
        self._program.wait()
        for pipe in (self._program.stdin, self._program.stdout):
            with suppress(OSError):
                pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def leftover(self, seconds: float = 20.0, without: tuple[str, ...] = ()) -> list[str]:
        """Return the commands of processes with the mark that do not end within `seconds`.

        Those that begin with a word of `without` do not count.
        """
        last = time.monotonic() + seconds
        while True:
            there = [words for _, words in marked(self.mark) if not words.startswith(without)]
            if not there or time.monotonic() > last:
                return there
            time.sleep(0.2)

    def _do(self, what: str, **more: Any) -> dict[str, Any]:
        self._program.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self._program.stdin.flush()
        line = self._program.stdout.readline()
        if not line:
            raise RuntimeError((self.folder / "log").read_text(errors="replace")[-2000:])
        return json.loads(line)


def environment_of(folder: Path) -> tuple[dict[str, str], str]:
    """Return the environment of a cluster's processes with a new token, and the mark in it."""
    mark = uuid.uuid4().hex
    token = folder / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    # Compiled modules are kept, as where the package is installed: or every start compiles them.
    own = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment = {
        **own,
        # What tests let machines build lies beside this file.
        "PYTHONPATH": os.pathsep.join([str(HERE), SOURCES]),
        MARK: mark,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        # Where Ray notes the newest cluster: `--cluster auto` of this machine's user stays theirs.
        "RAY_TMPDIR": str(folder),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS": "0",
        "OMP_NUM_THREADS": "1",
    }
    return environment, mark


@contextmanager
def ray_machines(machines: int = 1, **options: Any) -> Iterator[RayMachines]:
    cluster = RayMachines(machines, **options)
    try:
        yield cluster
    finally:
        cluster.close()


@contextmanager
def driving(cluster: RayMachines) -> Iterator[RayMachines]:
    """Let this process be a driver of the cluster."""
    from lanista.cluster import session

    names = (MARK, "RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER",
             "RAY_TMPDIR", "RAY_USAGE_STATS_ENABLED")  # fmt: skip
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({name: cluster.environment[name] for name in names if name != MARK})
    try:
        with session.using(cluster.address):
            session.connect()
            yield cluster
    finally:
        session.disconnect()
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def marked(mark: str) -> list[tuple[int, str]]:
    """Return the processes whose environment has the mark: id and command."""
    processes = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                words = (folder / "cmdline").read_bytes().split(b"\0")
                processes.append((int(folder.name), b" ".join(words).decode(errors="replace")))
    return [(pid, command) for pid, command in processes if command.strip()]


def kill_marked(mark: str) -> None:
    """Kill the processes with the mark."""
    for pid, _ in marked(mark):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def children(pid: int) -> list[int]:
    """Return the processes that a process started."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")  # Each thread has its own.
    pids: list[int] = []
    for path in lists:
        with suppress(OSError):
            pids += map(int, path.read_text().split())
    return pids


def hosts(raylet: int) -> list[int]:
    """Return the processes of a machine's host actors."""
    return [pid for pid in children(raylet) if "RayHost" in command(pid)]


def playing(host: int) -> list[int]:
    """Return the processes in which a host's workers play: a server forks them."""
    return [worker for server in children(host) for worker in children(server)]


def command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def main(folder: str) -> None:
    """Answer what tests ask, and end with them."""
    from ray.cluster_utils import Cluster

    common: dict[str, Any] = {
        "num_cpus": 1, "object_store_memory": STORE, "node_ip_address": "127.0.0.1",
        "temp_dir": f"{folder}/ray", "include_dashboard": False,
    }  # fmt: skip
    cluster, nodes = Cluster(), {}

    def add(options: dict[str, Any]) -> int:
        environment = options.pop("env", None)
        before = dict(os.environ)
        os.environ.update(environment or {})
        try:
            # One log monitor, the head's, serves the whole of this machine.
            node = {**common, "include_log_monitor": False, **options}
            nodes[len(nodes) + 1] = cluster.add_node(wait=False, **node)
        finally:
            os.environ.clear()
            os.environ.update(before)
        return len(nodes)

    def raylet(node: Any) -> int:
        return int(node.all_processes["raylet"][0].process.pid)

    gone: set[int] = set()
    for line in sys.stdin:
        order = json.loads(line)
        reply: dict[str, Any] = {}
        if order["do"] == "start":
            head = {**common, "num_cpus": order["head_cpus"], "_system_config": FAST_DEATH}
            cluster.add_node(**head)
            for _ in range(order["machines"]):
                add(dict(order["node"]))
            cluster.wait_for_nodes()
            raylets = {number: raylet(node) for number, node in nodes.items()}
            first = raylet(cluster.head_node)
            reply = {"address": cluster.address, "raylets": raylets, "head": first}
        elif order["do"] == "add":
            number = add(order["node"])
            reply = {"number": number, "raylet": raylet(nodes[number])}
        elif order["do"] == "kill":
            gone.add(order["number"])
            nodes[order["number"]].kill_raylet()
            nodes[order["number"]].kill_all_processes(check_alive=False, allow_graceful=False)
        elif order["do"] == "kill_head":
            head_node, cluster.head_node = cluster.head_node, None
            head_node.kill_all_processes(check_alive=False, allow_graceful=False)
        elif order["do"] == "stop":
            break
        print(json.dumps(reply), flush=True)
    for number, node in nodes.items():
        if number not in gone:
            node.kill_all_processes(check_alive=False, allow_graceful=False)
    if cluster.head_node is not None:
        cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=True)
    print("{}", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
