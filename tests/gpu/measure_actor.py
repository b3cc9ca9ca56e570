"""Prints how fast an actor chooses on a GPU, and where its time goes: `python measure_actor.py`.

Beasty Bar, a policy of two layers of 512 with a critic, bf16. Three ways: over the host as on the
CPU (logits come back, drawn there), launched one by one, and recorded as a CUDA graph; then two
actors in two threads. Not a test: it has no limits.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import torch

from lanista import games
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor


def collector(slots: int, kind: str, graphs: bool, far: bool = True) -> Collector:
    game = games.make("beastybar", slots=slots, seed=0)
    wide = Network(kind, width=512, layers=2) if kind == "mlp" else Network(kind)  # type: ignore[arg-type]
    torch.manual_seed(0)
    policy = Policy(game.spec, wide).cuda()
    critic = Critic(game.spec, wide, "value", features=policy.torso.width).cuda()
    actor = Actor(policy, 0, critic, precision=torch.bfloat16, graphs=graphs)
    actor._far = far
    actor.keep_weights()
    return Collector(game, actor, unroll_length=game.spec.facts.longest)


def rate(run: Collector, slots: int, seconds: float = 4.0) -> tuple[float, dict[str, float]]:
    """Return decisions a second, and each phase's share of the time."""
    run.whole_matches(slots)
    torch.cuda.synchronize()
    run.phases.taken()
    began, decisions = time.perf_counter(), 0
    while (spent := time.perf_counter() - began) < seconds:
        decisions += run.whole_matches(slots).decisions
    wall = run.phases.taken()[0]
    shares = {name: round(each / spent, 3) for name, each in sorted(wall.items())}
    return decisions / spent, shares


def main() -> None:
    torch.set_num_threads(1)
    for kind in ("mlp", "transformer"):
        for slots in (4096, 16384, 65536):
            for way in ("host", "plain", "recorded"):
                run = collector(slots, kind, way == "recorded", way != "host")
                found, shares = rate(run, slots)
                line = {"network": kind, "slots": slots, "way": way, "per_second": round(found)}
                print(json.dumps(line | {"shares": shares}), flush=True)
        runs = [collector(16384, kind, True) for _ in range(2)]
        with ThreadPoolExecutor(2) as pool:
            together = sum(found for found, _ in pool.map(lambda run: rate(run, 16384), runs))
        print(json.dumps({"network": kind, "threads": 2, "per_second": round(together)}))


if __name__ == "__main__":
    sys.exit("no GPU here") if not torch.cuda.is_available() else main()
