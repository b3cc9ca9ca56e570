"""What it costs fixed players to act in blocks, and that a row is then the same in any company."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bench.timing import Rate, per_cpu_second
from lanista.games import make, make_bot
from lanista.games.contract import Decisions, Spec
from lanista.nets.policy import Policy
from lanista.nets.settings import Network, Size
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.row_blocks import BLOCK

KINDS = ("mlp", "residual", "lstm", "transformer")
SIZES: tuple[Size, ...] = ("s", "m", "l")
_TURNS = 9
"""Into the middle of a match, where no two positions are equal."""


def blocks() -> Iterator[dict[str, Any]]:
    """Yield, by network, decisions per CPU second with and without blocks, and what is equal."""
    torch.set_num_threads(1)
    spec, decisions = _position(1024)
    for kind in KINDS:
        for size in SIZES:
            torch.manual_seed(0)
            policy = Policy(spec, Network(kind, size)).eval()
            torch.nn.init.orthogonal_(policy.head.weight, 1.0)
            trial = _Trial(policy, decisions)
            for rows in (1, 1024):
                yield {
                    "measure": "blocks", "network": f"{kind} {size}", "slots": rows,
                    "whole": trial.rate(0, rows).fields(),
                    **{f"block {b}": trial.rate(b, rows).fields() for b in (32, BLOCK, 128)},
                    "rows that differ": trial.differing(0 if rows == 1 else BLOCK),
                }  # fmt: skip


def _position(slots: int) -> tuple[Spec, Decisions]:
    """Return Beasty Bar's decisions in the middle of random matches, kept."""
    game = make("beastybar", slots=slots, seed=1)
    bot = make_bot("beastybar", "random", game.spec, 1)
    game.start(np.arange(slots), np.arange(slots))
    for _ in range(_TURNS):
        now = game.decisions()
        game.act(np.arange(slots), bot.act(now, np.arange(slots)))
    now = game.decisions()
    names = ("slot", "seat", "match", "turn", "observation", "mask")
    return game.spec, Decisions(**{name: getattr(now, name).copy() for name in names})


@dataclass(frozen=True)
class _Trial:
    policy: Policy
    decisions: Decisions

    def rate(self, block: int, rows: int) -> Rate:
        """Return decisions per CPU second, `rows` at a time."""
        actor, some = Actor(self.policy, 0, block=block), np.arange(rows)
        cost = self._seconds(actor, some)
        calls = max(1, int(0.1 / cost))

        def work() -> int:
            for _ in range(calls):
                actor.choose(self.decisions, some)
            return calls * rows

        return per_cpu_second(work, repeats=3)

    def _seconds(self, actor: Actor, rows: NDArray[Any]) -> float:
        """Return about what one call costs."""
        return 1.0 / per_cpu_second(lambda: len([actor.choose(self.decisions, rows)]), 2).median

    def differing(self, block: int) -> int:
        """Return how many of 256 rows come out otherwise in other company, to the last bit."""
        rows = np.arange(256)
        whole = self._said(block, rows)
        outputs = [
            self._said(block, some_rows) for some_rows in np.split(rows, [1, 8, 40, 100, 163])
        ]
        return int((whole != np.concatenate(outputs)).any(axis=1).sum())

    def _said(self, block: int, rows: NDArray[Any]) -> NDArray[Any]:
        actor = Actor(self.policy, 0, block=block)
        return actor.choose(self.decisions, rows).log_probs
