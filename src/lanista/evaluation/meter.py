"""The worst-case meter: what every instrument reads, and what a reading may be called.

Three instruments measure how badly a player can be beaten: exactly (small games), by a learned best
response, and by the lowest score over a pool. Owns readings, and makes them from numbers. Knows
nothing of networks, training and files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Any, Literal, Protocol

from lanista.errors import LanistaError
from lanista.evaluation.score import Estimate, Z
from lanista.games.trees.exact import MOST_HISTORIES, PolicyFunction, exact_nash_conv

InstrumentName = Literal["exact", "learned", "pool"]
Unit = Literal["nash_conv", "gain", "score"]
FEWEST_POINTS = 6
"""A learning curve with fewer cannot show that it has levelled out."""
FEWEST_RESPONSES = 3
"""The best of fewer is no ceiling, however level its curve: another start may lead elsewhere."""
LEVEL = {"score": 0.01, "gain": 0.05}
"""A curve is level when its last third lies surely no higher than this above the third before: in
score, or as a share of the largest value for gains, whose size depends on the game."""


@dataclass(frozen=True)
class Point:
    """A response on its way: how much it had practised, and what it then scored."""

    decisions: int
    """Of practice so far."""
    value: float
    low: float | None = None
    high: float | None = None
    digest: str = ""
    """Of the response as it was then."""


@dataclass(frozen=True)
class Reading:
    """What an instrument says about one player."""

    instrument: InstrumentName
    subject: str
    """The player's name."""
    digest: str
    """Of the player as it was measured."""
    unit: Unit
    """nash_conv: what all seats could gain, summed; gain: what the response earns per match beyond
    what the subject earns against itself; score: of the response against the subject, or, for a
    pool, the subject's own lowest."""
    value: float
    low: float | None = None
    high: float | None = None
    """The 95 % interval; None where the instrument has none or the data cannot say."""
    n: int = 0
    """Units (deals in all seatings) that the value rests on."""
    against: str = ""
    """Digest of the response, or name of the pool's member, that the value was found with."""
    budget_decisions: int = 0
    """Decisions that the response practised for."""
    curve: tuple[Point, ...] = ()
    """The response on its way, measured on deals that the value does not rest on."""
    rising: bool = False
    """Whether the curve has not been shown to have levelled out."""
    responses: int = 1
    """How many were learnt; the value is that of the best."""

    @property
    def lower_bound(self) -> bool:
        """Whether more practice, or another start, may well find more."""
        few = self.responses < FEWEST_RESPONSES
        return self.instrument == "learned" and (self.rising or few)

    @property
    def called(self) -> str:
        """What the value may be called."""
        if self.instrument == "exact":
            return "exact"
        if self.instrument == "pool":
            return "lowest score over the pool"
        return "lower bound" if self.lower_bound else "ceiling"

    @property
    def weakness(self) -> float:
        """The value turned so that more is worse for the subject."""
        return 1 - self.value if self.instrument == "pool" else self.value

    def weaker_than(self, other: Reading) -> bool:
        """Return whether the subject is worse off than another's; only like is compared."""
        if (self.instrument, self.unit) != (other.instrument, other.unit):
            raise LanistaError(
                f"A reading of {self.instrument} in {self.unit} cannot be compared with one of "
                f"{other.instrument} in {other.unit}; measure both with one instrument."
            )
        return self.weakness > other.weakness

    def surely_weaker_than(self, other: Reading) -> bool:
        """Return whether the other's value lies beyond this one's interval, on the better side.

        Without an interval nothing is sure.
        """
        if not self.weaker_than(other):
            return False
        bound = self.high if self.instrument == "pool" else self.low
        if bound is None:
            return False
        return bound < other.value if self.instrument == "pool" else bound > other.value

    def to_json(self) -> dict[str, Any]:
        """Return the reading as plain values, with what it may be called."""
        return {**asdict(self), "curve": [asdict(point) for point in self.curve],
                "lower_bound": self.lower_bound, "called": self.called}  # fmt: skip

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Reading:
        """Return the reading that `to_json` gave."""
        fields = {
            name: value for name, value in values.items() if name not in ("lower_bound", "called")
        }
        try:
            return cls(**{**fields, "curve": tuple(Point(**point) for point in fields["curve"])})
        except (TypeError, KeyError) as error:
            raise LanistaError(f"This is no reading of the meter: {error}.") from error


