"""Frozen policies that answer one step together: one inference for each, one draw for all.

A league seats many networks, each with a few rows of a step. Each network sees its own rows once;
masks, probabilities and draws, which do not depend on it, are made for all rows at once. Without
blocks, so for training, which is not replayed. Knows nothing of how seats are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.games.bots import Player
from lanista.games.contract import Decisions, Ints
from lanista.rollout.actor import uniforms_for
from lanista.rollout.device import Lane, Lanes
from lanista.rollout.phases import OPPONENTS, Phases
from lanista.rollout.players import PolicyPlayer
from lanista.rollout.stacked import Stacked, shape_of

_MOST_ROOM = 4
"""Rows that networks run as one may take for each true one; above that they run in turn."""


class Panel:
    """Policies that answer for themselves, all in the same manner."""

    def __init__(
        self, players: Sequence[PolicyPlayer], lane: Lane, *, stack: bool | None = None
    ) -> None:
        """`stack` networks of one shape, so that they run as one; None: where that is a GPU."""
        self.policies = [player.actor.policy for player in players]
        first = players[0].actor
        self.heads = first.policy.heads
        self._lane = lane
        self.seed = None if first.greedy else first.seed
        self.temperature = first.temperature
        stack = lane.device.type == "cuda" if stack is None else stack
        shapes = {shape_of(policy) for policy in self.policies}
        self._stacked: Stacked | None = None
        if stack and len(self.policies) > 1 and len(shapes) == 1 and None not in shapes:
            with lane.here(wait=True):
                self._stacked = Stacked(self.policies)

    @torch.no_grad()
    def act(self, decisions: Decisions, rows: Sequence[NDArray[Any]]) -> Ints:
        """Return the actions, `[rows, heads]`, for the rows of each policy, one after another."""
        every, sizes = np.concatenate(rows), np.array([len(own) for own in rows])
        room = sizes.max() * len(sizes)
        if self._stacked is None or room > _MOST_ROOM * len(every):
            return self._answers(decisions, every, partial(self._in_turn, sizes.tolist()))
        # What fills the others up to the one with the most rows is answered and not looked at.
        real = np.arange(sizes.max()) < sizes[:, None]
        filled = np.zeros(real.shape, np.int64)
        filled[real] = every
        return self._answers(decisions, filled.ravel(), self._at_once)[real.ravel()]

    def _in_turn(self, sizes: list[int], observation: Tensor) -> Tensor:
        parts = zip(self.policies, torch.split(observation, sizes), strict=True)
        return torch.cat([policy(part) for policy, part in parts if len(part)])

    def _at_once(self, observation: Tensor) -> Tensor:
        assert self._stacked is not None
        apart = observation.view(len(self.policies), -1, observation.shape[-1])
        return self._stacked(apart).flatten(0, 1)

    def _answers(
        self, decisions: Decisions, rows: NDArray[Any], judge: Callable[[Tensor], Tensor]
    ) -> Ints:
        lane = self._lane
        gathered = {
            "observation": lane.gather("observation", decisions.observation, rows),
            "mask": lane.gather("mask", decisions.mask, rows),
        }
        drawn = uniforms_for(self.heads, decisions, rows, self.seed)
        if drawn is not None:
            gathered["uniforms"] = lane.gather("uniforms", drawn.numpy())
        with lane.here(wait=False):  # Nobody changes their weights.
            given = lane.up(gathered)
            logits, uniforms = judge(given["observation"]).float(), given.get("uniforms")
            action, _ = self.heads.choose(logits, given["mask"], uniforms, self.temperature)
            return lane.down(action=action)["action"].copy()


class Others:
    """Everybody at a table but the learner, by their numbers from 1."""

    def __init__(self, players: Sequence[Player], lanes: Lanes) -> None:
        """Let them act on the `lanes` of the worker whose table it is."""
        alike: dict[Hashable, list[tuple[int, PolicyPlayer]]] = {}
        self.apart: list[tuple[int, Player]] = []
        for number, player in enumerate(players, start=1):
            if (manner := _manner(player)) is None:
                self.apart.append((number, player))
                for actor in getattr(player, "actors", ()):
                    actor.share(lanes.of(actor.device))
            else:
                assert isinstance(player, PolicyPlayer)
                alike.setdefault(manner, []).append((number, player))
        self.panels: list[tuple[list[int], Panel]] = []
        for group in alike.values():
            members = [player for _, player in group]
            panel = Panel(members, lanes.of(members[0].actor.device))
            self.panels.append(([number for number, _ in group], panel))

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
    # On a GPU those of one shape run as one.
    shape = shape_of(actor.policy) if actor.device.type == "cuda" else None
    return actor.seed, actor.greedy, actor.temperature, actor.device, actor.policy.heads, shape
