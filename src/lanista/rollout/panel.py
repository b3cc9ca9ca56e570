"""Frozen policies that answer one step together: one inference for each, one draw for all.

A league seats many networks, each with a few rows of a step. Each network sees its own rows once;
masks, probabilities and draws, which do not depend on it, are made for all rows at once. Without
blocks, so for training, which is not replayed. Knows nothing of how seats are drawn.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lanista.games.bots import Player
from lanista.games.contract import Decisions, Ints
from lanista.rollout.actor import uniforms_for
from lanista.rollout.phases import OPPONENTS, Phases
from lanista.rollout.players import PolicyPlayer


class Panel:
    """Policies that answer for themselves, all in the same manner."""

    def __init__(self, players: Sequence[PolicyPlayer]) -> None:
        self.policies = [player.actor.policy for player in players]
        first = players[0].actor
        self.heads, self.device = first.policy.heads, first.device
        self.seed = None if first.greedy else first.seed
        self.temperature = first.temperature

    @torch.no_grad()
    def act(self, decisions: Decisions, rows: Sequence[NDArray[Any]]) -> Ints:
        """Return the actions, `[rows, heads]`, for the rows of each policy, one after another."""
        every = np.concatenate(rows)
        seen = torch.from_numpy(decisions.observation.take(every, 0)).to(self.device)
        mask = torch.from_numpy(decisions.mask.take(every, 0))
        cut = torch.split(seen, [len(own) for own in rows])
        parts = zip(self.policies, cut, strict=True)
        logits = torch.cat([policy(part) for policy, part in parts if len(part)])
        drawn = uniforms_for(self.heads, decisions, every, self.seed)
        return self.heads.choose(logits.float().cpu(), mask, drawn, self.temperature)[0].numpy()


class Others:
    """Everybody at a table but the learner, by their numbers from 1."""

    def __init__(self, players: Sequence[Player]) -> None:
        alike: dict[Hashable, list[tuple[int, PolicyPlayer]]] = {}
        self.apart: list[tuple[int, Player]] = []
        for number, player in enumerate(players, start=1):
            if (manner := _manner(player)) is None:
                self.apart.append((number, player))
            else:
                assert isinstance(player, PolicyPlayer)
                alike.setdefault(manner, []).append((number, player))
        self.panels = [
            ([number for number, _ in group], Panel([player for _, player in group]))
            for group in alike.values()
        ]

    def answer(
        self, decisions: Decisions, who: NDArray[Any], actions: NDArray[np.int32], phases: Phases
    ) -> None:
        """Write to `actions` what each answers to the decisions of which `who` has its number."""
        for number, player in self.apart:
            rows = np.flatnonzero(who == number)
            if len(rows):
                with phases(f"{OPPONENTS}/{player.name}"):
                    actions[rows] = player.act(decisions, rows)
        for numbers, panel in self.panels:
            parts = [np.flatnonzero(who == number) for number in numbers]
            if any(map(len, parts)):
                actions[np.concatenate(parts)] = panel.act(decisions, parts)


def _manner(player: Player) -> Hashable:
    """Return what policies must share to answer together; None: it answers for itself."""
    if type(player) is not PolicyPlayer or player.actor.policy.state_size:
        return None
    actor = player.actor
    if actor.precision != torch.float32:
        return None
    return actor.seed, actor.greedy, actor.temperature, actor.device, actor.policy.heads
