"""Brings copies of a match to a chosen decision by playing it again.

Needs neither `save` nor `load`, so that a fault in those shows in their own check only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lanista.games.check.report import NotApplicable
from lanista.games.check.trial import Answers, Trial, begin, copied
from lanista.games.contract import Game
from lanista.games.streams import Stream

TOGETHER = 48
"""How many positions are brought about in one game object."""


@dataclass(frozen=True)
class Position:
    """A decision of the trial's base play."""

    match: int
    turn: int
    seat: int
    row: int
    """Where it lies in the base play."""

    def __str__(self) -> str:
        return f"match {self.match}, turn {self.turn}, seat {self.seat}"


def chosen_positions(trial: Trial, copies: int) -> list[Position]:
    """Return the decisions of the base play, all of them or as many as the effort allows."""
    if not trial.spec.abilities.seedable:
        raise NotApplicable("the game takes no seed, so no position can be brought about twice")
    rows = trial.base.rows
    if not len(rows["match"]):
        raise NotApplicable("there was no decision; see `plays` and `length`")
    order = list(range(len(rows["match"])))
    Stream.keyed(trial.seed, 0, 0, "think").shuffle(order)
    turns, cost = rows["turn"], 0
    chosen: list[int] = []
    seats = trial.spec.seats if trial.spec.facts.simultaneous else 1
    for row in order:
        cost += (int(turns[row]) + 1) * copies * seats
        if cost > trial.replayed and chosen:
            break
        chosen.append(row)
    return [
        Position(int(rows["match"][row]), int(turns[row]), int(rows["seat"][row]), row)
        for row in sorted(chosen)
    ]


def in_batches(positions: Sequence[Position]) -> Iterator[list[Position]]:
    """Yield positions in portions that fit one game object."""
    for first in range(0, len(positions), TOGETHER):
        yield list(positions[first : first + TOGETHER])


def stand(game: Game, positions: Sequence[Position]) -> None:
    """Play the match of each slot's position again, up to that position's turn."""
    slots = list(range(len(positions)))
    keys = np.array([position.match for position in positions], np.int64)
    target = np.array([position.turn for position in positions], np.int32)
    begin(game, slots, keys.tolist())
    answers = Answers(game.spec)
    while True:
        decisions = copied(game.decisions())
        rows = np.flatnonzero(decisions.turn < target[decisions.slot])
        if not len(rows):
            return
        game.act(rows, answers(decisions, rows, keys[decisions.slot]))
