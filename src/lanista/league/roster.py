"""Players as a run's tables have them, and what rows of games say of them.

Pure translations between rows and the league's own terms, and a learner as somebody's opponent.
Knows nothing of rounds, rules and files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lanista.games.contract import Decisions, Ints
from lanista.league.payoff import Outcome
from lanista.league.roles import PlayerRow
from lanista.rollout.inference.actor import Actor
from lanista.rollout.outcome_counts import pair_results
from lanista.runs.database import Row

if TYPE_CHECKING:
    from lanista.train.learner_loop import LearnerLoop


@dataclass(frozen=True)
class Frozen:
    """A policy that joins the run's players, with the file that holds it."""

    row: PlayerRow
    parents: tuple[str, ...]
    body: Mapping[str, Any]
    data: bytes

    def as_row(self) -> Row:
        return player_row(self.row, self.parents, self.body)


class LivePlayer:
    """A learner of the run as somebody else's opponent, with the weights it has now."""

    def __init__(self, training: LearnerLoop) -> None:
        self.name, self.digest = training.name, f"learner:{training.name}"
        self._training = training
        self.actors = (Actor(training.learner.policy, training.settings.seed),)

    def act(self, decisions: Decisions, rows: Any) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        self.actors[0].policy = self._training.learner.policy  # A reset gives it another one.
        return self.actors[0].choose(decisions, rows).action


def player_row(row: PlayerRow, parents: Sequence[str], body: Mapping[str, Any]) -> Row:
    """Return a player as the table has it, without its update."""
    return (
        row.name, row.digest, row.kind, row.category, row.role, json.dumps(list(parents)),
        row.weight, json.dumps(dict(body)),
    )  # fmt: skip


def outcomes(
    games: Sequence[Row], lineups: Sequence[Row], matches: Sequence[Row]
) -> Iterator[Outcome]:
    """Give what rows of the tables, without their updates, came to: one for each line."""
    for _, seating, _, _, _, pairs, *_ in games:
        yield Outcome(tuple(json.loads(str(seating))), tuple(map(tuple, json.loads(str(pairs)))))
    places: dict[int, list[list[int]]] = {}
    for _, lineup, _, _, place, cut_off in matches:
        if not cut_off:
            places.setdefault(int(lineup or 0), []).append(json.loads(str(place)))
    for lineup, _, names, *_ in lineups:
        if found := places.get(int(lineup or 0)):
            yield Outcome(tuple(json.loads(str(names))), pair_results(np.array(found, np.int32)))