class Instrument(Protocol):
    """Whatever can say how badly a player can be beaten."""

    def read(self, subject: str | Path) -> Reading:
        """Measure a bot, a policy file or a bot's Python file."""
        ...


def exact_reading(
    game: str,
    policy: PolicyFunction,
    subject: str,
    digest: str,
    most_histories: int = MOST_HISTORIES,
    **how: Any,
) -> Reading:
    """Return NashConv; `how` is what else `exact_nash_conv` takes."""
    value = exact_nash_conv(game, policy, most_histories, **how)
    return Reading("exact", subject, digest, "nash_conv", value, value, value)


def pool_reading(subject: str, digest: str, scores: Mapping[str, Estimate | None]) -> Reading:
    """Return the subject's lowest score over a pool, from its score against each member.

    The lowest of many estimates is an unlucky one too, so the interval holds for all members at
    once (Bonferroni): the lowest true score lies between the lowest low and the lowest high end.
    Members without games are left out.
    """
    played = {name: score for name, score in scores.items() if score is not None}
    if not played:
        raise LanistaError(f"{subject} has met nobody of the pool; play some matches first.")
    stretch = NormalDist().inv_cdf(1 - 0.025 / len(played)) / Z
    worst = min(played, key=lambda name: played[name].value)
    lows = [_stretched(score, score.low, stretch) for score in played.values()]
    highs = [_stretched(score, score.high, stretch) for score in played.values()]
    return Reading(
        "pool",
        subject,
        digest,
        "score",
        played[worst].value,
        None if None in lows else max(0.0, min(low for low in lows if low is not None)),
        None if None in highs else min(1.0, min(high for high in highs if high is not None)),
        played[worst].n,
        worst,
    )


def learned_reading(
    subject: str,
    digest: str,
    unit: Literal["gain", "score"],
    estimate: Estimate,
    *,
    response: str,
    budget_decisions: int,
    curve: Sequence[Point],
    responses: int = 1,
) -> Reading:
    """Return what a learned best response earned on deals that it was not chosen by."""
    return Reading(
        "learned",
        subject,
        digest,
        unit,
        estimate.value,
        estimate.low,
        estimate.high,
        estimate.n,
        response,
        budget_decisions,
        tuple(curve),
        still_rising(curve, unit),
        responses,
    )


def still_rising(curve: Sequence[Point], unit: Literal["gain", "score"]) -> bool:
    """Return whether a learning curve has not been shown to have levelled out.

    The mean of its last third is held against that of the third before. It is level when the upper
    95 % bound of the difference is small. Points share their deals, so that taking them for
    independent makes the bound wide rather than narrow. Too few points, or points without
    intervals, show nothing and count as rising.
    """
    third = len(curve) // 3
    last, before = curve[-third:], curve[-2 * third : -third]
    if len(curve) < FEWEST_POINTS or any(_half(point) is None for point in (*last, *before)):
        return True
    rise = fmean(point.value for point in last) - fmean(point.value for point in before)
    spread = math.sqrt(sum((_half(point) or 0.0) ** 2 for point in (*last, *before))) / third
    largest = max(abs(point.value) for point in curve) if unit == "gain" else 1.0
    return rise + spread > LEVEL[unit] * largest


def _half(point: Point) -> float | None:
    """Return half the width of a point's interval."""
    if point.low is None or point.high is None:
        return None
    return (point.high - point.low) / 2


def _stretched(score: Estimate, end: float | None, stretch: float) -> float | None:
    return None if end is None else score.value + (end - score.value) * stretch
