"""Whether the policy in service can be relied on, by rules that are stated.

From the rows of a learner's book and from arrays to a verdict: games, score, calibration, drift,
who really played. Intervals of the score are made elsewhere and given. Pure; reads no file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError, nearest
from lanista.live.diagnosis.drift import Drift
from lanista.live.files.policy_folder import Change, Pointer
from lanista.live.learner.ledger import GameRow
from lanista.live.promotion.calibration import Calibration, calibration

CHECKS = ("games", "results", "score", "calibration", "drift", "played")


@dataclass(frozen=True)
class Demands:
    """What a policy must show."""

    least_games: int = 200
    """Games with a result."""
    most_missing: float = 0.05
    """Share of its games that may lack a result."""
    least_score: float = 0.5
    """What the lower 95 % bound of its score must reach."""
    most_error: float = 0.1
    """What the lower 95 % bound of the expected calibration error may be."""
    most_drift: float = 0.25
    """Distance of distribution functions that no feature may surely exceed."""
    leave_out: tuple[str, ...] = ()
    """Checks that are shown and do not count."""

    def __post_init__(self) -> None:
        for name in ("most_missing", "least_score", "most_error", "most_drift"):
            if not 0 <= getattr(self, name) <= 1:
                raise LanistaError(f"{name} is {getattr(self, name)}; give 0 to 1.")
        if self.least_games < 1:
            raise LanistaError(f"least_games is {self.least_games}; give 1 or more.")
        for name in self.leave_out:
            if name not in CHECKS:
                raise LanistaError(f"There is no check {name!r}; {nearest(name, CHECKS)}")


class Estimated(Protocol):
    """A mean with its interval."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


@dataclass(frozen=True)
class Check:
    """One rule and what was found."""

    name: str
    found: str
    rule: str
    holds: bool | None
    """None: it cannot be told, which is not enough."""
    counts: bool
    """Whether the verdict depends on it."""


@dataclass(frozen=True)
class Played:
    """Who played since the stable policy became so."""

    games: int
    by: tuple[tuple[str, int], ...]
    """Digests and games, the most first."""
    unnamed: tuple[str, ...]
    """Digests that the pointer did not name meanwhile."""
    late: int
    """Games taken in among those that began under an earlier pointer."""


@dataclass(frozen=True)
class Readiness:
    """The whole report."""

    policy: str
    wins: int
    draws: int
    losses: int
    missing: int
    score: Estimated | None
    win_rate: Estimated | None
    calibration: Calibration | None
    drift: Drift | None
    played: Played
    checks: tuple[Check, ...]

    @property
    def ready(self) -> bool:
        """Whether every check that counts holds."""
        return all(check.holds for check in self.checks if check.counts)


def scores_of(rows: Sequence[GameRow]) -> NDArray[np.float64]:
    """Return 1 for a win, ½ for a draw, 0 for a loss, of games with a result."""
    outcomes = np.array([row.outcome for row in rows if row.outcome is not None], np.float64)
    scores: NDArray[np.float64] = (np.sign(outcomes) + 1) / 2
    return scores


def played_since(rows: Sequence[GameRow], pointer: Pointer, history: Sequence[Change]) -> Played:
    """Return who played the games that began since `pointer.stable` last became stable."""
    since = pointer.serial
    for change in reversed(history):
        if change.pointer.stable != pointer.stable:
            break
        since = change.pointer.serial
    named = {pointer.stable, *pointer.candidates}
    for change in history:
        if change.pointer.serial >= since:
            named |= {change.pointer.stable, *change.pointer.candidates}
    inside = [i for i, row in enumerate(rows) if row.serial >= since]
    counts = Counter(rows[i].policy for i in inside)
    late = sum(row.serial < since for row in rows[inside[0] :]) if inside else 0
    strangers = tuple(digest for digest in counts if digest not in named)
    return Played(len(inside), tuple(counts.most_common()), strangers, late)


