"""One rank of several that learn the cases of test_shards.py; for test_ranks.py.

The first rank plays, learns alone with all shards, then with the others, and compares every number
and every bit of the weights. Prints one JSON line.
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
sys.path.insert(0, str(Path(__file__).parent))

from test_shards import CASES, learner_of, run_of

from lanista.learn.learner import BrokenLossError, Learner
from lanista.learn.update.ranks import Ranks, TorchRanks

UPDATES = 2


def learner_with(case: str, shards: int, ranks: Ranks) -> Learner:
    run, settings = run_of(case, shards=shards, term_gradients_every=2)
    return Learner(
        run.game.spec, run.learner.network, settings, updates=100, seed=3, ranks=ranks
    )  # fmt: skip


def lead(ranks: TorchRanks, shards: int) -> dict[str, bool]:
    """Return for each case whether the ranks learned what one rank learns."""
    equal = {}
    for case in CASES:
        run, settings = run_of(case, shards=shards, term_gradients_every=2)
        data = [run.play(40) for _ in range(UPDATES)]
        alone = learner_of(run, settings, 1)
        ranks.tell("case", [case, shards])
        together = learner_with(case, shards, ranks)
        together.load_state(copy.deepcopy(alone.state()))
        logs = []
        for learner in (alone, together):
            learner.evaluated(0.5)
            logs.append([learner.update(unrolls) for unrolls in data])
            logs[-1].append(learner.update(data[0], critic_alone=True))
        weights = [[p.detach() for p in one.parameters] for one in (alone, together)]
        equal[case] = logs[0] == logs[1] and all(map(torch.equal, *weights))
    return equal


def broken(ranks: TorchRanks, shards: int) -> str:
    """Return what the first rank says of a loss that is no number in a shard of another."""
    run, _ = run_of("ppo", shards=shards)
    unrolls = run.play(40)
    unrolls.reward[-1] = float("nan")
    ranks.tell("case", ["ppo", shards])
    learner = learner_with("ppo", shards, ranks)
    before = [p.detach().clone() for p in learner.parameters]
    try:
        learner.update(unrolls)
    except BrokenLossError as error:
        assert all(map(torch.equal, before, learner.parameters))
        return str(error)
    return "nothing"


def follow(ranks: TorchRanks) -> dict[str, str]:
    learner, sentence = None, ""
    while True:
        what, value = ranks.heard()
        if what == "end":
            return {"broken": sentence}
        if what == "case":
            learner = learner_with(value[0], value[1], ranks)
        elif what == "load":
            learner.load_state(value)
        elif what == "evaluated":
            learner.evaluated(value)
        else:
            try:
                learner.follow(value)
            except BrokenLossError as error:
                sentence = str(error)


def main(rank: int, size: int, shards: int, port: int) -> None:
    torch.set_num_threads(1)
    ranks = TorchRanks(rank, size, "127.0.0.1", port)
    if rank:
        outcome = follow(ranks)
    else:
        outcome = {"equal": lead(ranks, shards), "broken": broken(ranks, shards)}
    ranks.close()
    print(json.dumps(outcome))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
