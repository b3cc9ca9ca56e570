"""Frozen policies that answer one step together: one inference for each, one draw for all.

A league seats many networks, each with a few rows of a step. Each network sees its own rows once;
masks, probabilities and draws, which do not depend on it, are made for all rows at once. Without
blocks, so for training, which is not replayed. Knows nothing of how seats are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lanista.games.bots import Player
from lanista.games.contract import Decisions, Ints
from lanista.nets.finite import refuse_not_finite
from lanista.rollout.bot_threads import BotThreads, paces_of
from lanista.rollout.inference.actor import gather_drawn, seen_of
from lanista.rollout.inference.behaviour import act_with_log_prob
from lanista.rollout.inference.device_transfer import (
    STEP,
    Found,
    Lane,
    Lanes,
    Recorded,
    Records,
    Rows,
)
from lanista.rollout.inference.policy_players import PolicyPlayer
from lanista.rollout.inference.stacked_networks import Stacked, shape_of
from lanista.rollout.rows import copy_rows, draws
from lanista.rollout.timing import OPPONENTS, Phases

_MOST_ROOM = 4
"""Rows that networks run as one may take for each true one; above that they run in turn."""


Answering = Callable[[], tuple[Ints, NDArray[np.float32]]]
"""Gives the actions and, until somebody else is asked, their log-probabilities."""


class OpponentBatch:
    """Policies that answer for themselves, all in the same manner."""

    def __init__(
        self,
        players: Sequence[PolicyPlayer],
        lane: Lane,
        *,
        stack: bool | None = None,
        record: bool = False,
    ) -> None:
        """`stack` networks of one shape, so that they run as one; None: where that is a GPU.

        `record` what a GPU has to do, where that is one network or a stack.
        """
        self.policies = [player.actor.policy for player in players]
        self._labels = [player.actor.label for player in players]
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
        one = self._stacked is not None or len(self.policies) == 1
        self._recorded = Records(self._work, lane) if record and one else None

    def act(self, decisions: Decisions, rows: NDArray[Any], sizes: Sequence[int]) -> Ints:
        """Return the actions, `[rows, heads]`; the first of `sizes` rows are the first policy's,
        and so on."""
        return self.choose(decisions, rows, sizes)[0]

    def choose(
        self, decisions: Decisions, rows: NDArray[Any], sizes: Sequence[int]
    ) -> tuple[Ints, NDArray[np.float32]]:
        """Return the actions and, until the next call, their log-probabilities `[rows]`."""
        return self.begin(decisions, rows, sizes)()

    def begin(self, decisions: Decisions, rows: NDArray[Any], sizes: Sequence[int]) -> Answering:
        """Return what chooses as `choose` does. A device is told now what it has to do, where that
        is recorded, so that others can answer meanwhile."""
        room = max(sizes) * len(sizes)
        wide = room > _MOST_ROOM * len(rows)
        if self._recorded is not None and (room <= STEP or not wide):
            return self._begin_replay(self._recorded, decisions, rows, sizes)
        return partial(self._launched, decisions, rows, sizes, wide)

    @torch.no_grad()
    def _launched(
        self, decisions: Decisions, rows: NDArray[Any], sizes: Sequence[int], wide: bool
    ) -> tuple[Ints, NDArray[np.float32]]:
        most = max(sizes)
        if self._stacked is None or wide:
            action, log_prob = self._answers(decisions, rows, partial(self._in_turn, sizes))
            self._refuse_not_finite(log_prob, sizes)
            return action, log_prob
        # What fills the others up to the one with the most rows is answered and not looked at.
        real = np.arange(most) < np.array(sizes)[:, None]
        filled = np.zeros(real.shape, np.int64)
        filled[real] = rows
        action, log_prob = self._answers(decisions, filled.ravel(), self._at_once)
        log_prob = log_prob[real.ravel()]
        self._refuse_not_finite(log_prob, sizes)
        return action[real.ravel()], log_prob

    @torch.no_grad()
    def _begin_replay(
        self, records: Records, decisions: Decisions, rows: NDArray[Any], sizes: Sequence[int]
    ) -> Answering:
        lane, shown = self._lane, seen_of(decisions)
        kinds = {name: (column.shape[1:], column.dtype) for name, column in shown.items()}
        if self.seed is not None:
            kinds["uniforms"] = (len(self.heads),), np.dtype(np.float32)
        with lane.here(wait=False):  # Nobody changes their weights.
            recorded = records.fit(kinds, max(sizes) * len(sizes))
            first = 0
            for at, size in zip(self._begins(recorded.rows), sizes, strict=True):
                own = rows[first : first + size]
                copy_rows(
                    [(column, recorded.arrays[name]) for name, column in shown.items()], own, at
                )
                if self.seed is not None:
                    draws(self.seed, decisions, own, recorded.arrays["uniforms"][at : at + size])
                first += size
            recorded.run(self.temperature)
        return partial(self._finish_replay, recorded, sizes)

    def _finish_replay(
        self, recorded: Recorded, sizes: Sequence[int]
    ) -> tuple[Ints, NDArray[np.float32]]:
        self._lane.settle()
        begins = self._begins(recorded.rows)
        by_policy = [recorded.numbers[at : at + n] for at, n in zip(begins, sizes, strict=True)]
        numbers = np.concatenate(by_policy)
        log_prob = numbers[:, -1].view(np.float32)
        self._refuse_not_finite(log_prob, sizes)
        return np.ascontiguousarray(numbers[:, :-1]), log_prob

    def _refuse_not_finite(self, log_prob: NDArray[np.float32], sizes: Sequence[int]) -> None:
        if not np.isfinite(log_prob).all():
            by_policy = np.split(log_prob, np.cumsum(sizes)[:-1])
            for own, label in zip(by_policy, self._labels, strict=True):
                refuse_not_finite(own, label)

    def _begins(self, rows: int) -> range:
        """Return where each policy's rows begin among so many."""
        per_policy = rows // len(self.policies)
        return range(0, per_policy * len(self.policies), per_policy)

    def _work(self, inputs: Rows, temperature: Tensor | float) -> Found:
        used = self._begins(len(inputs["mask"])).stop
        observation, mask = inputs["observation"][:used], inputs["mask"][:used]
        drawn = inputs["uniforms"][:used] if "uniforms" in inputs else None
        judge = self.policies[0] if self._stacked is None else self._at_once
        logits = judge(observation).float()
        action, log_prob = self.heads.choose(logits, mask, drawn, temperature)
        # Beside the actions, so that one wait is enough for both.
        numbers = torch.cat([action, log_prob[:, None].view(torch.int32)], 1)
        return Found(numbers, logits, mask)

    def _in_turn(self, sizes: Sequence[int], observation: Tensor) -> Tensor:
        pairs = zip(self.policies, torch.split(observation, list(sizes)), strict=True)
        return torch.cat([policy(own) for policy, own in pairs if len(own)])

    def _at_once(self, observation: Tensor) -> Tensor:
        assert self._stacked is not None
        apart = observation.view(len(self.policies), -1, observation.shape[-1])
        return self._stacked(apart).flatten(0, 1)

    def _answers(
        self, decisions: Decisions, rows: NDArray[Any], judge: Callable[[Tensor], Tensor]
    ) -> tuple[Ints, NDArray[np.float32]]:
        """Return the actions and, until the next call, their log-probabilities."""
        lane = self._lane
        gathered = lane.gather(seen_of(decisions), rows)
        if self.seed is not None:
            gathered |= gather_drawn(lane, decisions, rows, self.heads, self.seed)
        with lane.here(wait=False):  # Nobody changes their weights.
            inputs = lane.up(gathered)
            logits, uniforms = judge(inputs["observation"]).float(), inputs.get("uniforms")
            chosen = self.heads.choose(logits, inputs["mask"], uniforms, self.temperature)
            back = lane.down(action=chosen[0], log_prob=chosen[1])
        return back["action"].copy(), back["log_prob"]


