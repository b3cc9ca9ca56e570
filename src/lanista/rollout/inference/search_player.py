"""A policy that searches before it moves, as a player.

The search is guided by the policy's probabilities and by a value of positions. The leaves of all
positions that wait for an answer are judged together, in blocks, so that a match comes out the same
in whatever company it is played. Never imports an optimiser.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.errors import LanistaError
from lanista.games.bots import stream_of
from lanista.games.contract import Decisions, GameError, Ints, Spec
from lanista.games.hooks import write_mask, write_observation
from lanista.games.open_positions import OpenPosition, refuse_search
from lanista.games.planning import Planner
from lanista.nets.finite import named, refuse_not_finite
from lanista.nets.policy import Critic, Policy
from lanista.nets.value_file import load_value
from lanista.rollout.inference.actor import refuse_temperature
from lanista.rollout.inference.policy_players import Source, loaded_policy, manner_suffix, name_of
from lanista.rollout.inference.row_blocks import BLOCK, in_blocks
from lanista.rollout.tree_search import VERSION, Tree

MOST_SIMULATIONS = 100_000


class SearchPlayer:
    """A policy and a value, and how many simulations each decision is given."""

    def __init__(
        self,
        name: str,
        digest: str,
        spec: Spec,
        seed: int,
        judge: Judge,
        simulations: int,
        temperature: float,
    ) -> None:
        """`temperature` scales what is random in the choice; 0 is none of it."""
        refuse_search(spec)
        self.name, self.digest, self.spec, self.seed = name, digest, spec, seed
        self.simulations, self.temperature = simulations, temperature
        self._judge = judge
        self._planner: Planner | None = None

    def plan_with(self, planner: Planner) -> None:
        """Take what gives positions to search from."""
        self._planner = planner

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        trees = [self._tree(decisions, int(row)) for row in rows]
        searching = [(tree, leaf) for tree in trees if (leaf := tree.leaf()) is not None]
        while searching:
            judged = self._judge([leaf for _, leaf in searching])
            for (tree, _), (log_prior, value) in zip(searching, judged, strict=True):
                tree.judged(log_prior, value)
            searching = [(tree, leaf) for tree, _ in searching if (leaf := tree.leaf()) is not None]
        return np.array([[tree.choice()] for tree in trees], np.int32).reshape(len(rows), 1)

    def _tree(self, decisions: Decisions, row: int) -> Tree:
        if self._planner is None:
            raise GameError(
                f"The player {self.name!r} searches, and whoever plays here gives no copies of a "
                "position; play it with lanista play or evaluate."
            )
        position = self._planner.open_position(decisions, row)
        noise = None
        if self.temperature:
            assert position.view is not None
            stream = stream_of(self.seed, decisions, row)
            drawn = [_gumbel(stream.uniform()) for _ in position.view.legal]
            noise = self.temperature * np.array(drawn)
        return Tree(position, self.simulations, noise)


class Judge:
    """A policy's probabilities and a critic's values of positions, in blocks of fixed size."""

    def __init__(self, policy: Policy, critic: Critic, spec: Spec, label: str) -> None:
        self.policy, self.critic, self.spec, self.label = policy, critic, spec, label

    @torch.no_grad()
    def __call__(self, positions: list[OpenPosition]) -> list[tuple[NDArray[Any], float]]:
        """Return log-probabilities of the legal moves, and the value for whoever is to move."""
        spec, count = self.spec, len(positions)
        observation = np.zeros((count, spec.observation.length), spec.observation.dtype)
        mask = np.zeros((count, spec.choices), np.bool_)
        for i, position in enumerate(positions):
            assert position.view is not None
            write_observation(spec, position.view, observation[i])
            write_mask(spec, position.view, mask[i])
        tensors = torch.from_numpy(observation), torch.from_numpy(mask)
        log_probs, value = (out.numpy() for out in in_blocks(self._work, BLOCK, *tensors))
        refuse_not_finite(value, self.label)
        legal = [np.flatnonzero(row) for row in mask]
        return [(log_probs[i, legal[i]], float(value[i])) for i in range(count)]

    def _work(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        log_probs = self.policy.heads.log_probs(self.policy(observation).float(), mask)
        value = self.critic.value_of(self.critic(observation).float(), log_probs.exp())
        return log_probs, value


def search_player(
    source: Source,
    value: Path,
    spec: Spec,
    seed: int,
    simulations: int,
    *,
    greedy: bool = False,
    temperature: float = 1.0,
    name: str | None = None,
) -> SearchPlayer:
    """Return a policy that searches with so many simulations; `value` is the file of its value.

    `greedy` leaves nothing to chance; otherwise `temperature` scales the noise by which moves of
    about equal worth are chosen.
    """
    refuse_search(spec)
    refuse_simulations(simulations)
    refuse_temperature(temperature)
    loaded = loaded_policy(source, spec)
    if loaded.policy.state_size:
        raise LanistaError(
            f"{name or name_of(source)} remembers earlier positions, and a search has none to "
            "remember; search with a policy that is not recurrent."
        )
    judged = load_value(value, spec, loaded.digest)
    digest = f"{loaded.digest}:search={simulations},{VERSION},{judged.digest[:16]}"
    label = named(digest, name or name_of(source))
    return SearchPlayer(
        name or name_of(source),
        digest + manner_suffix(greedy, temperature),
        spec,
        seed,
        Judge(loaded.policy, judged.critic, spec, label),
        simulations,
        0.0 if greedy else temperature,
    )


def refuse_simulations(simulations: int) -> None:
    """Refuse a number of simulations that no search can have."""
    if not 1 <= simulations <= MOST_SIMULATIONS:
        raise LanistaError(
            f"A search has {simulations} simulations; give a number from 1 to {MOST_SIMULATIONS:,}."
        )


def _gumbel(uniform: float) -> float:
    """Return a Gumbel draw from a uniform one in [0, 1)."""
    return -math.log(-math.log(uniform + 1e-12) + 1e-12)
