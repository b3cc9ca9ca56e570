"""How fast a policy learns in a league: against frozen networks, beside pure self-play.

Beasty Bar, PPO with one epoch, a network of two layers of 256 for everybody, one thread, the same
number of matches an update. In self-play both seats' decisions are learned from, against others
half of them; so all decisions that were played are counted, and those learned from beside them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from bench.learning import GAME, SLOTS
from bench.timing import REPEATS, Rate
from lanista import games
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import LEARNER, Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.policy_players import PolicyPlayer
from lanista.rollout.inference.row_blocks import BLOCK
from lanista.rollout.opponent_sampler import seating_of

OPPONENTS = 8
UPDATES = 4
"""Updates of one repeat."""
TARGET = 0.8


@dataclass
class Spent:
    """What one repeat played and learned from, and the CPU seconds it took."""

    played: int = 0
    learned: int = 0
    collecting: float = 0.0
    learning: float = 0.0

    @property
    def seconds(self) -> float:
        return self.collecting + self.learning


class Trainer:
    """A learner with its collector, as a run has them, against so many frozen networks."""

    def __init__(self, opponents: int, slots: int = SLOTS, network: Network | None = None) -> None:
        network = network or Network(kind="mlp", size="m")
        self.game = games.make(GAME, slots=slots, seed=0)
        spec, self.slots = self.game.spec, slots
        self.learner = Learner(spec, network, Learning(policy="ppo", epochs=1), updates=10_000)
        self.collector = Collector(
            self.game, Actor(self.learner.policy, 0), unroll_length=spec.facts.longest
        )
        if opponents:
            players = []
            for number in range(opponents):
                torch.manual_seed(number)
                actor = Actor(Policy(spec, network).eval(), 0, block=BLOCK)
                players.append(PolicyPlayer(f"frozen {number}", str(number), actor))
            numbers = range(LEARNER + 1, LEARNER + 1 + opponents)
            seating = seating_of(list(numbers), [1.0] * opponents, spec.seats, 0)
            self.collector.meet(players, seating)

    def spend(self, updates: int) -> Spent:
        """Play and learn `updates` times."""
        spent = Spent()
        for _ in range(updates):
            began = time.process_time()
            unrolls = self.collector.whole_matches(self.slots)
            collected = time.process_time()
            self.learner.update(unrolls)
            spent.collecting += collected - began
            spent.learning += time.process_time() - collected
            spent.learned += unrolls.decisions
            spent.played += self.slots * self.game.spec.facts.longest
        return spent


def league() -> Iterator[dict[str, Any]]:
    """Measure self-play and a league of eight, taking turns, and compare them."""
    torch.set_num_threads(1)
    alone, among = measure()
    yield line(f"{GAME} self-play", alone)
    yield line(f"{GAME} against {OPPONENTS} frozen networks", among)
    yield ratio(alone, among)


def measure(
    repeats: int = REPEATS, updates: int = UPDATES, slots: int = SLOTS
) -> tuple[list[Spent], list[Spent]]:
    """Return what each repeat of self-play and of the league spent, one after the other."""
    trainers = Trainer(0, slots), Trainer(OPPONENTS, slots)
    for trainer in trainers:
        trainer.spend(1)
    repeats_spent: tuple[list[Spent], list[Spent]] = ([], [])
    for _ in range(repeats):
        for trainer, spent in zip(trainers, repeats_spent, strict=True):
            spent.append(trainer.spend(updates))
    return repeats_spent


def line(label: str, spent: list[Spent]) -> dict[str, Any]:
    """Return the JSON line of one way to train: medians over the repeats."""
    rates = [one.played / one.seconds for one in spent]
    rate = Rate(statistics.median(rates), min(rates), max(rates))
    return {
        "bench": label,
        "unit": "decisions played per CPU second",
        **rate.fields(),
        "learned_from": round(statistics.median(one.learned / one.seconds for one in spent)),
        "collect": round(statistics.median(one.played / one.collecting for one in spent)),
        "learn": round(statistics.median(one.learned / one.learning for one in spent)),
    }


def ratio(alone: list[Spent], among: list[Spent]) -> dict[str, Any]:
    """Return the JSON line that compares them: medians of the ratios of neighbouring repeats."""

    def over(count: str, seconds: str) -> float:
        return statistics.median(
            (getattr(b, count) / getattr(b, seconds)) / (getattr(a, count) / getattr(a, seconds))
            for a, b in zip(alone, among, strict=True)
        )

    played = over("played", "seconds")
    return {
        "bench": f"{GAME} league of {OPPONENTS} over self-play",
        "ratio": round(played, 3),
        "target": TARGET,
        "met": played >= TARGET,
        "learned_from": round(over("learned", "seconds"), 3),
        "collecting_alone": round(over("played", "collecting"), 3),
    }
