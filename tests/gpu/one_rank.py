"""One rank on a GPU that exchanges with itself by NCCL; for test_gpu_ranks.py. Prints a JSON line.

A learner that exchanges is compared with one that does not, beside two that do not: what a GPU adds
up in another order the second time is no fault of the exchange.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

from lanista.games import registry
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.learn.update.ranks import Ranks, TorchRanks
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor

TERMS = {"policy": 1.0, "value": 0.5, "entropy": 0.01}


def learned(ranks: Ranks) -> Learner:
    """Return a learner after three updates in shards."""
    game = registry.make("leduc", slots=64, seed=1)
    settings = Learning(terms=TERMS, policy="ppo", minibatches=2, epochs=2, shards=3)
    network = Network(width=32, layers=2)
    learner = Learner(game.spec, network, settings, updates=9, device="cuda", ranks=ranks)
    alone = Learner(game.spec, network, Learning(), updates=9)
    collector = Collector(game, Actor(alone.policy, 3, alone.critic), unroll_length=8)
    for _ in range(3):
        learner.update(collector.whole_matches(256))
    return learner


def furthest(one: Learner, other: Learner) -> float:
    pairs = zip(one.parameters, other.parameters, strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs)


def main(port: int) -> None:
    ranks = TorchRanks(0, 1, "127.0.0.1", port)
    ranks.device = torch.device("cuda")
    sent = [torch.randn(5, 3, device="cuda").t(), torch.tensor([1, 2], device="cuda")]
    (back,) = ranks.exchanged([sent])
    exact = all(map(torch.equal, sent, back)) and all(one.is_cuda for one in back)
    first, second, third = learned(Ranks()), learned(Ranks()), learned(ranks)
    outcome: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "exact": exact,
        "backend": str(torch.distributed.get_backend_config()),
        "moved": furthest(first, learner_at_start()),
        "alone_twice": furthest(first, second), "with_exchange": furthest(first, third),
    }  # fmt: skip
    ranks.close()
    print(json.dumps(outcome))


def learner_at_start() -> Learner:
    game = registry.make("leduc", slots=64, seed=1)
    return Learner(game.spec, Network(width=32, layers=2), Learning(), updates=9, device="cuda")


if __name__ == "__main__":
    main(int(sys.argv[1]))
