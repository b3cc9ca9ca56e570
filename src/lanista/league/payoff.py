"""Keeps what players have scored against each other, as a fold over outcomes.

Counts are kept for each ordered pair of names (who sat before whom) and decay by games, never by
time. The same outcomes in the same order give the same numbers, bit for bit. Knows nothing of
networks, of files or of who should meet next.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from lanista.errors import LanistaError
from lanista.evaluation.score import Estimate, Z, wilson

Counts = tuple[float, float, float]
"""Wins, draws and losses."""
Gains = tuple[float, float, float]
"""Matches, the sum of what was won in them, and the sum of its squares."""
_NONE: Counts = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Outcome:
    """What came of some matches of one seating."""

    names: tuple[str, ...]
    """The players in seat order; a name may sit in several seats."""
    pairs: tuple[tuple[int, int, int], ...]
    """(wins, draws, losses) of each two seats, seen from the earlier one, in the order of
    `itertools.combinations`: (0, 1), (0, 2) … (1, 2) …"""
    gains: Gains | None = None
    """Of matches of two seats, where it is known: what the earlier seat won."""

    def __post_init__(self) -> None:
        seats = len(self.names)
        if seats < 2 or len(self.pairs) != seats * (seats - 1) // 2:
            raise LanistaError(
                f"An outcome of {seats} seats has results of {len(self.pairs)} pairs; give two "
                "seats or more and a result for every two of them."
            )
        if any(len(counts) != 3 or min(counts) < 0 for counts in self.pairs):
            raise LanistaError(
                f"An outcome has the counts {self.pairs}; give wins, draws and losses, none "
                "below 0."
            )


def outcome_of(names: Sequence[str], places: Sequence[int]) -> Outcome:
    """Return the outcome of one match from its places (1 is best, equals share)."""
    if len(names) != len(places):
        raise LanistaError(f"A match of {len(names)} players has {len(places)} places.")
    pairs = tuple(_result(a, b) for a, b in combinations(places, 2))
    return Outcome(tuple(names), pairs)


def _result(mine: int, other: int) -> tuple[int, int, int]:
    return int(mine < other), int(mine == other), int(mine > other)


class Payoff:
    """Decayed wins, draws and losses of every two players.

    Before k new games of two players are added, all they had is multiplied by 0.5^(k / half_life),
    in both seat orders. So a rate follows a learner as it changes, at a pace that depends on how
    often the two meet. A half-life of 0 forgets nothing, as an infinite one does.
    """

    def __init__(self, half_life: float = math.inf) -> None:
        if not half_life >= 0:
            raise LanistaError(f"The half-life of a payoff is {half_life}; give 0 or more games.")
        self.half_life = half_life or math.inf
        self._counts: dict[tuple[str, str], Counts] = {}
        self._gains: dict[tuple[str, str], Gains] = {}
        self._names: dict[str, None] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Everybody who has played, in the order of their first games."""
        return tuple(self._names)

    @property
    def table(self) -> dict[tuple[str, str], Counts]:
        """The counts of every ordered pair that has met."""
        return dict(self._counts)

    def add(self, outcome: Outcome) -> None:
        """Take in an outcome, a pair of seats after the other."""
        self._names.update(dict.fromkeys(outcome.names))
        for (a, b), new in zip(combinations(outcome.names, 2), outcome.pairs, strict=True):
            if any(new):
                self._add_pair(a, b, new)
        if outcome.gains is not None:
            a, b = outcome.names
            old = self._gains.get((a, b), _NONE)
            matches, won, squares = outcome.gains
            self._gains[a, b] = (old[0] + matches, old[1] + won, old[2] + squares)

    def _add_pair(self, a: str, b: str, new: tuple[int, int, int]) -> None:
        decay = 0.5 ** (sum(new) / self.half_life)
        for pair in {(a, b), (b, a)} & self._counts.keys():
            wins, draws, losses = self._counts[pair]
            self._counts[pair] = (wins * decay, draws * decay, losses * decay)
        for pair in {(a, b), (b, a)} & self._gains.keys():
            matches, won, squares = self._gains[pair]
            self._gains[pair] = (matches * decay, won * decay, squares * decay)
        old = self._counts.get((a, b), _NONE)
        self._counts[a, b] = (old[0] + new[0], old[1] + new[1], old[2] + new[2])

    def forget(self, name: str) -> None:
        """Drop all games of a player that is no longer who it was."""
        self._counts = {pair: counts for pair, counts in self._counts.items() if name not in pair}
        self._gains = {pair: gains for pair, gains in self._gains.items() if name not in pair}

    def preferring(self, other: Payoff) -> Payoff:
        """Return these counts, with those of `other` for every two players who met there."""
        both = Payoff(self.half_life)
        met = {frozenset(pair) for pair in other._counts}
        own = {pair: counts for pair, counts in self._counts.items() if frozenset(pair) not in met}
        both._counts = own | other._counts
        own_gains = {p: gains for p, gains in self._gains.items() if frozenset(p) not in met}
        both._gains = own_gains | other._gains
        both._names = self._names | other._names
        return both

    def counts(self, a: str, b: str) -> Counts:
        """Return wins, draws and losses of `a` in the games in which it sat before `b`."""
        return self._counts.get((a, b), _NONE)

    def both_seats(self, a: str, b: str) -> Counts:
        """Return wins, draws and losses of `a` against `b`, whoever sat first.

        Against itself: those of the earlier seat.
        """
        wins, draws, losses = self.counts(a, b)
        if a == b:
            return wins, draws, losses
        lost, level, won = self.counts(b, a)
        return wins + won, draws + level, losses + lost

    def games(self, a: str, b: str) -> float:
        """Return how many games of the two count, after decay."""
        return sum(self.both_seats(a, b))

    def rate(self, a: str, b: str, smoothing: float = 2.0) -> float:
        """Return the score of `a` against `b` with `smoothing` games at one half added.

        One half when nothing is known, and for a player against itself.
        """
        return self.pooled_rate(a, [b], smoothing)

    def pooled_rate(self, a: str, opponents: Iterable[str], smoothing: float = 2.0) -> float:
        """Return the same over all games of `a` with several opponents together."""
        score, games = smoothing / 2, smoothing
        for b in opponents:
            if b != a:
                wins, draws, losses = self.both_seats(a, b)
                score += wins + draws / 2
                games += wins + draws + losses
        # Rounding must not push a rate out of 0 to 1.
        return min(score / games, 1.0) if games else 0.5

    def interval(self, a: str, b: str) -> Estimate | None:
        """Return the score of `a` against `b` with Wilson's interval; None without games.

        It counts the games after decay, rounded down, as independent trials. That is approximate:
        a draw varies less than a win or a loss, and matches on one deal with the seats swapped
        belong together, which makes the true interval narrower or wider. Admission and promotion
        use evaluation matches and their pairs instead.
        """
        if a == b:
            return None
        return _estimate(self.both_seats(a, b))

    def gain(self, a: str, b: str) -> Estimate | None:
        """Return what `a` won per match from `b`, whoever sat first; None where nobody knows.

        Its interval takes matches for independent, as that of the score does. Training games do
        not say what each match was won by, so only matches of fixed players count.
        """
        matches, won, squares = self._gains.get((a, b), _NONE)
        other_matches, lost, other_squares = self._gains.get((b, a), _NONE)
        matches += other_matches
        if a == b or matches <= 0:
            return None
        mean = (won - lost) / matches
        if matches < 2:
            return Estimate(mean, None, None, int(matches))
        variance = max((squares + other_squares) / matches - mean**2, 0.0)
        half = Z * math.sqrt(variance / (matches - 1))
        return Estimate(mean, mean - half, mean + half, int(matches))

    def first_seat(self, *names: str) -> Estimate | None:
        """Return the score of the earlier seat over all games, or those among `names`.

        A player's games against itself count here: they tell seats apart and nothing else.
        """
        wins = draws = losses = 0.0
        for pair, counts in self._counts.items():
            if not names or set(pair) <= set(names):
                wins, draws, losses = wins + counts[0], draws + counts[1], losses + counts[2]
        return _estimate((wins, draws, losses))


def _estimate(counts: Counts) -> Estimate | None:
    wins, draws, losses = counts
    games = wins + draws + losses
    trials = int(games)
    return wilson((wins + draws / 2) / games * trials, trials) if trials else None


def fold(outcomes: Iterable[Outcome], half_life: float = math.inf) -> Payoff:
    """Return the payoff of `outcomes`, taken in their order."""
    payoff = Payoff(half_life)
    for outcome in outcomes:
        payoff.add(outcome)
    return payoff
