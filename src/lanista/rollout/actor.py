"""Lets a policy act: on a batch of decisions, with the numbers that a learner needs later.

Equal positions are shown to the network once. Sampling draws from the streams of (seed, match,
seat, turn), so an action does not depend on who else is in the batch: exactly so in blocks, and
otherwise up to the rounding of the network. Never imports an optimiser.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.data.equal_rows import equal_rows
from lanista.errors import LanistaError
from lanista.games.contract import Decisions, Ints
from lanista.games.streams import uniforms
from lanista.nets.distribution import Heads
from lanista.nets.policy import Critic, Policy
from lanista.rollout.blocks import in_blocks, in_whole_blocks
from lanista.rollout.phases import BATCH, INFER, SAMPLE, Phases


@dataclass(frozen=True)
class Choice:
    """What a policy chose at some decisions, and how."""

    action: NDArray[np.int32]
    log_prob: NDArray[np.float32]
    log_probs: NDArray[np.float32]
    value: NDArray[np.float32] | None
    state: NDArray[np.float32] | None
    """`[n, state_size]`: the recurrent state before the decision."""


@dataclass(frozen=True)
class _Judged:
    """What the networks said of some decisions, on the CPU in float32."""

    log_probs: Tensor
    value: Tensor | None
    before: NDArray[np.float32] | None


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
        block: int = 0,
    ) -> None:
        """Let `policy` act; with `block` above 0, in blocks of so many rows.

        Blocks are for players whose matches are played again; a learner does without them, and so
        a critic cannot be had with them.
        """
        refuse_temperature(temperature)
        if block and critic is not None:
            raise ValueError("An actor with a critic does not act in blocks.")
        self.policy, self.critic, self.seed = policy, critic, seed
        self.temperature, self.greedy, self.precision = temperature, greedy, precision
        self.block = block
        self.device = next(policy.parameters()).device
        self._memory = Memory(policy.state_size)
        self.phases = Phases()
        """Where the time goes of whoever plays with this actor."""

    @torch.no_grad()
    def choose(
        self,
        decisions: Decisions,
        rows: NDArray[Any],
        privileged: NDArray[Any] | None = None,
    ) -> Choice:
        """Choose at `rows` of `decisions`; `privileged` is what the critic may see there."""
        mask = torch.from_numpy(decisions.mask.take(rows, 0))
        with self.phases(INFER):
            judged = self._judge(decisions, rows, mask, privileged)
        heads, log_probs = self.policy.heads, judged.log_probs
        seed = None if self.greedy else self.seed
        with self.phases(SAMPLE):
            action = draw(heads, log_probs, mask, decisions, rows, seed, self.block)
            chosen = heads.joint(log_probs, action)
        value = None if judged.value is None else judged.value.numpy()
        return Choice(action.int().numpy(), chosen.numpy(), log_probs.numpy(), value, judged.before)

    @torch.no_grad()
    def log_probs(self, decisions: Decisions, rows: NDArray[Any]) -> Tensor:
        """Return log-probabilities `[rows, choices]` and carry a recurrent state on."""
        return self._judge(decisions, rows, torch.from_numpy(decisions.mask[rows]), None).log_probs

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return the recurrent states carried through matches, as arrays; none: empty."""
        return self._memory.save()

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `memory` gave."""
        self._memory.load(memory)

    def _judge(
        self,
        decisions: Decisions,
        rows: NDArray[Any],
        mask: Tensor,
        privileged: NDArray[Any] | None,
    ) -> _Judged:
        observation = decisions.observation.take(rows, 0)
        view = observation if privileged is None else privileged
        if self.block:
            return self._judge_in_blocks(decisions, rows, observation, mask)
        if self.policy.state_size:
            before = self._memory.recall(decisions, rows)
            with self._autocast():
                logits, features, after = self.policy.step(
                    self._to_device(observation), self._to_device(before)
                )
            self._memory.remember(decisions, rows, after.float().cpu().numpy())
            return _Judged(self._log_probs(logits, mask), self._value(features, view), before)
        # The mask follows from the view in an honest game; both are compared all the same.
        with self.phases(BATCH):
            kinds = _kinds(_rows_of(observation, mask))
        if kinds is None:
            features = self._features(observation)
            log_probs = self._log_probs(self._head(features), mask)
            return _Judged(log_probs, self._value(features, view), None)
        first, group = kinds
        features = self._features(observation[first])
        log_probs = self._log_probs(self._head(features), mask[torch.from_numpy(first)])
        return _Judged(log_probs[group], self._value(features, view, group), None)

    def _judge_in_blocks(
        self, decisions: Decisions, rows: NDArray[Any], observation: NDArray[Any], mask: Tensor
    ) -> _Judged:
        seen, size = torch.from_numpy(observation), self.block
        if self.policy.state_size:
            before = self._memory.recall(decisions, rows)
            logits, after = in_blocks(self._recurrent, size, seen, torch.from_numpy(before))
            self._memory.remember(decisions, rows, after.numpy())
            (log_probs,) = in_whole_blocks(self._masked, size, logits, mask)
            return _Judged(log_probs, None, before)
        kinds = _kinds(_rows_of(observation, mask))
        if kinds is not None:
            first = torch.from_numpy(kinds[0])
            seen, mask = seen[first], mask[first]
        (logits,) = in_blocks(self._plain, size, seen)
        (log_probs,) = in_whole_blocks(self._masked, size, logits, mask)
        return _Judged(log_probs if kinds is None else log_probs[kinds[1]], None, None)

    def _plain(self, observation: Tensor) -> tuple[Tensor, ...]:
        with self._autocast():
            return (self.policy(observation.to(self.device)).float().cpu(),)

    def _recurrent(self, observation: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        with self._autocast():
            logits, _, after = self.policy.step(observation.to(self.device), state.to(self.device))
        return logits.float().cpu(), after.float().cpu()

    def _masked(self, logits: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        return (self._log_probs(logits, mask),)

    def _features(self, observation: NDArray[Any]) -> Tensor:
        with self._autocast():
            return self.policy.torso(self._to_device(observation))  # type: ignore[no-any-return]

    def _head(self, features: Tensor) -> Tensor:
        with self._autocast():
            return self.policy.head(features)  # type: ignore[no-any-return]

    def _log_probs(self, logits: Tensor, mask: Tensor) -> Tensor:
        temperature = None if self.temperature == 1.0 else self.temperature
        return self.policy.heads.log_probs(logits.float().cpu(), mask, temperature)

    def _value(
        self, features: Tensor, view: NDArray[Any], group: Tensor | None = None
    ) -> Tensor | None:
        """Return values of all rows; `group` is the row of `features` that each has."""
        if self.critic is None or self.critic.output == "q":
            return None
        if self.critic.torso is None:
            out = self.critic(features.float()).cpu()
        else:
            kinds = _kinds(view)
            group = None if kinds is None else kinds[1]
            with self._autocast():
                seen = view if kinds is None else view[kinds[0]]
                out = self.critic(self._to_device(seen)).float().cpu()
        value = self.critic.value_of(out)
        return value if group is None else value[group]

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.precision == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, self.precision)

    def _to_device(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


class Memory:
    """The recurrent state of every seat at the table, zeros where a match begins."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._shape(0, 0)

    def recall(self, decisions: Decisions, rows: NDArray[Any]) -> NDArray[np.float32]:
        """Return each seat's state so far in its match, `[rows, size]`."""
        slot, seat = self._places(decisions, rows)
        # A turn that does not come after the last one tells of the same match begun again.
        known = (self.match[slot, seat] == decisions.match[rows]) & (
            self.turn[slot, seat] < decisions.turn[rows]
        )
        state = self.state[slot, seat]
        state[~known] = 0
        return state

    def remember(self, decisions: Decisions, rows: NDArray[Any], state: NDArray[Any]) -> None:
        """Keep the states after the decisions `rows`."""
        slot, seat = self._places(decisions, rows)
        self.state[slot, seat] = state
        self.match[slot, seat] = decisions.match[rows]
        self.turn[slot, seat] = decisions.turn[rows]

    def save(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays; empty where nothing is kept."""
        if not self.match.size:
            return {}
        return {"match": self.match.copy(), "turn": self.turn.copy(), "state": self.state.copy()}

    def load(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `save` put away."""
        self._shape(0, 0)
        if saved:
            self.match = np.array(saved["match"], np.int64)
            self.turn = np.array(saved["turn"], np.int32)
            self.state = np.array(saved["state"], np.float32)

    def _shape(self, slots: int, seats: int) -> None:
        self.match = np.full((slots, seats), -1, np.int64)
        self.turn = np.zeros((slots, seats), np.int32)
        self.state = np.zeros((slots, seats, self.size), np.float32)

    def _places(self, decisions: Decisions, rows: NDArray[Any]) -> tuple[Ints, Ints]:
        """Return slots and seats, and make room for those that are new."""
        slot, seat = decisions.slot[rows], decisions.seat[rows]
        slots, seats = self.match.shape
        if len(rows) and (slot.max() >= slots or seat.max() >= seats):
            match, turn, state = self.match, self.turn, self.state
            self._shape(max(slots, int(slot.max()) + 1), max(seats, int(seat.max()) + 1))
            self.match[:slots, :seats], self.turn[:slots, :seats] = match, turn
            self.state[:slots, :seats] = state
        return slot, seat


def draw(
    heads: Heads,
    log_probs: Tensor,
    mask: Tensor,
    decisions: Decisions,
    rows: NDArray[Any],
    seed: int | None,
    block: int = 0,
) -> Tensor:
    """Return actions `[rows, heads]`: sampled from each decision's own stream, or, where `seed`
    is None, the likeliest. `block` is the actor's."""
    if seed is None:
        return heads.mode(log_probs, mask)
    match, seat, turn = decisions.match[rows], decisions.seat[rows], decisions.turn[rows]
    drawn = torch.from_numpy(uniforms(seed, match, seat, turn, len(heads)))
    if not block:
        return heads.sample(log_probs, drawn)
    return in_whole_blocks(lambda *given: (heads.sample(*given),), block, log_probs, drawn)[0]


def refuse_temperature(temperature: float) -> None:
    """Refuse a temperature that logits cannot be divided by."""
    if not (math.isfinite(temperature) and temperature > 0):
        raise LanistaError(
            f"A temperature is {temperature}; give a number above 0, or play greedily."
        )


def _kinds(rows: NDArray[Any]) -> tuple[NDArray[np.int64], Tensor] | None:
    """Return the first row of each kind and every row's kind; None where all rows differ."""
    if not len(rows):
        return None
    first, group = equal_rows(rows)
    return None if len(first) == len(rows) else (first, torch.from_numpy(group))


def _rows_of(observation: NDArray[Any], mask: Tensor) -> NDArray[np.uint8]:
    """Return all that the network and its heads are given at each decision, as bytes."""
    seen = np.ascontiguousarray(observation).view(np.uint8)
    return np.concatenate([seen, mask.numpy().view(np.uint8)], axis=1)
