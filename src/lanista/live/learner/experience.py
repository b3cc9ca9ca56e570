"""Turns live games into unrolls, as a learner reads them.

Decisions are the policy's own; what the bot's rules played is environment. A game without a
result ends before its last decision, whose value stands for what would have come. Owns what a
game's rewards are; knows nothing of files and of losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lanista.data.trajectory import Unrolls
from lanista.learn.learner import Learner
from lanista.learn.update.batch import Batch
from lanista.learn.update.forward import Views, forward
from lanista.live.files.game_file import GameFile
from lanista.live.learner.settings import LiveSettings
from lanista.nets.policy import Policy

_LARGEST_GAP = 40.0
"""Of log-probabilities: beyond it a ratio says only "far away", and must not overflow."""


@dataclass(frozen=True)
class TrainingGame:
    """A game, and what its decisions brought."""

    game: GameFile
    own: NDArray[np.intp]
    """The steps to learn from: the policy's decisions, less the last one of a game cut off."""
    rewards: NDArray[np.float32]
    """`[own]`."""
    next: int | None
    """The step after them, if the game has no result."""
    update: int
    """Of the weights that played."""

    @classmethod
    def of(cls, game: GameFile, settings: LiveSettings, update: int) -> TrainingGame:
        """Return what can be learned from a game; perhaps nothing."""
        own, after = game.decisions, None
        if game.header.cut_off and len(own):
            own, after = own[:-1], int(own[-1])
        rewards = settings.reward_weight * game.rewards[own]
        if not game.header.cut_off and len(own):
            rewards[-1] += settings.outcome_weight * game.outcome[0]
        return cls(game, own, rewards.astype(np.float32), after, update)

    def came(self, gamma: float) -> float | None:
        """Return the discounted return of the first decision; None for a game cut off."""
        if self.next is not None or not len(self.own):
            return None
        return float(self.rewards @ gamma ** np.arange(len(self.rewards), dtype=np.float64))


@dataclass(frozen=True)
class _Lane:
    """Consecutive own decisions of one game."""

    training_game: int
    first: int
    """Place of its first decision among the training_game's own."""
    end: int
    next: int | None
    """The step of the decision after it, if there is one."""


def unrolls_of(
    training_games: Sequence[TrainingGame], settings: LiveSettings, learner: Learner
) -> Unrolls:
    """Return games as unrolls, each a lane or several."""
    remembers = bool(learner.policy.state_size)
    lanes = [
        lane
        for number, training_game in enumerate(training_games)
        for lane in _lanes(number, training_game, settings.unroll_length, remembers)
    ]
    columns = _rows(training_games) | _next(training_games, lanes)
    if remembers:
        columns |= _memories(training_games, lanes, learner)
    return Unrolls(index=_index(training_games, lanes), **columns)


def _lanes(number: int, training_game: TrainingGame, longest: int, remembers: bool) -> list[_Lane]:
    """Cut a game; a recurrent policy's state is reset after steps that were not its own."""
    own, after = training_game.own, training_game.next
    cuts = list(range(0, len(own), longest))
    if remembers:
        cuts = [0]
        for place in range(1, len(own)):
            if own[place] != own[place - 1] + 1 or place - cuts[-1] >= longest:
                cuts.append(place)
    ends = [*cuts[1:], len(own)]
    return [
        _Lane(number, first, end, int(own[end]) if end < len(own) else after)
        for first, end in zip(cuts, ends, strict=True)
        if end > first
    ]


def _rows(training_games: Sequence[TrainingGame]) -> dict[str, Any]:
    sizes = [len(training_game.own) for training_game in training_games]
    ended = [np.zeros(size, np.bool_) for size in sizes]
    for flags, training_game in zip(ended, training_games, strict=True):
        if len(flags):
            flags[-1] = training_game.next is None

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate(
            [
                getattr(training_game.game, name)[training_game.own]
                for training_game in training_games
            ]
        )

    return {
        "observation": joined("observations"),
        "mask": joined("legal"),
        "action": joined("actions"),
        "log_prob": joined("log_probs"),
        "reward": np.concatenate([training_game.rewards for training_game in training_games]),
        "ended": np.concatenate(ended),
        "seat": np.zeros(sum(sizes), np.int32),
        "match": np.repeat(np.arange(len(training_games)), sizes),
        "turn": np.concatenate([training_game.own for training_game in training_games]).astype(
            np.int32
        ),
        "update": np.repeat(
            [training_game.update for training_game in training_games], sizes
        ).astype(np.int32),
    }


def _index(training_games: Sequence[TrainingGame], lanes: Sequence[_Lane]) -> NDArray[np.int32]:
    starts = np.cumsum([0, *(len(training_game.own) for training_game in training_games)])
    index = np.full((max(lane.end - lane.first for lane in lanes), len(lanes)), -1, np.int32)
    for column, lane in enumerate(lanes):
        size = lane.end - lane.first
        index[:size, column] = starts[lane.training_game] + lane.first + np.arange(size)
    return index


