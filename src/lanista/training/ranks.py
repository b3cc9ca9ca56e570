"""Several processes that learn as one: how they are started, and what those do that follow.

The first rank is the run: it collects, evaluates, saves. The others have a learner each, are told
what the first one's does, and do the same. Ranks find each other by the environment variables that
torchrun sets; with a number they are started on this machine. Knows nothing of losses.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from lanista import __version__
from lanista.errors import LanistaError
from lanista.games import registry
from lanista.learn.learner import BrokenLossError, Learner
from lanista.learn.update.ranks import LostRankError, Ranks, TorchRanks
from lanista.nets.policy import Policy
from lanista.runs.serialise import plain
from lanista.runs.settings import RunSettings, load_settings
from lanista.training.collector_factory import device_of, prepare_torch

_ENDING = 30.0
"""Seconds that followers have to end when the run has."""


@contextmanager
def joined(count: int | None) -> Iterator[Ranks]:
    """Give the ranks of this process while the block runs.

    With `count` as many are started on this machine; otherwise the environment says.
    """
    if count is not None and "WORLD_SIZE" in os.environ:
        raise LanistaError("--ranks is given, and torchrun has started ranks; leave one of them.")
    if count is not None and count < 1:
        raise LanistaError(f"--ranks is {count}; give 1 or more.")
    if count is not None and count > 1:
        with _followers(count) as others_run, _closing(_from_environment(others_run)) as ranks:
            yield ranks
        return
    with _closing(_from_environment()) as ranks:
        yield ranks


@contextmanager
def _closing(ranks: Ranks) -> Iterator[Ranks]:
    try:
        yield ranks
    finally:
        ranks.close()


def _from_environment(others_run: Callable[[], bool] = lambda: True) -> Ranks:
    """Join the ranks that the environment names; a process alone where it names none."""
    size = _number("WORLD_SIZE", 1)
    if size == 1:
        return Ranks()
    rank, local = _number("RANK", 0), _number("LOCAL_RANK", 0)
    host, port = os.environ.get("MASTER_ADDR", "127.0.0.1"), _number("MASTER_PORT", 29500)
    if torch.cuda.is_available():
        torch.cuda.set_device(local % torch.cuda.device_count())
    return TorchRanks(rank, size, host, port, others_run)


def _number(name: str, usual: int) -> int:
    text = os.environ.get(name, str(usual))
    if not text.isdigit():
        raise LanistaError(f"The environment variable {name} is {text!r}; give a whole number.")
    return int(text)


@contextmanager
def _followers(count: int) -> Iterator[Callable[[], bool]]:
    """Run the other ranks on this machine, reachable from here alone, while the block runs.

    Gives what says whether all of them run.
    """
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port = line.getsockname()[1]
    shared = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    shared["GLOO_SOCKET_IFNAME"] = "lo" if sys.platform == "linux" else "lo0"
    before = dict(os.environ)
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for rank in range(1, count):
            own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            words = [sys.executable, "-m", "lanista.training.ranks"]
            processes.append(subprocess.Popen(words, env=before | shared | own))
        os.environ.update(shared | {"RANK": "0", "LOCAL_RANK": "0"})
        yield lambda: all(process.poll() is None for process in processes)
    finally:
        for name in (*shared, "RANK", "LOCAL_RANK"):
            os.environ.pop(name, None)
        os.environ.update(before)
        _end(processes)


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """Wait for followers, which end when the first rank does; kill those that do not."""
    for process in processes:
        try:
            process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def refuse_ranks(ranks: Ranks, settings: RunSettings) -> None:
    """Refuse runs that ranks cannot learn together."""
    if ranks.alone:
        return
    if settings.league is not None:
        raise LanistaError(
            "A league's learners meet each other as they learn, in one process; leave out --ranks, "
            "or train without a league."
        )
    if settings.learning.policy == "regret":
        raise LanistaError(
            "learning.policy is regret, whose networks learn in one process; leave out --ranks."
        )
    if settings.learning.shards < ranks.size:
        raise LanistaError(
            f"learning.shards is {settings.learning.shards}, and {ranks.size} ranks learn; give a "
            f"shard or more to each, with --set learning.shards={ranks.size}."
        )


def begin(ranks: Ranks, settings: RunSettings) -> None:
    """Tell the other ranks what is learned."""
    if not ranks.alone:
        versions = [__version__, torch.__version__]
        ranks.tell("begin", {"settings": plain(settings), "versions": versions})


def follow(ranks: Ranks) -> int:
    """Do what the first rank does until it ends; return 0."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The first rank says when it is over.
    learner: Learner | None = None
    try:
        while True:
            what, value = ranks.heard()
            if what == "end":
                return 0
            if what == "begin":
                learner = _learner(ranks, value)
                continue
            assert learner is not None
            _do(learner, what, value)
    finally:
        if learner is not None:
            learner.close()


def _do(learner: Learner, what: str, value: Any) -> None:
    if what == "load":
        learner.load_state(value)
    elif what == "evaluated":
        learner.evaluated(value)
    else:
        assert what == "update", what
        learner.follow(value)


def _learner(ranks: Ranks, order: dict[str, Any]) -> Learner:
    """Return a learner like the first rank's; its weights come with the first rank's state."""
    versions = [__version__, torch.__version__]
    if order["versions"] != versions:
        raise LanistaError(
            f"Rank {ranks.rank} has lanista {versions[0]} and torch {versions[1]}, and rank 0 has "
            f"{order['versions'][0]} and {order['versions'][1]}; install the same."
        )
    settings = load_settings(order["settings"])
    prepare_torch(settings)
    spec = registry.spec_of(settings.game, seed=settings.seed, **settings.game_settings)
    return Learner(
        spec,
        settings.network,
        settings.learning,
        updates=settings.updates,
        seed=settings.seed,
        device=device_of(settings),
        anchor=Policy(spec, settings.network).to(device_of(settings)),
        threads=settings.rollouts.workers_at_once,
        ranks=ranks,
    )


def main() -> int:
    """Follow the first rank; the entry of processes that `--ranks` starts."""
    try:
        with _closing(_from_environment()) as ranks:
            return follow(ranks)
    except (LostRankError, BrokenLossError):
        return 1  # The first rank is gone, or says it itself.
    except LanistaError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
