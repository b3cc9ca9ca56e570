"""How fast a policy learns: rollout and learning together, beside the network's kernels alone.

Beasty Bar by self-play, PPO with one epoch, a network of two layers of 256, one thread. A decision
counts once: it was made, kept, and learned from.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bench.peers_learning import peers
from bench.timing import REPEATS, Rate
from lanista import games
from lanista.games.contract import Game
from lanista.learn.learner import PRECISIONS, Learner
from lanista.learn.settings import Learning
from lanista.nets.encoders import FlatEncoder
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor

GAME, WIDTH, SLOTS = "beastybar", 256, 1024
UPDATES = 4
"""Updates of one repeat, with `SLOTS` matches each."""
SIZES = (SLOTS, 4096)
"""Matches of an update. Some of what a step costs does not depend on how many rows share it."""
TARGETS = {"fp32": 55_000, "bf16": 100_000}


class TimedGame:
    """A game that adds up the CPU seconds spent in it."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self.seconds = 0.0
        for name in ("start", "decisions", "act"):
            setattr(self, name, self._timed(getattr(game, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            began = time.process_time()
            try:
                return method(*args)
            finally:
                self.seconds += time.process_time() - began

        return call


@dataclass
class Spent:
    """Where one repeat's CPU seconds went."""

    decisions: int = 0
    collecting: float = 0.0
    learning: float = 0.0
    simulating: float = 0.0
    kernels: float = 0.0

    @property
    def rate(self) -> float:
        return self.decisions / (self.collecting + self.learning)


class Trainer:
    """A learner with its collector, as a run has them."""

    def __init__(self, precision: str, slots: int = SLOTS, width: int = WIDTH) -> None:
        self.game = TimedGame(games.make(GAME, slots=slots, seed=0))
        settings = Learning(policy="ppo", epochs=1, precision=precision)  # type: ignore[arg-type]
        spec = self.game.spec
        self.learner = Learner(spec, Network(width=width, layers=2), settings, updates=10_000)
        actor = Actor(self.learner.policy, 0, self.learner.critic, precision=PRECISIONS[precision])
        longest = spec.facts.longest
        self.collector = Collector(self.game, actor, unroll_length=longest)  # type: ignore[arg-type]
        self.slots = slots

    def spend(self, updates: int) -> Spent:
        """Play and learn `updates` times."""
        spent, before = Spent(), self.game.seconds
        for _ in range(updates):
            began = time.process_time()
            unrolls = self.collector.whole_matches(self.slots)
            collected = time.process_time()
            self.learner.update(unrolls)
            spent.collecting += collected - began
            spent.learning += time.process_time() - collected
            spent.decisions += unrolls.decisions
        spent.simulating = self.game.seconds - before
        return spent


class Kernels:
    """The matrix products, ReLUs and gradients that the same decisions need, and nothing else."""

    def __init__(self, precision: str, rows: int, slots: int = SLOTS, width: int = WIDTH) -> None:
        spec = games.make(GAME, slots=1, seed=0).spec
        wide = FlatEncoder(spec.observation).width
        self.torso = nn.Sequential(
            nn.Linear(wide, width), nn.ReLU(inplace=True),
            nn.Linear(width, width), nn.ReLU(inplace=True),
        )  # fmt: skip
        self.policy, self.value = nn.Linear(width, spec.choices), nn.Linear(width, 1)
        self.precision = PRECISIONS[precision]
        # As narrow as the network wants them: making them so is the encoder's work.
        self.acting = torch.rand(slots, wide).to(self.precision)
        self.learning = torch.rand(rows, wide).to(self.precision)
        self.gradients = [torch.rand(rows, spec.choices), torch.rand(rows, 1)]
        self.steps = rows // slots

    def seconds(self, updates: int) -> float:
        """Return the CPU seconds of `updates` rollouts and updates."""
        began = time.process_time()
        for _ in range(updates):
            with torch.no_grad():
                for _ in range(self.steps):
                    self._forward(self.acting)
            outputs = self._forward(self.learning)
            # A type that the loss computes in, so that gradients come back in it.
            torch.autograd.backward([out.float() for out in outputs], self.gradients)
        return time.process_time() - began

    def _forward(self, rows: torch.Tensor) -> list[torch.Tensor]:
        with torch.autocast("cpu", self.precision, enabled=self.precision != torch.float32):
            features = self.torso(rows)
            return [self.policy(features), self.value(features)]


def has_bf16() -> bool:
    """Whether this CPU multiplies in bf16 itself."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="ascii")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def learning() -> Iterator[dict[str, Any]]:
    """Measure learning in both precisions, and the PPO of others on the same game."""
    torch.set_num_threads(1)
    ours = {}
    for precision in TARGETS:
        label = f"{GAME} PPO, {WIDTH}x{WIDTH}, {precision}"
        if precision == "bf16" and not has_bf16():
            yield {"bench": label, "why": "not measured: this CPU has no bf16 instructions"}
            continue
        for slots in SIZES:
            spent = measure(precision, updates=UPDATES * SLOTS // slots, slots=slots)
            yield line(f"{label}, {slots} matches", spent, TARGETS[precision])
        ours[precision] = repeats(precision)
    yield from peers(ours)


def repeats(precision: str) -> Callable[[], float]:
    """Return what measures one more repeat of ours, which it makes when it is first asked."""
    trainers: list[Trainer] = []

    def rate() -> float:
        if not trainers:
            trainers.append(Trainer(precision))
            trainers[0].spend(1)
        return trainers[0].spend(UPDATES).rate

    return rate


def measure(
    precision: str, repeats: int = REPEATS, updates: int = UPDATES, slots: int = SLOTS
) -> list[Spent]:
    """Return what each repeat spent; the kernels alone take turns with it."""
    trainer = Trainer(precision, slots)
    first = trainer.spend(1)
    kernels = Kernels(precision, first.decisions, slots)
    kernels.seconds(1)
    repeats_spent = []
    for _ in range(repeats):
        spent = trainer.spend(updates)
        spent.kernels = kernels.seconds(updates)
        repeats_spent.append(spent)
    return repeats_spent


def line(label: str, spent: list[Spent], target: int) -> dict[str, Any]:
    """Return the JSON line of one precision: medians over the repeats."""
    rates = [one.rate for one in spent]
    rate = Rate(statistics.median(rates), min(rates), max(rates))
    share = statistics.median(s.simulating / (s.collecting + s.learning) for s in spent)
    ceiling = statistics.median(s.decisions / s.kernels for s in spent)
    outside = 1 - statistics.median(s.kernels / (s.collecting + s.learning) for s in spent)
    return {
        "bench": label,
        "unit": "decisions per CPU second",
        **rate.fields(),
        "target": target,
        "met": rate.median >= target,
        "collect": round(statistics.median(s.decisions / s.collecting for s in spent)),
        "learn": round(statistics.median(s.decisions / s.learning for s in spent)),
        "kernels_alone": round(ceiling),
        "outside_kernels": round(outside, 3),
        "outside_kernels_target": 0.15,
        "outside_kernels_met": outside <= 0.15,
        "simulator_share": round(share, 3),
        "simulator_share_target": 0.1,
        "simulator_share_met": share < 0.1,
    }
