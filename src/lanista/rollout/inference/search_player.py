"""A policy that searches before it moves, as a player.

The search is guided by the policy's probabilities and by a value of positions: the mean of random
play-outs, and of what a critic says where there is one. The leaves of all
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
from lanista.games.streams import Stream
from lanista.nets.files.value_file import load_value
from lanista.nets.finite import named, refuse_not_finite
from lanista.nets.policy import Critic, Policy
from lanista.rollout.inference.actor import refuse_temperature
from lanista.rollout.inference.policy_players import Source, loaded_policy, manner_suffix, name_of
from lanista.rollout.inference.row_blocks import BLOCK, in_blocks
from lanista.rollout.tree_search import VERSION, Tree

MOST_SIMULATIONS = 100_000
PLAY_OUTS = 4
"""Random matches to the end from each leaf. They count half where there is a critic."""


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
        streams = [stream_of(self.seed, decisions, int(row)) for row in rows]
        trees = [
            self._tree(decisions, int(row), stream)
            for row, stream in zip(rows, streams, strict=True)
        ]
        searching = list(range(len(trees)))
        while searching := [i for i in searching if trees[i].leaf() is not None]:
            leaves = [leaf for i in searching if (leaf := trees[i].leaf()) is not None]
            judged = self._judge(leaves, [streams[i] for i in searching])
            for i, (log_prior, value) in zip(searching, judged, strict=True):
                trees[i].judged(log_prior, value)
        return np.array([[tree.choice()] for tree in trees], np.int32).reshape(len(rows), 1)

    def _tree(self, decisions: Decisions, row: int, stream: Stream) -> Tree:
        if self._planner is None:
            raise GameError(
                f"The player {self.name!r} searches, and whoever plays here gives no copies of a "
                "position; play it with lanista play or evaluate."
            )
        position = self._planner.open_position(decisions, row)
        noise = None
        if self.temperature:
            assert position.view is not None
            drawn = [_gumbel(stream.uniform()) for _ in position.view.legal]
            noise = self.temperature * np.array(drawn)
        return Tree(position, self.simulations, noise)


class Judge:
    """A policy's probabilities and values of positions; networks run in blocks of fixed size."""

    def __init__(self, policy: Policy, critic: Critic | None, spec: Spec, label: str) -> None:
        self.policy, self.critic, self.spec, self.label = policy, critic, spec, label

    @torch.no_grad()
    def __call__(
        self, positions: list[OpenPosition], streams: list[Stream]
    ) -> list[tuple[NDArray[Any], float]]:
        """Return log-probabilities of the legal moves, and the value for whoever is to move.

        A position's play-outs draw from its own stream.
        """
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
        played = [
            _played_out(position, stream)
            for position, stream in zip(positions, streams, strict=True)
        ]
        values = played if self.critic is None else (value + np.array(played)) / 2
        return [(log_probs[i, np.flatnonzero(mask[i])], float(values[i])) for i in range(count)]

    def _work(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        log_probs = self.policy.heads.log_probs(self.policy(observation).float(), mask)
        if self.critic is None:
            return log_probs, log_probs.amax(-1)
        value = self.critic.value_of(self.critic(observation).float(), log_probs.exp())
        return log_probs, value


def _played_out(position: OpenPosition, stream: Stream) -> float:
    """Return the mean of random play-outs for whoever is to move."""
    total = sum(position.play_out(stream) for _ in range(PLAY_OUTS)) / PLAY_OUTS
    return total if position.seat == 0 else -total


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
    """Return a policy that searches with so many simulations.

    `value` is where the file of its value lies; without one, play-outs judge alone.
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
    judged = load_value(value, spec, loaded.digest) if value.is_file() else None
    judge = "play-outs" if judged is None else judged.digest[:16]
    digest = f"{loaded.digest}:search={simulations},{VERSION},{judge}"
    label = named(digest, name or name_of(source))
    return SearchPlayer(
        name or name_of(source),
        digest + manner_suffix(greedy, temperature),
        spec,
        seed,
        Judge(loaded.policy, judged.critic if judged else None, spec, label),
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
