"""A recorded match played again and kept as steps to go forwards and backwards through.

A step is a position as some eyes see it, who had to choose there, what was chosen, and what a
policy thinks of it. Steps are kept packed, so that a long match takes little memory. What the eyes
do not see is nowhere in a film. Knows nothing of pages.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lanista.data.records import Header, Record
from lanista.data.resimulation import refereeing
from lanista.games.contract import Decisions, Game, Spec
from lanista.games.scenes import Board, Eyes, action_words, board_of, everybody, seen_words

if TYPE_CHECKING:
    from lanista.insight.opinions import Adviser, Opinion


@dataclass(frozen=True)
class Take:
    """A match to be looked into: what was recorded of it."""

    header: Header
    record: Record
    game: str | None = None
    """The game, where the header cannot name it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The players' names, seat by seat."""
        return tuple(self.header.players[player].name for player in self.record.seating)

    @property
    def digests(self) -> tuple[str, ...]:
        """The players' digests, seat by seat."""
        return tuple(self.header.players[player].digest for player in self.record.seating)


@dataclass
class Decided:
    """One decision, as far as the eyes see it."""

    step: int
    seat: int
    words: str | None
    """None: the eyes do not see what it was."""
    probability: float | None = None
    """How likely the seat's policy was to do this."""
    value: float | None = None
    cost: float | None = None
    """What it cost by value: what was expected before, less what was expected or came after."""
    best: str | None = None
    """What the policy likes best, where that is something else."""

    def plain(self) -> dict[str, Any]:
        """Return it as plain values."""
        return vars(self)


@dataclass
class Film:
    """A match as some eyes saw it."""

    take: Take
    spec: Spec
    eyes: Eyes
    decisions: list[Decided] = field(default_factory=list)
    _steps: list[bytes] = field(default_factory=list)
    score: tuple[float, ...] = ()
    seats_with_value: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def size(self) -> int:
        """Bytes that the steps take."""
        return sum(len(step) for step in self._steps)

    def steps(self, first: int, count: int) -> list[dict[str, Any]]:
        """Return steps as plain values; the last is the position at the end."""
        return [json.loads(zlib.decompress(step)) for step in self._steps[first : first + count]]

    def add(self, step: Mapping[str, Any]) -> None:
        """Keep a step."""
        text = json.dumps(step, separators=(",", ":"), allow_nan=False)
        self._steps.append(zlib.compress(text.encode(), 1))

    def mistakes(self, most: int = 12) -> list[Decided]:
        """Return the worst decisions, by what they cost; without values, the least likely ones."""
        costly = [one for one in self.decisions if one.cost is not None and one.cost > 0]
        if costly:
            return sorted(costly, key=lambda one: -(one.cost or 0.0))[:most]
        unlikely = [one for one in self.decisions if one.probability is not None and one.best]
        return sorted(unlikely, key=lambda one: one.probability or 0.0)[:most]


def film(take: Take, eyes: Eyes, advisers: Mapping[int, Adviser] | None = None) -> Film:
    """Play a match again and return it as the eyes see it; one that goes otherwise is refused.

    `advisers` has for seats the policy whose thoughts are put down; those of seats that the eyes
    do not see through are left out.
    """
    with refereeing(take.header, slots=1, game=take.game) as referee:
        camera = _Camera(take, referee.spec, eyes, advisers or {})
        referee.play([take.record], camera)
    _count_costs(camera.film, camera.rewards)
    return camera.film


class _Camera:
    """Looks on while a match is played again, and puts down its steps."""

    def __init__(self, take: Take, spec: Spec, eyes: Eyes, advisers: Mapping[int, Adviser]) -> None:
        self.board: Board = board_of(spec)
        self.film = Film(take, spec, eyes)
        self.eyes = eyes
        open_game = not spec.facts.hidden
        self.visible = everybody(spec) if open_game else eyes
        self.advisers = {seat: one for seat, one in advisers.items() if seat in self.visible}
        valued = (seat for seat, one in self.advisers.items() if one.critic is not None)
        self.film.seats_with_value = frozenset(valued)
        self.rewards: list[float] = []
        """What came to the seat of each decision from it on, until its next one."""
        self._open: dict[int, int] = {}

    def decided(self, game: Game, row: Any, match: Any, decisions: Decisions, actions: Any) -> None:
        """Put down a position and what was chosen there."""
        self._pay(game)
        step = len(self.film)
        parts = [
            self._decision(game, decisions, number, actions[number].tolist(), step)
            for number in range(len(decisions))
        ]
        self.film.add(
            {
                "turn": int(decisions.turn[0]),
                "scene": self.board.scene(game, 0, self.eyes),
                "decisions": parts,
            }
        )

    def _decision(
        self, game: Game, decisions: Decisions, row: int, action: list[int], step: int
    ) -> dict[str, Any]:
        seat = int(decisions.seat[row])
        self._open[seat] = len(self.rewards)
        self.rewards.append(0.0)
        shown = seat in self.visible or self.board.open_moves
        mask = decisions.mask[row]
        words = action_words(self.board, game, 0, seat, mask, action) if shown else None
        if seat not in self.visible:
            self.film.decisions.append(Decided(step, seat, words))
            return {"seat": seat, "words": words}
        decided = Decided(step, seat, words)
        self.film.decisions.append(decided)
        part: dict[str, Any] = {
            "seat": seat,
            "words": words,
            "action": action,
            "seen": seen_words(self.board, self.film.spec, decisions.observation[row]),
        }
        if seat in self.advisers:
            opinion = self.advisers[seat].opinion(self.board, game, decisions, row)
            _take_opinion(decided, opinion, self.film.spec, action)
            part |= opinion.plain()
        return part

    def ended(self, game: Game, slots: Any, matches: Any) -> None:
        """Put down the position at the end."""
        self._pay(game)
        for seat, at in self._open.items():
            adviser = self.advisers.get(seat)
            if adviser is not None and adviser.values_outcomes:
                self.rewards[at] = float(np.sign(game.returns[0, seat]))
        self.film.score = tuple(float(score) for score in game.score[0])
        self.film.add({"turn": -1, "scene": self.board.scene(game, 0, self.eyes), "decisions": []})

    def _pay(self, game: Game) -> None:
        for seat, at in self._open.items():
            adviser = self.advisers.get(seat)
            if adviser is None or not adviser.values_outcomes:
                self.rewards[at] = float(game.reward[0, seat])


def _take_opinion(decided: Decided, opinion: Opinion, spec: Spec, action: Sequence[int]) -> None:
    decided.probability = opinion.probability(spec, action)
    decided.value = opinion.value
    decided.best = opinion.better(spec, action)


def _count_costs(film: Film, rewards: Sequence[float]) -> None:
    """Write what each decision cost by value: V before it, less its reward and V after it."""
    next_value: dict[int, float] = dict.fromkeys(range(film.spec.seats), 0.0)
    for at in reversed(range(len(film.decisions))):
        decided = film.decisions[at]
        if decided.value is None:
            continue
        decided.cost = decided.value - (rewards[at] + next_value[decided.seat])
        next_value[decided.seat] = decided.value
