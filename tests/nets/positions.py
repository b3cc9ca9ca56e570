"""Games, positions of random play, and policies whose choices are far from uniform."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import nn

from lanista.games import registry
from lanista.games.contract import Spec
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

KINDS = ("mlp", "residual", "lstm", "transformer", "transformer_lstm")
GAMES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("beastybar", {"seats": 2}),
    ("beastybar", {"seats": 3}),
    ("beastybar", {"seats": 4}),
    ("arena", {"observation": "rich"}),
    ("arena", {"observation": "classic19"}),
    ("kuhn", {}),
    ("leduc", {}),
    ("liars_dice", {}),
    ("phantom_ttt", {}),
)
IDS = [" ".join([name, *map(str, settings.values())]) for name, settings in GAMES]


def small(kind: str) -> Network:
    return Network(kind, width=16, layers=2)  # type: ignore[arg-type]


def spec_of(name: str, **settings: Any) -> Spec:
    return registry.make(name, **settings).spec


def eager_policy(spec: Spec, network: Network, seed: int = 0) -> Policy:
    """Return a policy that prefers some choices, so that a difference in it shows."""
    torch.manual_seed(seed)
    policy = Policy(spec, network)
    nn.init.orthogonal_(policy.head.weight, 3.0)
    return policy


def anything(spec: Spec, rows: int = 64) -> Any:
    """Return observations in which every entry takes values other than zero."""
    drawn = np.random.default_rng(7)
    columns = [
        drawn.integers(0, field.classes, (rows, field.size))
        if field.classes
        else drawn.integers(-2, 3, (rows, field.size))
        if spec.observation.dtype == "float32"
        else drawn.integers(0, 3, (rows, field.size))
        for field in spec.observation.fields
    ]
    return np.concatenate(columns, 1).astype(spec.observation.dtype)


@cache
def positions(name: str, steps: int = 6, **settings: Any) -> tuple[Any, Any]:
    """Return observations and masks that a random bot meets."""
    game = registry.make(name, slots=8, seed=3, **settings)
    bot = registry.make_bot(name, "random", game.spec, 3)
    game.start(np.arange(8), np.arange(8))
    seen = []
    for _ in range(steps):
        decisions = game.decisions()
        if not len(decisions):
            break
        rows = np.arange(len(decisions))
        seen.append((decisions.observation[rows], decisions.mask[rows]))
        game.act(rows, bot.act(decisions, rows))
    return tuple(np.concatenate(column) for column in zip(*seen, strict=True))  # type: ignore[return-value]
