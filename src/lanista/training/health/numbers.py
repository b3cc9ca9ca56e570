"""A learner's numbers as findings are made from them, wherever they were read.

Owns the series and training games of one learner, and the scores of its evaluations. Knows nothing
of files, and nothing of what is a fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from lanista.evaluation.score import Estimate
from lanista.runs.metric_names import Series
from lanista.runs.schema import TrainingGamesRow

LEAST_WINDOW = 10
"""Updates without which the last tenth of a run is too few of them."""
PAID_ALIKE = 1e-6
"""Mean returns that lie no further apart are the same."""
WATCHED = (
    "policy/entropy", "policy/behaviour_kl", "policy/weight", "value/explained_variance",
    "value/q_explained_variance", "value/weight", "score/", "score_low/", "score_high/",
    "evaluation_return/", "exact/nash_conv", "uniform/nash_conv", "lag/mean", "decisions",
    "matches",
)  # fmt: skip
"""How the names of all series that findings look at begin."""


@dataclass(frozen=True)
class LearnerNumbers:
    """What a run knows of one learner."""

    learner: str
    series: Mapping[str, Series]
    """By name, without the learner's before it."""
    games: Sequence[TrainingGamesRow] = ()
    """Its training games, by update."""

    def of(self, name: str) -> Series:
        """Return a series; empty where the run has none."""
        return tuple(self.series.get(name, ()))

    def last_tenth(self, name: str) -> list[float]:
        """Return the newest tenth of a series, ten values and more; none where there are fewer."""
        values = [value for _, value in self.of(name)]
        if len(values) < LEAST_WINDOW:
            return []
        return values[-max(LEAST_WINDOW, len(values) // 10) :]

    def entropy(self) -> Series:
        """Return the entropy by update, all heads together."""
        total: dict[int, float] = {}
        for name, series in self.series.items():
            if name.startswith("policy/entropy"):
                for update, value in series:
                    total[update] = total.get(update, 0.0) + value
        return tuple(sorted(total.items()))

    @property
    def heads(self) -> int:
        """How many parts an action has."""
        return max(1, sum(name.startswith("policy/entropy") for name in self.series))

    def evaluations(self) -> dict[int, dict[str, Estimate]]:
        """Return the scores by opponent of each evaluation, by update; those with an interval."""
        scores: dict[int, dict[str, Estimate]] = {}
        for name, series in self.series.items():
            if not name.startswith("score/"):
                continue
            word = name.removeprefix("score/")
            lows, highs = (dict(self.of(f"score_{end}/{word}")) for end in ("low", "high"))
            for update, value in series:
                low, high = lows.get(update), highs.get(update)
                if low is not None and high is not None:
                    scores.setdefault(update, {})[word] = Estimate(value, low, high, 0)
        return dict(sorted(scores.items()))


@dataclass
class Tally:
    """Training matches against one opponent."""

    won: int = 0
    drawn: int = 0
    lost: int = 0
    lowest: float = float("inf")
    highest: float = float("-inf")
    """The mean return of a match, over rows: equal where nothing but the result is paid."""

    @property
    def matches(self) -> int:
        return self.won + self.drawn + self.lost

    @property
    def paid_alike(self) -> bool:
        """Whether every match paid the same."""
        return self.highest - self.lowest < PAID_ALIKE


def tallies(numbers: LearnerNumbers) -> dict[str, Tally]:
    """Count the training matches of the second half of a run, by opponent; itself is left out."""
    rows = numbers.games[len(numbers.games) // 2 :]
    counts: dict[str, Tally] = {}
    for row in rows:
        for at, (one, other) in enumerate(combinations(range(len(row.seating)), 2)):
            won, drawn, lost = row.pairs[at]
            for seat, rival, wins, losses in ((one, other, won, lost), (other, one, lost, won)):
                name = row.seating[rival]
                if row.seating[seat] != numbers.learner or name == numbers.learner:
                    continue
                tally = counts.setdefault(name, Tally())
                tally.won, tally.drawn, tally.lost = (
                    tally.won + wins,
                    tally.drawn + drawn,
                    tally.lost + losses,
                )
                paid = row.returns[seat] / max(1, row.matches)
                tally.lowest, tally.highest = min(tally.lowest, paid), max(tally.highest, paid)
    return counts
