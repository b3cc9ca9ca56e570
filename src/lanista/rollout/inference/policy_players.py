"""Frozen policies as players: one file, or several that decide together.

A player's digest is its file's while it samples from what the policy says; play that differs
(greedy, another temperature, an ensemble) has a digest that tells so. They act in blocks, so that a
match comes out the same, to the last bit, in whatever company it is played. Never imports an
optimiser.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.errors import LanistaError
from lanista.games.contract import Decisions, Ints, Spec
from lanista.nets.files.policy_file import LoadedPolicy, load_policy
from lanista.nets.files.policy_format import PolicyFileError
from lanista.nets.finite import named, refuse_not_finite
from lanista.rollout.inference.actor import Actor, refuse_temperature, uniforms_for
from lanista.rollout.inference.row_blocks import BLOCK, in_blocks

Source = str | Path | LoadedPolicy
"""A policy file, or what was loaded from one."""


class PolicyPlayer:
    """An actor as a player: one digest, whatever it plays."""

    def __init__(self, name: str, digest: str, actor: Actor) -> None:
        self.name, self.digest, self.actor = name, digest, actor
        actor.label = named(digest, name)
        actor.keep_weights()

    @property
    def actors(self) -> tuple[Actor, ...]:
        """Those whose recurrent state a match in flight depends on."""
        return (self.actor,)

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        return self.actor.choose(decisions, rows).action


class EnsemblePlayer:
    """Several policies that decide together: the mean of their probabilities, head by head."""

    def __init__(
        self,
        name: str,
        digest: str,
        actors: Sequence[Actor],
        seed: int,
        *,
        greedy: bool = False,
        temperature: float = 1.0,
    ) -> None:
        self.name, self.digest, self.actors = name, digest, tuple(actors)
        self.seed, self.greedy, self.temperature = seed, greedy, temperature
        self.heads = self.actors[0].policy.heads

    @torch.no_grad()
    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        mask = torch.from_numpy(decisions.mask[rows])
        log_probs = [actor.log_probs(decisions, rows) for actor in self.actors]
        (mean,) = in_blocks(self._mean, BLOCK, *log_probs)
        drawn = uniforms_for(self.heads, decisions, rows, None if self.greedy else self.seed)
        action, log_prob = self.heads.choose(mean, mask, drawn, self.temperature)
        refuse_not_finite(log_prob.numpy(), named(self.digest, self.name))
        return action.numpy()

    @staticmethod
    def _mean(*log_probs: Tensor) -> tuple[Tensor, ...]:
        # Up to a constant, which the heads take out again.
        return (torch.stack(log_probs).logsumexp(0),)


def policy_player(
    source: Source,
    spec: Spec,
    seed: int,
    *,
    greedy: bool = False,
    temperature: float = 1.0,
    name: str | None = None,
    block: int = BLOCK,
    device: str = "cpu",
) -> PolicyPlayer:
    """Return the policy of a file as a player of the game `spec`; one that does not fit is refused.

    `greedy` plays the likeliest choice of each head; otherwise choices are sampled, with the
    logits divided by `temperature`. `block` 0 is faster where few rows come at a time, and gives
    up that a match is the same in any company: for opponents in training, which is not replayed.
    """
    loaded = loaded_policy(source, spec)
    policy = loaded.policy.to(device)
    actor = Actor(policy, seed, temperature=temperature, greedy=greedy, block=block)
    digest = loaded.digest + manner_suffix(greedy, temperature)
    return PolicyPlayer(name or name_of(source), digest, actor)


def ensemble_player(
    sources: Sequence[Source],
    spec: Spec,
    seed: int,
    *,
    greedy: bool = False,
    temperature: float = 1.0,
    name: str | None = None,
) -> EnsemblePlayer:
    """Return several policies as one player; `temperature` sharpens or flattens their mean."""
    if not sources:
        raise LanistaError("An ensemble needs policies; name one at least.")
    refuse_temperature(temperature)
    members = [loaded_policy(source, spec) for source in sources]
    # In order of digest: who is named first must not change what is played, to the last bit.
    members.sort(key=lambda member: member.digest)
    text = " ".join(["ensemble", *(member.digest for member in members)])
    return EnsemblePlayer(
        name or "+".join(name_of(source) for source in sources),
        hashlib.sha256(text.encode()).hexdigest() + manner_suffix(greedy, temperature),
        [Actor(member.policy, seed, block=BLOCK) for member in members],
        seed,
        greedy=greedy,
        temperature=temperature,
    )


def loaded_policy(source: Source, spec: Spec) -> LoadedPolicy:
    if not isinstance(source, LoadedPolicy):
        return load_policy(source, spec)
    try:
        source.header.refuse_other(spec)
    except PolicyFileError as error:
        raise PolicyFileError(f"The policy {source.digest[:12]} is refused: {error}.") from error
    return source


def name_of(source: Source) -> str:
    if isinstance(source, LoadedPolicy):
        return source.header.name or source.digest[:12]
    return Path(source).stem


def file_digest(digest: str) -> str:
    """Return the digest of the policy file behind a player's, whatever its manner."""
    return digest.partition(":")[0]


def manner_suffix(greedy: bool, temperature: float) -> str:
    """Return what a digest must add to the policy's: two players that can differ have two."""
    if greedy:
        return ":greedy"
    return "" if temperature == 1.0 else f":temperature={float(temperature)!r}"