def calibrated(rows: Sequence[GameRow]) -> Calibration | None:
    """Return how well the critic's first expectation fits what came.

    Both are mapped to [0, 1] by the lowest and highest return among the games; predictions beyond
    are cut. None where nothing was predicted, or all returns are the same.
    """
    pairs = [
        (row.predicted, row.came)
        for row in rows
        if row.predicted is not None and row.came is not None
    ]
    if not pairs:
        return None
    predicted, returns = np.array(pairs, np.float64).T
    low, high = returns.min(), returns.max()
    if low == high:
        return None
    return calibration(
        np.clip((predicted - low) / (high - low), 0, 1), (returns - low) / (high - low)
    )


def assess(
    policy: str,
    rows: Sequence[GameRow],
    played: Played,
    *,
    score: Estimated | None,
    win_rate: Estimated | None,
    drift: Drift | None,
    demands: Demands,
) -> Readiness:
    """Hold the games `rows` of a policy, and what else is known, against the demands."""
    scores = scores_of(rows)
    missing = len(rows) - len(scores)
    error = calibrated(rows)
    checks = (
        _games(len(scores), demands),
        _results(missing, len(rows), demands),
        _score(score, demands),
        _calibration(error, demands),
        _drift(drift, demands),
        _played(played),
    )
    return Readiness(
        policy=policy,
        wins=int((scores == 1).sum()),
        draws=int((scores == 0.5).sum()),
        losses=int((scores == 0).sum()),
        missing=missing,
        score=score,
        win_rate=win_rate,
        calibration=error,
        drift=drift,
        played=played,
        checks=tuple(
            Check(name, finding, rule, holds, name not in demands.leave_out)
            for name, finding, rule, holds in checks
        ),
    )


_Result = tuple[str, str, str, bool | None]


def _games(games: int, demands: Demands) -> _Result:
    least = demands.least_games
    return "games", f"{games:,} with a result", f"at least {least:,}", games >= least


def _results(missing: int, games: int, demands: Demands) -> _Result:
    rule = f"at most {demands.most_missing:.0%} without one"
    if not games:
        return "results", "no games", rule, None
    share = missing / games
    finding = f"{missing:,} of {games:,} games without one ({share:.1%})"
    return "results", finding, rule, share <= demands.most_missing


def _score(score: Estimated | None, demands: Demands) -> _Result:
    rule = f"lower bound at least {demands.least_score:g}"
    if score is None or score.low is None or score.high is None:
        return "score", "unknown", rule, None
    finding = f"{score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"
    return "score", finding, rule, score.low >= demands.least_score


def _calibration(error: Calibration | None, demands: Demands) -> _Result:
    rule = f"lower bound at most {demands.most_error:g}"
    if error is None:
        return "calibration", "unknown: no predictions, or no difference to predict", rule, None
    finding = (
        f"error {error.error:.3f} [{error.low:.3f}, {error.high:.3f}] over {error.games:,} games; "
        f"chance alone stays below {error.noise:.3f}"
    )
    return "calibration", finding, rule, error.low <= demands.most_error


def _drift(drift: Drift | None, demands: Demands) -> _Result:
    rule = f"no number surely drifted by more than {demands.most_drift:g}"
    if drift is None:
        finding = (
            "unknown: no games before and after this policy was made; a first policy has none "
            "before it, so give --leave-out drift"
        )
        return "drift", finding, rule, None
    games = f"{drift.games[0]} games before, {drift.games[1]} since"
    if not drift.can_tell:
        return "drift", f"cannot tell from {games}", rule, None
    far = drift.drifted
    if not far:
        farthest = max(feature.distance for feature in drift.features)
        return "drift", f"none; the largest distance is {farthest:.3f} ({games})", rule, True
    listed = ", ".join(f"{feature.name} {feature.distance:.2f}" for feature in far[:5])
    return "drift", f"{len(far)} of {len(drift.features)} numbers: {listed} ({games})", rule, False


def _played(played: Played) -> _Result:
    rule = "only policies that the pointer named meanwhile"
    if not played.games:
        return "played", "no games since it became stable", rule, None
    shares = ", ".join(f"{digest[:12]} {n / played.games:.0%}" for digest, n in played.by[:5])
    finding = f"{played.games:,} games since: {shares}"
    if played.late:
        finding += f"; {played.late:,} late: taken in since, but begun before it was stable"
    if played.unnamed:
        finding += f"; never named: {', '.join(digest[:12] for digest in played.unnamed[:3])}"
    return "played", finding, rule, not played.unnamed
