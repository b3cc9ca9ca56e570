"""Looks for leaks where they hide: in positions that random play seldom comes to.

A seat is watched through whole matches. At each of its decisions what it cannot see is redrawn,
and the match goes on from there, so that every decision costs one redraw and not a whole replay.
Matches are played in different manners, so that rare actions, long matches and odd habits all come
up; where the view shows something seldom seen, more is redrawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.check.report import Fault
from lanista.games.check.trial import Trial, begin, copied, sentence
from lanista.games.contract import Decisions, Game, Spec
from lanista.games.streams import Stream

FIRST_KEY = 3_000_000
"""Ids of the matches played here; those of the other checks are elsewhere."""
SLOTS = 48
SHARE = 4
"""One in so many of the decisions that other checks play again, in compiled games."""
REDRAW_COST = 4
"""What a redraw counts as, in decisions."""
REDRAWS, MORE_REDRAWS = 1, 8
SELDOM = 3
"""A view with something in it that was seen fewer times than this is redrawn more often."""
_SIGHTS = 1 << 16
_MIXED, _HIGH = np.uint64(0x9E3779B97F4A7C15), np.uint64(64 - 16)
"""Fibonacci hashing: 2^64 / φ, and the 16 highest bits."""
_HABIT = 6.0
"""How strongly a match with habits prefers some actions, in log-odds."""


@dataclass
class Looked:
    """What was looked at."""

    matches: int = 0
    decisions: int = 0
    redraws: int = 0
    seldom: int = 0


class Manners:
    """Chooses actions: a third of the matches at random, a third seldom taken ones, a third by a
    habit of the match."""

    def __init__(self, spec: Spec, seed: int) -> None:
        self.spec, self.seed = spec, seed
        self._random = np.random.default_rng([seed, 11])
        self._action_counts = [np.zeros(head.size) for head in spec.heads]
        self._habits: dict[int, list[NDArray[Any]]] = {}

    def __call__(self, decisions: Decisions, keys: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return an action for every decision; `keys` holds the key of its match."""
        actions = np.zeros((len(decisions), len(self.spec.heads)), np.int32)
        start = 0
        for number, head in enumerate(self.spec.heads):
            mask = decisions.mask[:, start : start + head.size]
            start += head.size
            liking = self._random.gumbel(size=mask.shape)
            liking += np.where(
                (keys % 3 == 1)[:, None], -2 * np.log1p(self._action_counts[number]), 0
            )
            for row in np.flatnonzero(keys % 3 == 2):
                liking[row] += self._habit(int(keys[row]), number)
            actions[:, number] = np.where(mask, liking, -np.inf).argmax(1)
            np.add.at(self._action_counts[number], actions[:, number], 1)
        return actions

    def _habit(self, key: int, number: int) -> NDArray[Any]:
        if key not in self._habits:
            random = np.random.default_rng([self.seed, key])
            self._habits[key] = [_HABIT * random.random(head.size) for head in self.spec.heads]
        return self._habits[key][number]


