"""How fast MicroRTS is played here: `python -m bench.microrts`, one JSON line a measurement.

The engine is Java in the process, so its compiler and collector are in the CPU seconds too; a
first round, which is not counted, lets it warm up.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from bench.timing import per_cpu_second
from lanista.games import make, make_bot
from lanista.games.microrts import MicroRTS
from lanista.games.microrts.minds import SCRIPTS
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.actor import Actor

PAIRS = (("random", "random"), ("worker_rush", "light_rush"), ("coac", "worker_rush"))
TICKS = 200
MOST_TURNS = 30


def rates() -> Iterator[dict[str, Any]]:
    """Measure whole play: observation and mask written, both seats answered."""
    for side, slots in ((8, 24), (16, 8)):
        for names in PAIRS:
            game = make("microrts", slots=slots, seed=1, side=side, longest=TICKS)
            assert isinstance(game, MicroRTS)
            _play(game, names)
            decided = per_cpu_second(lambda g=game, n=names: _play(g, n)[0])  # type: ignore[misc]
            ticks = per_cpu_second(lambda g=game, n=names: _play(g, n)[1])  # type: ignore[misc]
            yield {
                "bench": f"microrts {side}x{side}, {slots} matches, {names[0]} and {names[1]}",
                "unit": "per CPU second",
                "decisions": decided.fields(),
                "ticks": ticks.fields(),
            }


def _play(game: MicroRTS, names: tuple[str, str]) -> tuple[int, int]:
    """Play a match in every slot; return the decisions and the ticks."""
    players = [make_bot("microrts", name, game.spec, 1) for name in names]
    slots, decided = np.arange(game.slots), 0
    game.start(slots, slots)
    while len(decisions := game.decisions()):
        actions = np.empty((len(decisions), len(game.spec.heads)), np.int32)
        for seat, who in enumerate(players):
            rows = np.flatnonzero(decisions.seat == seat)
            if len(rows):
                actions[rows] = who.act(decisions, rows)
        decided += len(decisions)
        game.act(np.arange(len(decisions)), actions)
    return decided, int(game.boards.time.sum())


def bots() -> Iterator[dict[str, Any]]:
    """Measure what a decision of each bot costs, against `random` on the small board."""
    for name in SCRIPTS:
        game = make("microrts", slots=1, seed=1, longest=TICKS)
        players = [make_bot("microrts", who, game.spec, 1) for who in (name, "random")]
        spent: list[float] = []
        for match in range(3):
            game.start([0], [match])
            for _ in range(MOST_TURNS):
                decisions = game.decisions()
                actions = np.zeros((len(decisions), len(game.spec.heads)), np.int32)
                for row, seat in enumerate(decisions.seat):
                    began = time.process_time()
                    actions[row] = players[seat].act(decisions, np.array([row]))[0]
                    if match and not seat:
                        spent.append(time.process_time() - began)
                game.act(np.arange(len(decisions)), actions)
        yield {
            "bench": f"bot {name}",
            "unit": "CPU milliseconds a decision",
            "mean": round(1000 * sum(spent) / len(spent), 2),
            "decisions": len(spent),
        }


def policies() -> Iterator[dict[str, Any]]:
    """Measure what a network adds to a decision: seen, masked, sampled; one thread."""
    torch.set_num_threads(1)
    for side in (8, 16):
        game = make("microrts", slots=64, seed=1, side=side)
        game.start(np.arange(64), np.arange(64))
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        actor = Actor(Policy(game.spec, Network("mlp", width=128, layers=2)), 1)

        def choose(actor: Actor = actor, rows: Any = rows, decisions: Any = decisions) -> int:
            for _ in range(10):
                actor.choose(decisions, rows)
            return 10 * len(rows)

        yield {
            "bench": f"policy mlp 128x128, {side}x{side}, {game.spec.choices} choices",
            "unit": "decisions per CPU second",
            **per_cpu_second(choose).fields(),
        }


if __name__ == "__main__":
    for measure in (rates, bots, policies):
        if len(sys.argv) == 1 or measure.__name__ in sys.argv[1:]:
            for line in measure():
                print(json.dumps(line), flush=True)
