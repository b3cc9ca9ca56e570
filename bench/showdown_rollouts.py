"""`python -m bench.showdown_rollouts TEAMS`: what a learner's decision costs in rollouts.

One process plays as the recipe `showdown-teams` does: `champion:showdown` against itself and the
recipe's bots, a stream of unrolls. CPU seconds are Python's and Node's together, after a round that
is not counted. The digest is of all that a learner would read, so that two versions can be held
against each other: equal digests are equal views, masks, choices, probabilities and rewards.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lanista.data.trajectory import ALL, Unrolls
from lanista.games import make_bot, registry
from lanista.games.showdown.game import Showdown
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_file import load_policy
from lanista.rollout.collector import LEARNER, Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.opponent_sampler import seating_of

WEIGHTS = {"self": 5.0, "heuristic": 2.0, "simple_heuristics": 3.0, "max_base_power": 2.0}
"""The recipe's opponents."""
SLOTS, LENGTH, SHAPING = 128, 16, 0.5


def collector_of(teams: Path, slots: int) -> Collector:
    """Return a learner at the game, with the recipe's company."""
    settings = {"observation": 2, "mode": "cross", "team_pool_path": str(teams)}
    game = registry.make("showdown", slots=slots, seed=0, **settings)
    policy = load_policy(policy_file("champion:showdown")).policy.eval()
    bots = [make_bot("showdown", name, game.spec, 0) for name in list(WEIGHTS)[1:]]
    collector = Collector(game, Actor(policy, 0), unroll_length=LENGTH, shaping_scale=SHAPING)
    numbers = list(range(LEARNER, LEARNER + len(WEIGHTS)))
    collector.meet(bots, seating_of(numbers, list(WEIGHTS.values()), game.spec.seats, 0))
    return collector


def digest_of(unrolls: Unrolls, digest: Any) -> None:
    """Add everything of some unrolls to a digest."""
    for name in ALL:
        column = getattr(unrolls, name)
        if column is not None:
            digest.update(name.encode() + np.ascontiguousarray(column).tobytes())


def measure(collector: Collector, unrolls: int, rounds: int) -> dict[str, Any]:
    """Return the learner's decisions per CPU second of `rounds`, and where the seconds went."""
    game, digest = collector.game, hashlib.sha256()
    assert isinstance(game, Showdown)
    digest_of(collector.unrolls(unrolls), digest)
    collector.phases.taken()
    rates, cost, decisions, node_spent = [], [], 0, 0.0
    for _ in range(rounds):
        began, node = time.process_time(), game.battles.usage()[0]
        played = collector.unrolls(unrolls)
        node = game.battles.usage()[0] - node
        spent = time.process_time() - began + node
        digest_of(played, digest)
        rates.append(played.decisions / spent)
        cost.append(spent / played.decisions)
        decisions, node_spent = decisions + played.decisions, node_spent + node
    phases = {**collector.phases.taken()[1], "node": node_spent}
    return {
        "bench": "showdown, rollouts of the recipe, one process", "slots": game.slots,
        "unit": "learner's decisions per CPU second, Python and Node",
        "median": round(statistics.median(rates)),
        "low": round(min(rates)), "high": round(max(rates)),
        "decisions": decisions,
        "milliseconds": round(1000 * statistics.median(cost), 3),
        "milliseconds_by_phase": {
            name: round(1000 * seconds / decisions, 3) for name, seconds in sorted(phases.items())
        },
        "digest": digest.hexdigest()[:16],
    }  # fmt: skip


def main() -> None:
    """Play, and print one JSON line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("teams", type=Path, help="folder of `lanista showdown teams`")
    parser.add_argument("--slots", type=int, default=SLOTS)
    parser.add_argument("--unrolls", type=int, default=128, help="of each round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    collector = collector_of(options.teams, options.slots)
    try:
        print(json.dumps(measure(collector, options.unrolls, options.rounds)), flush=True)
    finally:
        collector.close()


if __name__ == "__main__":
    main()
