"""The connection to Ray: which cluster, with a token, on loopback unless told otherwise.

Ray is the engine: machines, actors, objects and their deaths are its business. The driver runs on a
machine of the cluster, so that weights and unrolls go through the object stores; Ray Client is
refused. Knows nothing of what is computed.
"""

from __future__ import annotations

import importlib
import os
import secrets
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanista.cluster.last_word import LastWord
from lanista.cluster.reach import await_cluster, latest_cluster, same_place
from lanista.errors import LanistaError
from lanista.games import driver_files

if TYPE_CHECKING:
    from collections.abc import Iterator

CLUSTER = "LANISTA_CLUSTER"
"""Names the cluster that commands of this process use; `--cluster` sets it."""
LOCAL = "local"
"""Not a cluster: processes of this machine."""
OLDEST = (2, 54)
"""Ray before it has no token in all of its connections."""
_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's own switch: with 0 nothing of it listens beyond this machine."""
JOIN_TRIES = 2
"""How often Ray may try to join a cluster whose address answers."""
_HEAD_GONE = "RAY_gcs_rpc_server_reconnect_timeout_s"
"""Ray's own switch: how long a driver goes on without the cluster's head before Ray ends it."""
_last_words: list[LastWord] = []


def address() -> str | None:
    """Return the cluster's address, or auto; None: none was named."""
    named = os.environ.get(CLUSTER, LOCAL)
    return None if named == LOCAL else named


@contextmanager
def using(cluster: str | None) -> Iterator[None]:
    """Let what is done meanwhile use `cluster`: local, auto or an address; None: as before."""
    before = os.environ.get(CLUSTER)
    if cluster is not None:
        os.environ[CLUSTER] = checked(cluster)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(CLUSTER, None)
        else:
            os.environ[CLUSTER] = before


def checked(cluster: str) -> str:
    """Return what `--cluster` names; refuse Ray Client and what is no address."""
    if cluster.startswith("ray://"):
        raise LanistaError(
            f"--cluster is {cluster!r}, an address of Ray Client; the learner must run on a "
            "machine of the cluster. Start it there, with --cluster auto."
        )
    host, colon, port = cluster.rpartition(":")
    if cluster not in (LOCAL, "auto") and not (host and colon and port.isdigit()):
        raise LanistaError(
            f"--cluster is {cluster!r}; give auto (the cluster of this machine), HOST:PORT, or "
            "local for none."
        )
    return cluster


def refuse_missing() -> None:
    """Refuse where Ray is not installed."""
    if find_spec("ray") is None:
        raise LanistaError(
            "Ray is not installed, which clusters need; pip install 'lanista[ray]', or use the "
            "launcher processes."
        )


def load() -> Any:
    """Return the module ray; a sentence where it is missing or too old."""
    refuse_missing()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Nothing is sent to anybody.
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    os.environ.setdefault(_HEAD_GONE, "20")
    ray = importlib.import_module("ray")
    version = tuple(int(part) for part in ray.__version__.split(".")[:2])
    if version < OLDEST:
        raise LanistaError(
            f"Ray is {ray.__version__} here; {OLDEST[0]}.{OLDEST[1]} or newer is needed: "
            "pip install --upgrade 'lanista[ray]'."
        )
    return ray


def token_path() -> Path:
    """Return where this user's token lies, which Ray reads too."""
    named = os.environ.get("RAY_AUTH_TOKEN_PATH")
    return Path(named) if named else Path.home() / ".ray" / "auth_token"


def make_token() -> Path | None:
    """Write a token where there is none yet, for this user alone; None: one is in the environment.

    Whoever has it may run anything on the cluster.
    """
    if os.environ.get("RAY_AUTH_TOKEN"):
        return None
    path = token_path()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Made with its rights: there is no moment in which others could read it.
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return path
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
    return path


def require_token(*, create: bool) -> None:
    """Switch token authentication on, unless the user switched it off by name."""
    if os.environ.setdefault("RAY_AUTH_MODE", "token") != "token":
        return
    if create:
        make_token()
    elif not os.environ.get("RAY_AUTH_TOKEN") and not token_path().is_file():
        raise LanistaError(
            f"There is no token at {token_path()}, and a cluster lets nobody in without; copy the "
            "file from the machine that started it, or name it in RAY_AUTH_TOKEN_PATH."
        )


