"""What ranks bring: seconds of an update in one, two and more processes, with the same shards.

Each rank has one thread of torch. The first plays the arena once; all learn from that again and
again. Wall time, so it means something only on a machine that nobody else uses.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import torch

from lanista.games import make
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.learn.update.ranks import Ranks, TorchRanks, checksum
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor

SHARDS = 8
SIZES = (1, 2, 4, 8)
UNROLLS, LENGTH = 512, 32
NETWORK = Network("mlp", width=256, layers=2)
SETTINGS = Learning(policy="ppo", minibatches=2, shards=SHARDS)
WARM, UPDATES = 2, 8


def ranks() -> Iterator[dict[str, Any]]:
    """Yield a line for each number of ranks that the machine has cores for."""
    for size in (size for size in SIZES if size <= (os.cpu_count() or 1)):
        with socket.socket() as line:
            line.bind(("127.0.0.1", 0))
            port = line.getsockname()[1]
        command = [sys.executable, "-m", "bench.ranks"]
        given = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        processes = [
            subprocess.Popen(
                [*command, str(rank), str(size), str(port)], stdout=subprocess.PIPE, env=given
            )
            for rank in range(size)
        ]
        printed = [process.communicate()[0] for process in processes]
        assert all(process.returncode == 0 for process in processes)
        yield {"bench": "ranks", "ranks": size, "shards": SHARDS, **json.loads(printed[0])}


def _learner(joined: Ranks) -> Learner:
    torch.set_num_threads(1)
    spec = make("arena", slots=1).spec
    return Learner(spec, NETWORK, SETTINGS, updates=1000, seed=1, ranks=joined)


def _lead(joined: Ranks) -> dict[str, Any]:
    learner = _learner(joined)
    game = make("arena", slots=UNROLLS // 2, seed=1)
    collector = Collector(game, Actor(learner.policy, 1, learner.critic), unroll_length=LENGTH)
    unrolls = collector.unrolls(UNROLLS)
    seconds = []
    for _ in range(WARM + UPDATES):
        began = time.perf_counter()
        learner.update(unrolls)
        seconds.append(time.perf_counter() - began)
    return {
        "decisions": unrolls.decisions, "parameters": sum(p.numel() for p in learner.parameters),
        "seconds": round(statistics.median(seconds[WARM:]), 4),
        "low": round(min(seconds[WARM:]), 4), "high": round(max(seconds[WARM:]), 4),
        "weights": checksum(learner.parameters),
    }  # fmt: skip


def _follow(joined: Ranks) -> None:
    learner = _learner(joined)
    while True:
        what, value = joined.heard()
        if what == "end":
            return
        learner.follow(value)


def main(rank: int, size: int, port: int) -> None:
    """Be one rank."""
    joined = Ranks() if size == 1 else TorchRanks(rank, size, "127.0.0.1", port)
    if rank:
        _follow(joined)
    else:
        print(json.dumps(_lead(joined)))
    joined.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