def _next(training_games: Sequence[TrainingGame], lanes: Sequence[_Lane]) -> dict[str, Any]:
    """Return the decision after each lane; zeros where there is none."""
    first = training_games[0].game
    observation = np.zeros((len(lanes), first.observations.shape[1]), first.observations.dtype)
    mask = np.zeros((len(lanes), first.header.layout.choices), np.bool_)
    for row, lane in enumerate(lanes):
        if lane.next is not None:
            game = training_games[lane.training_game].game
            observation[row] = game.observations[lane.next]
            mask[row] = game.legal[lane.next]
    goes_on = np.array([lane.next is not None for lane in lanes])
    return {"next_observation": observation, "next_mask": mask, "goes_on": goes_on}


@torch.no_grad()
def _memories(
    training_games: Sequence[TrainingGame], lanes: Sequence[_Lane], learner: Learner
) -> dict[str, Any]:
    """Return what the policy remembers before each lane, and the value after it.

    The weights that learn look at every step of a game, overruled ones too, as those that played
    did: what they remember differs a little from what was remembered then.
    """
    state = np.zeros((len(lanes), learner.policy.state_size), np.float32)
    value = np.zeros(len(lanes), np.float32)
    for number, training_game in enumerate(training_games):
        mine = [(row, lane) for row, lane in enumerate(lanes) if lane.training_game == number]
        before = {int(training_game.own[lane.first]): row for row, lane in mine}
        after = {lane.next: row for row, lane in mine if lane.next is not None}
        observations = torch.from_numpy(training_game.game.observations.copy()).to(learner.device)
        memory = torch.zeros((1, learner.policy.state_size), device=learner.device)
        for step in range(len(observations)):
            if step in before:
                state[before[step]] = memory[0].cpu().numpy()
            _, features, memory = learner.policy.step(observations[step : step + 1], memory)
            if step in after:
                judged = features if learner.critic.torso is None else observations[step : step + 1]
                out = learner.critic(judged)
                value[after[step]] = float(learner.critic.value_of(out))
    return {"state": state, "next_value": value}


@torch.no_grad()
def with_values(unrolls: Unrolls, learner: Learner) -> Unrolls:
    """Return unrolls with what the critic makes of each decision, and of the one after each."""
    views = Views(Batch(unrolls, learner.device), learner.settings)
    judged = forward(learner.policy, learner.critic, views, torch.float32)
    value, next_value = judged.value.cpu().numpy(), judged.next_value.cpu().numpy()
    return replace(unrolls, value=value, next_value=next_value)


@torch.no_grad()
def log_probs_of(unrolls: Unrolls, learner: Learner, policy: Policy) -> NDArray[np.float32]:
    """Return the log-probability of each decision under a policy of the learner's kind, `[N]`."""
    views = Views(Batch(unrolls, learner.device), learner.settings)
    if policy.state_size:
        # From the memory before each unroll, which went through overruled steps too.
        logits, _ = views.policy(policy)
        log_probs = policy.heads.log_probs(logits.float(), views.mask)
    else:
        log_probs = views.log_probs(policy)
    action = views.batch.tensor("action").long()
    joint_log_probs: NDArray[np.float32] = policy.heads.joint(log_probs, action).cpu().numpy()
    return joint_log_probs


def distances(unrolls: Unrolls, learner: Learner, member: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return how far each policy is from the weights that learn, in nats a decision.

    `member` numbers each game's policy from 0. The mean of r - 1 - log r over a policy's decisions,
    r = π(a)/μ(a): it has the mean KL(μ‖π) and is never below 0.
    """
    policy, policies = member[unrolls.match], int(member.max()) + 1
    gap = log_probs_of(unrolls, learner, learner.policy).astype(np.float64) - unrolls.log_prob
    apart = np.exp(np.minimum(gap, _LARGEST_GAP)) - 1 - gap
    total = np.bincount(policy, apart, minlength=policies)
    mean_distance: NDArray[np.float64] = total / np.maximum(
        np.bincount(policy, minlength=policies), 1
    )
    return mean_distance


@torch.no_grad()
def predictions(training_games: Sequence[TrainingGame], learner: Learner) -> list[float | None]:
    """Return what the critic expects at each game's first decision."""
    values: list[float | None] = []
    for training_game in training_games:
        if not len(training_game.own):
            values.append(None)
            continue
        first = int(training_game.own[0])
        rows = torch.from_numpy(training_game.game.observations[: first + 1].copy()).to(
            learner.device
        )
        if learner.critic.torso is not None:
            out = learner.critic(rows[-1:])
        elif not learner.policy.state_size:
            out = learner.critic(learner.policy.torso(rows[-1:]))
        else:
            memory = torch.zeros((1, learner.policy.state_size), device=learner.device)
            for step in range(len(rows)):
                _, features, memory = learner.policy.step(rows[step : step + 1], memory)
            out = learner.critic(features)
        values.append(float(learner.critic.value_of(out)))
    return values
