"""Lets a policy act: on a batch of decisions, with the numbers that a learner needs later.

Equal positions are shown to the network once. Sampling draws from the streams of (seed, match,
seat, turn), so an action does not depend on who else is in the batch: exactly so in blocks, and
otherwise up to the rounding of the network. Never imports an optimiser.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.data.equal_rows import kinds as kinds_of
from lanista.errors import LanistaError
from lanista.games.contract import Decisions
from lanista.nets.distribution import Heads
from lanista.nets.finite import refuse_not_finite
from lanista.nets.policy import Critic, Policy
from lanista.rollout.inference.device_transfer import Found, Lane, Records, Rows
from lanista.rollout.inference.recurrent_state import Memory
from lanista.rollout.inference.row_blocks import in_blocks
from lanista.rollout.rows import copy_rows, draws
from lanista.rollout.timing import BATCH, INFER, SAMPLE, TRANSFER, Phases


@dataclass(frozen=True)
class Choice:
    """What a policy chose at some decisions, and how."""

    action: NDArray[np.int32]
    log_prob: NDArray[np.float32]
    lazy_log_probs: NDArray[np.float32] | Callable[[], NDArray[np.float32]]
    """Log-probabilities of all choices, or what computes them; few ask for them."""
    value: NDArray[np.float32] | None
    state: NDArray[np.float32] | None
    """`[n, state_size]`: the recurrent state before the decision."""

    @cached_property
    def log_probs(self) -> NDArray[np.float32]:
        """`[n, choices]`; ask before the actor chooses again."""
        return self.lazy_log_probs() if callable(self.lazy_log_probs) else self.lazy_log_probs


@dataclass(frozen=True)
class _Judged:
    """What the networks said of some decisions, on the CPU in float32."""

    logits: Tensor
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
        graphs: bool = False,
        log_probs: bool = False,
    ) -> None:
        """Let `policy` act; with `block` above 0, in blocks of so many rows.

        Blocks are for players whose matches are played again; a learner does without them, and so
        a critic cannot be had with them. `graphs` records what a GPU has to do. `log_probs` of all
        choices are asked for at every decision, so a device gives them with the rest.
        """
        refuse_temperature(temperature)
        if block and critic is not None:
            raise ValueError("An actor with a critic does not act in blocks.")
        self.policy, self.critic, self.seed = policy, critic, seed
        self.temperature, self.greedy, self.precision = temperature, greedy, precision
        self.block = block
        self.label = "The policy that learns"
        """Who gave an answer that is refused; players put their names here."""
        self.device = next(policy.parameters()).device
        self._memory = Memory(policy.state_size)
        self.phases = Phases()
        """Where the time goes of whoever plays with this actor."""
        self.lane = Lane(self.device)
        """The way to the device, of everybody who acts with this actor in turn."""
        self._own_weights = False
        """Nobody changes the weights, or only within `taking_weights`; otherwise whoever does so
        works on the default stream, which is waited for at every step."""
        self._far = self.device.type != "cpu" and not block
        self._all_log_probs = log_probs
        self.records = graphs and self.device.type == "cuda"
        self._recorded = Records(self._work, self.lane) if self.records else None

    @torch.no_grad()
    def choose(
        self,
        decisions: Decisions,
        rows: NDArray[Any],
        privileged: NDArray[Any] | None = None,
    ) -> Choice:
        """Choose at `rows` of `decisions`; `privileged` is what the critic may see there."""
        if self._far:
            return self._choose_far(decisions, rows, privileged)
        with self.phases(INFER):
            mask = torch.from_numpy(decisions.mask.take(rows, 0))
            judged = self._judge(decisions, rows, mask, privileged)
        heads, temperature = self.policy.heads, self.temperature
        with self.phases(SAMPLE):
            drawn = uniforms_for(heads, decisions, rows, None if self.greedy else self.seed)
            action, log_prob = heads.choose(judged.logits, mask, drawn, temperature)
        refuse_not_finite(log_prob.numpy(), self.label)
        value = None if judged.value is None else judged.value.numpy()

        def all_log_probs() -> NDArray[np.float32]:
            return heads.log_probs(judged.logits, mask, temperature).numpy()

        return Choice(action.numpy(), log_prob.numpy(), all_log_probs, value, judged.before)

    def begin(
        self, decisions: Decisions, rows: NDArray[Any], privileged: NDArray[Any] | None = None
    ) -> Callable[[], Choice]:
        """Return what chooses as `choose` does. A device is told now what it has to do, where that
        is recorded, so that others can answer meanwhile."""
        if self._far and self._recorded is not None:
            return self._begin_recorded(self._recorded, decisions, rows, privileged)
        return partial(self.choose, decisions, rows, privileged)

    @torch.no_grad()
    def log_probs(self, decisions: Decisions, rows: NDArray[Any]) -> Tensor:
        """Return log-probabilities `[rows, choices]` and carry a recurrent state on."""
        mask = torch.from_numpy(decisions.mask.take(rows, 0))
        logits = self._judge(decisions, rows, mask, None).logits
        return self.policy.heads.log_probs(logits, mask, self.temperature)

    def share(self, lane: Lane) -> None:
        """Take the lane of somebody who acts in the same thread."""
        self.lane = lane
        if self._recorded is not None:
            self._recorded = Records(self._work, lane)

    @contextmanager
    def taking_weights(self) -> Iterator[None]:
        """Change the weights within this, and from then on nowhere else, so that play need not
        wait for what others do on the same device."""
        with self.lane.own_stream():
            self._own_weights = True
            yield

    def keep_weights(self) -> None:
        """Promise that nobody changes the weights."""
        self._own_weights = True

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return the recurrent states carried through matches, as arrays; none: empty."""
        return self._memory.save()

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `memory` gave."""
        self._memory.load(memory)

    def _choose_far(
        self, decisions: Decisions, rows: NDArray[Any], privileged: NDArray[Any] | None
    ) -> Choice:
        """Choose where the networks are; all rows are shown, equal or not."""
        if self._recorded is not None:
            return self._begin_recorded(self._recorded, decisions, rows, privileged)()
        lane, phases = self.lane, self.phases
        before = None
        with lane.here(wait=not self._own_weights), phases(BATCH):
            gathered, more = lane.gather(seen_of(decisions), rows), {}
            if privileged is not None:
                more["privileged"] = privileged
            if self.policy.state_size:
                before = more["state"] = self._memory.recall(decisions, rows)
            if more:
                gathered |= lane.gather(more)
            if not self.greedy:
                phases.switch(SAMPLE)
                gathered |= gather_drawn(lane, decisions, rows, self.policy.heads, self.seed)
            phases.switch(TRANSFER)
            inputs = lane.up(gathered)
            phases.switch(INFER)
            network_outputs = self._forward(inputs)
            phases.switch(SAMPLE)
            outputs = self._drawn(inputs, self.temperature, *network_outputs)
            phases.switch(TRANSFER)
            back = lane.down(numbers=outputs.numbers, state=outputs.state)
        if before is not None:
            self._memory.remember(decisions, rows, back["state"])
        return self._choice(back["numbers"], outputs, before)

    @torch.no_grad()
    def _begin_recorded(
        self,
        records: Records,
        decisions: Decisions,
        rows: NDArray[Any],
        privileged: NDArray[Any] | None,
    ) -> Callable[[], Choice]:
        """Choose as `_choose_far`, in as few calls as can be: others wait for the interpreter."""
        lane, phases, heads, many = self.lane, self.phases, self.policy.heads, len(rows)
        shown, own = seen_of(decisions), {} if privileged is None else {"privileged": privileged}
        before = None
        if self.policy.state_size:
            before = own["state"] = self._memory.recall(decisions, rows)
        kinds = {name: (column.shape[1:], column.dtype) for name, column in (shown | own).items()}
        if not self.greedy:
            kinds["uniforms"] = (len(heads),), np.dtype(np.float32)
        with lane.here(wait=not self._own_weights), phases(BATCH):
            recorded = records.fit(kinds, many)
            arrays = recorded.arrays
            copy_rows([(column, arrays[name]) for name, column in shown.items()], rows)
            copy_rows([(column, arrays[name]) for name, column in own.items()])
            if not self.greedy:
                phases.switch(SAMPLE)
                draws(self.seed, decisions, rows, arrays["uniforms"][:many])
            phases.switch(INFER)
            recorded.run(self.temperature)

        def finish() -> Choice:
            with phases(TRANSFER):
                lane.settle()
            if before is not None:
                self._memory.remember(decisions, rows, recorded.states[:many])
            return self._choice(recorded.numbers[:many], recorded.outputs, before)

        return finish

    def _choice(
        self, numbers: NDArray[np.int32], outputs: Found, before: NDArray[np.float32] | None
    ) -> Choice:
        heads, temperature, rows = self.policy.heads, self.temperature, len(numbers)
        few = numbers.shape[1] - (heads.choices if self._all_log_probs else 0)
        action = np.empty((rows, len(heads)), np.int32)
        floats = np.empty((rows, few - len(heads)), np.float32)
        encoded = numbers[:, len(heads) : few].view(np.float32)
        copy_rows([(numbers[:, : len(heads)], action), (encoded, floats)])
        refuse_not_finite(floats[:, 0], self.label)

        def all_log_probs() -> NDArray[np.float32]:
            if self._all_log_probs:
                return numbers[:, few:].view(np.float32)
            with torch.no_grad(), self.lane.own_stream():
                logits, mask = outputs.logits[:rows], outputs.mask[:rows]
                return heads.log_probs(logits, mask, temperature).cpu().numpy()

        value = floats[:, 1] if floats.shape[1] > 1 else None
        return Choice(action, floats[:, 0], all_log_probs, value, before)

    def _work(self, inputs: Rows, temperature: Tensor | float) -> Found:
        return self._drawn(inputs, temperature, *self._forward(inputs))

    def _forward(self, inputs: Rows) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return logits, values and states after, where the networks are."""
        observation, after = inputs["observation"], None
        with self._autocast():
            if self.policy.state_size:
                features, after = self.policy.torso.step(observation, inputs["state"])
            else:
                features = self.policy.torso(observation)
            logits = self.policy.head(features).float()
        value = self._value_of(features, inputs.get("privileged", observation))
        return logits, value, None if after is None else after.float()

    def _drawn(
        self,
        inputs: Rows,
        temperature: Tensor | float,
        logits: Tensor,
        value: Tensor | None,
        after: Tensor | None,
    ) -> Found:
        mask = inputs["mask"]
        chosen = self.policy.heads.choose(logits, mask, inputs.get("uniforms"), temperature)
        floats = [chosen[1]] if value is None else [chosen[1], value]
        columns = [column[:, None] for column in floats]
        if self._all_log_probs:
            columns.append(self.policy.heads.log_probs(logits, mask, temperature))
        bits = [column.view(torch.int32) for column in columns]
        return Found(torch.cat([chosen[0], *bits], 1), logits, mask, after)

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
            return _Judged(logits.float().cpu(), self._value(features, view), before)
        # The mask follows from the view in an honest game; both are compared all the same.
        with self.phases(BATCH):
            kinds = kinds_of(observation, mask.numpy())
        if kinds is None:
            features = self._features(observation)
            return _Judged(self._logits(features), self._value(features, view), None)
        first, group = kinds[0], torch.from_numpy(kinds[1])
        features = self._features(observation.take(first, 0))
        logits = self._logits(features).index_select(0, group)
        return _Judged(logits, self._value(features, view, group), None)

    def _judge_in_blocks(
        self, decisions: Decisions, rows: NDArray[Any], observation: NDArray[Any], mask: Tensor
    ) -> _Judged:
        observations, size = torch.from_numpy(observation), self.block
        if self.policy.state_size:
            before = self._memory.recall(decisions, rows)
            logits, after = in_blocks(self._recurrent, size, observations, torch.from_numpy(before))
            self._memory.remember(decisions, rows, after.numpy())
            return _Judged(logits, None, before)
        kinds = kinds_of(observation, mask.numpy())
        if kinds is None:
            return _Judged(in_blocks(self._plain, size, observations)[0], None, None)
        (logits,) = in_blocks(self._plain, size, observations[torch.from_numpy(kinds[0])])
        return _Judged(logits.index_select(0, torch.from_numpy(kinds[1])), None, None)

    def _plain(self, observation: Tensor) -> tuple[Tensor, ...]:
        with self._autocast():
            return (self.policy(observation.to(self.device)).float().cpu(),)

    def _recurrent(self, observation: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        with self._autocast():
            logits, _, after = self.policy.step(observation.to(self.device), state.to(self.device))
        return logits.float().cpu(), after.float().cpu()

    def _features(self, observation: NDArray[Any]) -> Tensor:
        with self._autocast():
            return self.policy.torso(self._to_device(observation))  # type: ignore[no-any-return]

    def _logits(self, features: Tensor) -> Tensor:
        with self._autocast():
            logits: Tensor = self.policy.head(features)
        return logits.float().cpu()

    def _value(
        self, features: Tensor, view: NDArray[Any], group: Tensor | None = None
    ) -> Tensor | None:
        """Return values of all rows; `group` is the row of `features` that each has."""
        if self.critic is None or self.critic.output == "q":
            return None
        critic_view = features
        if self.critic.torso is not None:
            kinds = kinds_of(view)
            group = None if kinds is None else torch.from_numpy(kinds[1])
            critic_view = self._to_device(view if kinds is None else view.take(kinds[0], 0))
        value = self._value_of(features, critic_view)
        assert value is not None
        return value.cpu() if group is None else value.cpu().index_select(0, group)

    def _value_of(self, features: Tensor, view: Tensor) -> Tensor | None:
        """Return values `[rows]` in float32, where the networks are."""
        if self.critic is None or self.critic.output == "q":
            return None
        if self.critic.torso is None:
            return self.critic.value_of(self.critic(features.float()))
        with self._autocast():
            out = self.critic(view).float()
        return self.critic.value_of(out)

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.precision == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, self.precision)

    def _to_device(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


def uniforms_for(
    heads: Heads, decisions: Decisions, rows: NDArray[Any], seed: int | None
) -> Tensor | None:
    """Return what each decision's own stream draws, `[rows, heads]`; None where `seed` is None, so
    that the likeliest is played."""
    if seed is None:
        return None
    drawn = np.empty((len(rows), len(heads)), np.float32)
    draws(seed, decisions, rows, drawn)
    return torch.from_numpy(drawn)


def seen_of(decisions: Decisions) -> dict[str, NDArray[Any]]:
    return {"observation": decisions.observation, "mask": decisions.mask}


def gather_drawn(
    lane: Lane, decisions: Decisions, rows: NDArray[Any], heads: Heads, seed: int
) -> Rows:
    """Return what `uniforms_for` does, in the lane's memory."""
    uniforms, drawn = lane.room("uniforms", len(rows), (len(heads),), torch.float32)
    draws(seed, decisions, rows, drawn)
    return {"uniforms": uniforms}


def refuse_temperature(temperature: float) -> None:
    """Refuse a temperature that logits cannot be divided by."""
    if not (math.isfinite(temperature) and temperature > 0):
        raise LanistaError(
            f"A temperature is {temperature}; give a number above 0, or play greedily."
        )