@dataclass(frozen=True)
class Answer:
    """What some players answered."""

    rows: NDArray[Any]
    """Of the decisions."""
    action: Ints
    log_prob: NDArray[np.float32] | None = None
    """`[rows]`: of the actions, where it was asked for and is known."""


class Others:
    """Everybody at a table but the learner, numbered from 1 so that a panel's are in a row."""

    def __init__(
        self,
        players: Sequence[Player],
        lanes: Lanes,
        *,
        record: bool = False,
        threads: BotThreads | None = None,
    ) -> None:
        """Let them act on the `lanes` of the worker whose table it is; `record` panels on a GPU.

        Slow bots think in `threads`, where there are any.
        """
        alike: dict[Hashable, list[PolicyPlayer]] = {}
        self.apart: list[Player] = []
        for player in players:
            if (manner := _manner(player)) is None:
                self.apart.append(player)
                for actor in getattr(player, "actors", ()):
                    actor.share(lanes.of(actor.device))
            else:
                assert isinstance(player, PolicyPlayer)
                alike.setdefault(manner, []).append(player)
        self.players = list(self.apart)
        """Everybody, by number."""
        self.panels: list[tuple[range, OpponentBatch]] = []
        for members in alike.values():
            first = 1 + len(self.players)
            device = members[0].actor.device
            panel = OpponentBatch(
                members, lanes.of(device), record=record and device.type == "cuda"
            )
            self.panels.append((range(first, first + len(members)), panel))
            self.players += members
        self._phases = [f"{OPPONENTS}/{player.name}" for player in self.apart]
        self._threads = threads
        self._paces = paces_of(self.apart) if threads is not None else []

    def answer(
        self,
        decisions: Decisions,
        order: NDArray[Any],
        start: Sequence[int],
        phases: Phases,
        *,
        log_probs: bool = False,
    ) -> list[Answer]:
        """Return what they answer, one after another; the rows of a number begin at its `start` in
        `order`. Leaves a phase of its own behind. `log_probs`: with those that are known."""
        begun: list[tuple[NDArray[Any], OpponentBatch, Answering]] = []
        by_number: dict[int, Answer] = {}
        thinking = {} if log_probs else self._thinking(decisions, order, start)
        for numbers, panel in self.panels:
            rows = order[start[numbers.start] : start[numbers.stop]]
            if len(rows):
                sizes = [start[number + 1] - start[number] for number in numbers]
                begun.append((rows, panel, panel.begin(decisions, rows, sizes)))
        for number, player in enumerate(self.apart, start=1):
            if start[number] < start[number + 1]:
                phases.switch(self._phases[number - 1])
                rows = order[start[number] : start[number + 1]]
                if log_probs:
                    by_number[number] = Answer(rows, *act_with_log_prob(player, decisions, rows))
                elif number not in thinking:
                    pace = self._paces[number - 1] if self._paces else None
                    by_number[number] = Answer(rows, (pace or player).act(decisions, rows))
        for number, wait in thinking.items():
            phases.switch(self._phases[number - 1])
            by_number[number] = Answer(order[start[number] : start[number + 1]], wait())
        phases.switch(OPPONENTS)
        # In the order of the rows, whoever was done first.
        answers = [by_number[number] for number in sorted(by_number)]
        for rows, panel, finish in begun:
            action, log_prob = finish()
            sampled = log_probs and panel.seed is not None
            answers.append(Answer(rows, action, log_prob.copy() if sampled else None))
        return answers

    def _thinking(
        self, decisions: Decisions, order: NDArray[Any], start: Sequence[int]
    ) -> dict[int, Callable[[], Ints]]:
        """Let slow bots begin in threads; return what waits for each, by number."""
        begun = {}
        for number, pace in enumerate(self._paces, start=1):
            many = start[number + 1] - start[number]
            if self._threads is not None and pace is not None and pace.slow(many):
                rows = order[start[number] : start[number + 1]]
                begun[number] = self._threads.ask(pace, decisions, rows)
        return begun


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