def stay_within_machine(within: bool) -> None:
    """Let Ray listen and look on this machine alone, or on its outer address too.

    Ray takes 127.0.0.1 for the machine's outer address unless it is told to stay within, and then
    does not find a cluster that `lanista cluster start` made.
    """
    os.environ[_LOOPBACK] = "0" if within else "1"


def reread_environment() -> None:
    """Let a Ray that was loaded before look at its switches and token as they are now."""
    constants = importlib.import_module("ray._private.ray_constants")
    raylet = importlib.import_module("ray._raylet")
    vars(constants)["ENABLE_RAY_CLUSTER"] = os.environ.get(_LOOPBACK) != "0"
    raylet.Config.initialize("")
    raylet.AuthenticationTokenLoader.instance().reset_cache()


def on_loopback(named: str) -> bool:
    """Return whether the cluster at an address, or that of this machine (auto), stays within it."""
    place = latest_cluster() if named == "auto" else named
    return place.rpartition(":")[0] in ("127.0.0.1", "localhost", "[::1]")


def connect(cpus: int | None = None) -> Any:
    """Return ray, connected: to the cluster that was named, or to one of this machine alone.

    The latter has `cpus` cores, ends with this process and is not reachable from elsewhere.
    """
    named = address()
    stay_within_machine(named is None or on_loopback(named))
    require_token(create=named is None)
    loaded_before = "ray" in sys.modules
    ray = load()
    if ray.is_initialized():
        _refuse_another(ray.get_runtime_context().gcs_address, named)
        return ray
    if loaded_before:
        reread_environment()
    # Its own lines would come between those of a run's view.
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if named is None:
        ray.init(num_cpus=cpus, include_dashboard=False, _node_ip_address="127.0.0.1", **quiet)
        return ray
    await_cluster(named)
    try:
        with _few_retries():
            ray.init(address=named, **quiet)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise LanistaError(
            f"The cluster {named!r} cannot be joined: {first} Start one with `lanista cluster "
            "start`, or name its HOST:PORT; machines need the token of the one that started it."
        ) from error
    _last_words.append(LastWord(*_places(ray)))
    return ray


def raised_at_start(error: BaseException) -> BaseException | None:
    """Return what the start of an actor of Ray raised there; None: it ended in another way."""
    for holder in (error, *error.args):
        cause = getattr(holder, "cause", None)
        if isinstance(cause, BaseException):
            return cause
    return error.__cause__


def _refuse_another(joined: str, named: str | None) -> None:
    """Refuse to take the cluster that this process is on for another one that was named."""
    if named not in (None, "auto", LOCAL) and not same_place(joined, named):
        raise LanistaError(
            f"--cluster is {named!r}, and this process is on the cluster at {joined} already; "
            "leave that one first (ray.shutdown()), or name it."
        )


@contextmanager
def _few_retries() -> Iterator[None]:
    """Let Ray try to join once or twice: it waits up to 40 s each time, by itself 20 times."""
    constants = vars(importlib.import_module("ray._private.ray_constants"))
    before = constants.get("NUM_REDIS_GET_RETRIES")
    constants["NUM_REDIS_GET_RETRIES"] = JOIN_TRIES
    try:
        yield
    finally:
        constants["NUM_REDIS_GET_RETRIES"] = before


def _places(ray: Any) -> tuple[str, str]:
    """Return the address of the cluster, and where Ray's process on this machine listens."""
    context = ray.get_runtime_context()
    own = context.get_node_id()
    raylets = [node["RayletSocketName"] for node in ray.nodes() if node["NodeID"] == own]
    return context.gcs_address, raylets[0]


def disconnect() -> None:
    """Leave the cluster; one of this process alone ends."""
    while _last_words:
        _last_words.pop().close()
    ray = load()
    if ray.is_initialized():
        ray.shutdown()


def machines(ray: Any) -> dict[str, dict[str, Any]]:
    """Return the machines that are there, by their id: address and cores."""
    return {
        node["NodeID"]: {
            "address": node["NodeManagerAddress"],
            "cpus": float(node["Resources"].get("CPU", 0.0)),
        }
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0.0) >= 1
    }


def own_environment() -> dict[str, str]:
    """Return what this process's commands may do, for processes elsewhere that work for it.

    Python files that ran here must be the same there.
    """
    own = {name: value for name, value in os.environ.items() if name.startswith("LANISTA_")}
    return own | driver_files.environment_for(driver_files.ran_here())


def wait_for(condition: Any, seconds: float, pause: float = 0.05) -> bool:
    """Return whether `condition()` came true within `seconds`."""
    last = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= last:
            return False
        time.sleep(pause)
    return True
