"""Lets a policy act: on a batch of decisions, with the numbers that a learner needs later.

Equal positions are shown to the network once. Sampling draws from the streams of (seed, match,
seat, turn), so an action does not depend on who else is in the batch. Never imports an optimiser.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.data.equal_rows import equal_rows
from lanista.games.contract import Decisions, Ints
from lanista.games.streams import uniforms
from lanista.nets.policy import Critic, Policy


@dataclass(frozen=True)
class Choice:
    """What a policy chose at some decisions, and how."""

    action: NDArray[np.int32]
    log_prob: NDArray[np.float32]
    log_probs: NDArray[np.float32]
    value: NDArray[np.float32] | None
    state: NDArray[np.float32] | None
    """`[n, state_size]`: the recurrent state before the decision."""


class Actor:
    """A policy, and the critic that judges for it while it learns."""

    def __init__(
        self,
        policy: Policy,
        seed: int,
        critic: Critic | None = None,
        *,
        temperature: float = 1.0,
        greedy: bool = False,
        precision: torch.dtype = torch.float32,
    ) -> None:
        self.policy, self.critic, self.seed = policy, critic, seed
        self.temperature, self.greedy, self.precision = temperature, greedy, precision
        self.device = next(policy.parameters()).device
        self._memory: dict[tuple[int, int], tuple[int, NDArray[np.float32]]] = {}

    @torch.no_grad()
    def choose(
        self,
        decisions: Decisions,
        rows: NDArray[Any],
        privileged: NDArray[Any] | None = None,
    ) -> Choice:
        """Choose at `rows` of `decisions`; `privileged` is what the critic may see there."""
        observation, mask = decisions.observation[rows], decisions.mask[rows]
        before = self._recall(decisions, rows) if self.policy.state_size else None
        log_probs, features, state = self._policy(observation, mask, before)
        action = self._draw(decisions, rows, log_probs, mask)
        chosen = self.policy.heads.joint(log_probs, torch.from_numpy(action).long())
        if state is not None:
            self._remember(decisions, rows, state)
        value = self._value(observation, features, privileged)
        return Choice(action, chosen.numpy(), log_probs.numpy(), value, before)

    def _policy(
        self, observation: NDArray[Any], mask: NDArray[np.bool_], state: NDArray[Any] | None
    ) -> tuple[Tensor, Tensor, NDArray[np.float32] | None]:
        """Return log-probabilities, features and the new state, on the CPU in float32."""
        if state is not None:
            with self._autocast():
                logits, features, after = self.policy.step(
                    self._to_device(observation), self._to_device(state)
                )
            log_probs = self._log_probs(logits, mask)
            return log_probs, features.float().cpu(), after.float().cpu().numpy()
        # The mask follows from the view in an honest game; both are compared all the same.
        first, group = equal_rows(
            np.concatenate([_bytes(observation), mask.view(np.uint8)], axis=1)
        )
        once = len(first) < len(observation)
        seen = observation[first] if once else observation
        with self._autocast():
            features = self.policy.torso(self._to_device(seen))
            logits = self.policy.head(features)
        log_probs = self._log_probs(logits, mask[first] if once else mask)
        features = features.float().cpu()
        if once:
            kinds = torch.from_numpy(group)
            return log_probs[kinds], features[kinds], None
        return log_probs, features, None

    def _log_probs(self, logits: Tensor, mask: NDArray[np.bool_]) -> Tensor:
        logits = logits.float().cpu()
        if self.temperature != 1.0:
            logits = logits / self.temperature
        return self.policy.heads.log_probs(logits, torch.from_numpy(mask))

    def _draw(
        self, decisions: Decisions, rows: NDArray[Any], log_probs: Tensor, mask: NDArray[np.bool_]
    ) -> Ints:
        if self.greedy:
            return self.policy.heads.mode(log_probs, torch.from_numpy(mask)).int().numpy()
        numbers = uniforms(
            self.seed,
            decisions.match[rows],
            decisions.seat[rows],
            decisions.turn[rows],
            len(self.policy.heads.sizes),
        )
        return self.policy.heads.sample(log_probs, torch.from_numpy(numbers)).int().numpy()

    def _value(
        self, observation: NDArray[Any], features: Tensor, privileged: NDArray[Any] | None
    ) -> NDArray[np.float32] | None:
        if self.critic is None or self.critic.output == "q":
            return None
        if self.critic.torso is None:
            out = self.critic(features.to(self.device)).float().cpu()
        else:
            view = observation if privileged is None else privileged
            first, group = equal_rows(view)
            with self._autocast():
                out = self.critic(self._to_device(view[first])).float().cpu()
            out = out[torch.from_numpy(group)]
        return self.critic.value_of(out).numpy()

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return the recurrent states carried through matches, as arrays; none: empty."""
        if not self._memory:
            return {}
        return {
            "place": np.array(list(self._memory), np.int64),
            "match": np.array([match for match, _ in self._memory.values()], np.int64),
            "state": np.stack([state for _, state in self._memory.values()]),
        }

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `memory` gave."""
        self._memory = {}
        if memory:
            kept = zip(memory["place"], memory["match"], memory["state"], strict=True)
            self._memory = {(int(p[0]), int(p[1])): (int(m), s.copy()) for p, m, s in kept}

    def _recall(self, decisions: Decisions, rows: NDArray[Any]) -> NDArray[np.float32]:
        """Return each seat's state so far in its match; zeros at its first decision."""
        state = np.zeros((len(rows), self.policy.state_size), np.float32)
        for i, row in enumerate(rows):
            match, kept = self._memory.get(
                (int(decisions.slot[row]), int(decisions.seat[row])), (-1, state[i])
            )
            if match == decisions.match[row]:
                state[i] = kept
        return state

    def _remember(self, decisions: Decisions, rows: NDArray[Any], state: NDArray[Any]) -> None:
        for i, row in enumerate(rows):
            place = int(decisions.slot[row]), int(decisions.seat[row])
            self._memory[place] = int(decisions.match[row]), state[i]

    def _autocast(self) -> torch.autocast:
        return torch.autocast(
            self.device.type, self.precision, enabled=self.precision != torch.float32
        )

    def _to_device(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)


class PolicyPlayer:
    """A frozen policy as a player: one digest, whatever it plays."""

    def __init__(self, name: str, digest: str, actor: Actor) -> None:
        self.name, self.digest, self.actor = name, digest, actor

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        return self.actor.choose(decisions, rows).action