class Sights:
    """Counts how often each number of a view had each value, to know what is seldom seen."""

    def __init__(self) -> None:
        self._count = np.zeros(_SIGHTS, np.int64)

    def seldom(self, observation: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which rows show something seldom seen, and count them."""
        values = np.ascontiguousarray(observation, np.float32).view(np.uint32).astype(np.uint64)
        keys = values | np.arange(values.shape[1], dtype=np.uint64) << np.uint64(32)
        # The high bits of the product: whole numbers as floats differ in their high bits alone.
        places = (keys * _MIXED >> _HIGH).astype(np.int64)
        seldom = np.asarray((self._count[places] < SELDOM).any(1), np.bool_)
        np.add.at(self._count, places.ravel(), 1)
        return seldom


@dataclass
class Search:
    """Matches under watch in one game object."""

    trial: Trial
    game: Game
    looked: Looked = field(default_factory=Looked)

    def __post_init__(self) -> None:
        self.manners = Manners(self.game.spec, self.trial.seed)
        self.sights = Sights()
        self.keys = np.zeros(self.game.slots, np.int64)
        self.turns = np.zeros(self.game.slots, np.int64)
        self._next = FIRST_KEY

    def run(self, budget: int) -> Looked:
        """Play until so many decisions are spent."""
        self._begin(list(range(self.game.slots)))
        spent = 0
        while spent < budget:
            self._step()
            spent = self.looked.decisions + REDRAW_COST * self.looked.redraws
        return self.looked

    def _begin(self, slots: list[int]) -> None:
        for slot in slots:
            self.keys[slot] = self._next
            self._next += 1
            self.turns[slot] = 0
        if slots:
            begin(self.game, slots, self.keys[slots].tolist())
            self.looked.matches += len(slots)

    def _step(self) -> None:
        decisions = copied(self.game.decisions())
        # By half the key, since every second match has options.
        watched = self.keys // 2 % self.game.spec.seats
        rows = np.flatnonzero(watched[decisions.slot] == decisions.seat)
        if len(rows):
            seldom = self.sights.seldom(decisions.observation[rows])
            self.looked.seldom += int(seldom.sum())
            for again in range(MORE_REDRAWS):
                chosen = rows if again < REDRAWS else rows[seldom]
                if len(chosen):
                    self._redraw(decisions, chosen, again)
            decisions = copied(self.game.decisions())
        actions = self.manners(decisions, self.keys[decisions.slot])
        self.looked.decisions += len(decisions)
        ended = [int(slot) for slot in self.game.act(np.arange(len(decisions)), actions)]
        self.turns += 1
        longest = self.game.spec.facts.longest
        stuck = [slot for slot in range(self.game.slots) if self.turns[slot] > longest]
        self._begin(sorted({*ended, *stuck}))

    def _redraw(self, decisions: Decisions, rows: NDArray[np.int64], again: int) -> None:
        for row in rows.tolist():
            slot, seat = int(decisions.slot[row]), int(decisions.seat[row])
            turn = int(decisions.turn[row]) * MORE_REDRAWS + again
            stream = Stream.keyed(self.trial.seed, int(self.keys[slot]), seat, "resample", turn)
            try:
                self.game.resample_hidden(slot, seat, stream)
            except Exception as error:  # Whatever a game under test raises is a finding.
                raise Fault(
                    f"resample_hidden failed at {self._where(decisions, row)}: {sentence(error)}"
                ) from error
        self.looked.redraws += len(rows)
        now = copied(self.game.decisions())
        places = zip(now.slot.tolist(), now.seat.tolist(), strict=True)
        row_at = {place: row for row, place in enumerate(places)}
        for row in rows.tolist():
            other = row_at.get((int(decisions.slot[row]), int(decisions.seat[row])))
            change = _change(self.game.spec, decisions, row, now, other)
            if change:
                raise Fault(
                    f"the observation or mask shows something hidden: {change} when that was "
                    f"redrawn, at {self._where(decisions, row)}"
                )

    def _where(self, decisions: Decisions, row: int) -> str:
        return (
            f"turn {decisions.turn[row]}, seat {decisions.seat[row]} of match "
            f"{self.keys[decisions.slot[row]]}, found by the search after {self.looked.matches:,} "
            f"matches and {self.looked.redraws:,} redraws"
        )


def _change(spec: Spec, one: Decisions, row: int, other: Decisions, at: int | None) -> str:
    """Return how a view changed, or nothing."""
    if at is None:
        return "the seat had nothing to choose any more"
    if one.mask[row].tobytes() != other.mask[at].tobytes():
        return "the mask changed"
    if one.observation[row].tobytes() == other.observation[at].tobytes():
        return ""
    before, after = one.observation[row], other.observation[at]
    column, start = int(np.flatnonzero(before != after)[0]), 0
    for layout_field in spec.observation.fields:
        if column < start + layout_field.size:
            values = f"{before[column]:g} to {after[column]:g}"
            return f"number {column - start} of {layout_field.name!r} went from {values}"
        start += layout_field.size
    return "the observation changed"


def search(trial: Trial) -> Looked:
    """Look for leaks, and raise the first that is found."""
    budget = max(trial.effort, trial.replayed // SHARE)
    with trial.game(SLOTS) as game:
        return Search(trial, game).run(budget)
