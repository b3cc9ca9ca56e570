"""Gathers the decisions of all battles that wait, so that a network sees them in one call.

Owns when a batch is full and who gets which answer. Knows nothing of servers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import Player
from lanista.games.showdown.game import Sight
from lanista.live.showdown.battle import Question
from lanista.rollout.inference.policy_players import PolicyPlayer

MOST = 64
PATIENCE = 0.002
"""Seconds that a decision waits for others to keep it company."""


@dataclass(frozen=True)
class Answer:
    """What a player chose."""

    action: tuple[int, ...]
    log_prob: float | None
    """Of the action; None for players that are no policy."""
    probabilities: NDArray[np.float32] | None = None
    """`[choices]`: of every choice; None for players that are no policy."""


@dataclass(frozen=True)
class _Waiting:
    player: Player
    slot: int
    match: int
    turn: int
    question: Question
    answer: asyncio.Future[Answer]


class Batcher:
    """Answers questions of many battles, some at a time."""

    def __init__(self, most: int = MOST, patience: float = PATIENCE) -> None:
        self.most, self.patience = most, patience
        self.decisions = self.calls = 0
        """Decisions made so far, and in how many calls."""
        self._waiting: list[_Waiting] = []
        self._due: asyncio.Handle | None = None
        self._slots: set[int] = set()

    def sit(self) -> int:
        """Return a number for a battle that no other battle has while it lasts."""
        slot = next(at for at in range(len(self._slots) + 1) if at not in self._slots)
        self._slots.add(slot)
        return slot

    def leave(self, slot: int) -> None:
        """Give a number back."""
        self._slots.discard(slot)

    async def ask(
        self, player: Player, slot: int, match: int, turn: int, question: Question
    ) -> Answer:
        """Return what `player` chooses at decision `turn` of the battle `match`."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append(_Waiting(player, slot, match, turn, question, answer))
        # With everybody here there is nobody to wait for.
        if len(self._waiting) >= min(self.most, len(self._slots)):
            self._flush()
        elif self._due is None:
            self._due = loop.call_later(self.patience, self._flush)
        return await answer

    def _flush(self) -> None:
        if self._due is not None:
            self._due.cancel()
        self._due = None
        waiting = [decision for decision in self._waiting if not decision.answer.done()]
        self._waiting = []
        groups: dict[int, list[_Waiting]] = {}
        for decision in waiting:
            groups.setdefault(id(decision.player), []).append(decision)
        for group in groups.values():
            self._decide(group)

    def _decide(self, group: Sequence[_Waiting]) -> None:
        try:
            answers = _answers(group[0].player, _sight(group))
        except Exception as error:
            if len(group) == 1:
                group[0].answer.set_exception(error)
                return
            for decision in group:  # Alone: whoever cannot be answered costs no other battle.
                self._decide([decision])
            return
        self.decisions += len(group)
        self.calls += 1
        for decision, answer in zip(group, answers, strict=True):
            decision.answer.set_result(answer)


def _sight(group: Sequence[_Waiting]) -> Sight:
    # A policy sees no seat; its streams are those of seat 0, as in every live bot's game files.
    policy = isinstance(group[0].player, PolicyPlayer)
    seats = [0 if policy else decision.question.tracker.seat for decision in group]
    return Sight(
        slot=np.array([decision.slot for decision in group], np.int32),
        seat=np.array(seats, np.int32),
        match=np.array([decision.match for decision in group], np.int64),
        turn=np.array([decision.turn for decision in group], np.int32),
        observation=np.stack([decision.question.observation for decision in group]),
        mask=np.stack([decision.question.mask for decision in group]),
        trackers=[decision.question.tracker for decision in group],
        transcripts=[decision.question.transcript for decision in group],
    )


def _answers(player: Player, sight: Sight) -> list[Answer]:
    rows = np.arange(len(sight))
    if not isinstance(player, PolicyPlayer):
        return [Answer(tuple(action), None) for action in player.act(sight, rows).tolist()]
    chosen = player.actor.choose(sight, rows)
    probabilities = np.exp(chosen.log_probs).astype("<f4")
    columns = chosen.action.tolist(), chosen.log_prob.tolist(), probabilities
    return [
        Answer(tuple(action), log_prob, chances)
        for action, log_prob, chances in zip(*columns, strict=True)
    ]
