"""How even a learner's matchups are: running scores by opponent, and what follows for its rows.

Opponents are numbered for good when they are first met, so rows in a replay stay whose they are.
Number 0 is the learner itself, against whom every match is even. Knows nothing of how matches are
played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lanista.data.trajectory import Unrolls
from lanista.learn.settings import Learning

_PRIOR = 2.0
"""Matches, half of them won, that an opponent begins with."""
_REMEMBERED = 1000.0
"""Matches over which a score runs."""


def evenness(score: Any, floor: float) -> Any:
    """Return the weight of a matchup by its score p: f + (1 − f) · 4 p (1 − p).

    1 at one half, the `floor` f where all is won or lost.
    """
    return floor + (1 - floor) * 4 * score * (1 - score)


class Matchups:
    """A learner's running score against everybody it has met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._scores: list[float] = [0.5]
        self._matches: list[float] = [_PRIOR]

    def number_of(self, opponent: str) -> int:
        """Return the number of an opponent, from 1; a new one is given the next."""
        if opponent not in self._numbers:
            self._numbers[opponent] = len(self._scores)
            self._scores.append(0.5)
            self._matches.append(_PRIOR)
        return self._numbers[opponent]

    def score(self, opponent: str) -> float:
        """Return the running score against an opponent, one half if it was never met."""
        return self._scores[self._numbers[opponent]] if opponent in self._numbers else 0.5

    def add(self, results: Mapping[str, tuple[float, float]]) -> None:
        """Take in points and matches by opponent: a mean of all, later of about the last 1,000."""
        for opponent, (points, matches) in results.items():
            if not matches:
                continue
            number = self.number_of(opponent)
            self._matches[number] = min(self._matches[number] + matches, _REMEMBERED)
            share = min(1.0, matches / self._matches[number])
            self._scores[number] += share * (points / matches - self._scores[number])

    def renumbered(self, opponents: Any, names: Sequence[str]) -> Any:
        """Return rows `[N, others]` with numbers for good; `names` has those of 1, 2, … here."""
        numbers = [0, *(self.number_of(name) for name in names)]
        return _at(np.array(numbers, np.int32), opponents)

    def weights(self, opponents: Any, floor: float) -> Any:
        """Return each row's weight `[N]`, by the mean score against its `opponents`."""
        scores = _at(np.array(self._scores, np.float32), opponents)
        return evenness(scores.mean(-1), floor)

    def groups(self, opponents: Any) -> Any:
        """Return numbers `[N]` that are equal where the `opponents` are the same, in any order."""
        if opponents.shape[1] == 1:
            return opponents[:, 0]
        # A sum of random numbers tells sets apart, and does not ask for an order.
        drawn = np.random.Generator(np.random.PCG64(0)).integers(1 << 48, size=len(self._scores))
        return _at(drawn, opponents).sum(-1)

    def matched(self, unrolls: Unrolls, learning: Learning) -> Unrolls:
        """Return unrolls whose rows know their weight and their matchup, where that is wanted."""
        opponents = unrolls.opponents
        if opponents is None:
            return unrolls
        columns: dict[str, Any] = {"opponents": None}
        if learning.matchup_floor is not None:
            columns["weight"] = self.weights(opponents, learning.matchup_floor)
        if learning.matchup_advantages is not None:
            columns["matchup"] = self.groups(opponents)
        return replace(unrolls, **columns)

    def state(self) -> dict[str, Any]:
        """Return all that is known, as lists and arrays."""
        return {
            "names": list(self._numbers),
            "scores": np.array(self._scores, np.float64),
            "matches": np.array(self._matches, np.float64),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` gave."""
        self._numbers = {str(name): at for at, name in enumerate(state["names"], start=1)}
        self._scores = [float(score) for score in state["scores"]]
        self._matches = [float(matches) for matches in state["matches"]]


def _at(table: NDArray[Any], numbers: Any) -> Any:
    """Return the table's entries at `numbers`, wherever those lie."""
    if isinstance(numbers, np.ndarray):
        return table.take(numbers)
    return torch.from_numpy(table).to(numbers.device)[numbers.long()]
