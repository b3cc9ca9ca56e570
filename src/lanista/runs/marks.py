"""What a run is to reach, and what it costs: CPU seconds to the mark, or the budget and more.

Pure functions of what was measured. Knows nothing of runs and files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lanista.errors import LanistaError

_REMEDY = "write it as nash_conv<=0.05, score:BOT>=0.6 or score>=0.6"


@dataclass(frozen=True)
class Mark:
    """A strength: NashConv at most `bound`, or the lower bound of a score at least `bound`."""

    measure: Literal["nash_conv", "score"]
    bot: str
    """Against whom a score is; empty: the mean over all that the run is evaluated against."""
    bound: float

    def __str__(self) -> str:
        sign = "<=" if self.exact else ">="
        bot = f":{self.bot}" if self.bot else ""
        return f"{self.measure}{bot}{sign}{self.bound:g}"

    @property
    def exact(self) -> bool:
        return self.measure == "nash_conv"

    def metrics(self, bots: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the numbers it is read from, of a run evaluated against `bots`."""
        if self.exact:
            return ("exact/nash_conv",)
        return tuple(f"score_low/{bot}" for bot in ([self.bot] if self.bot else bots))

    def value(self, numbers: Mapping[str, float], bots: Sequence[str]) -> float | None:
        """Return what an evaluation says; None: it lacks a number.

        Over several bots it is the mean of the lower bounds. That is no higher than the lower bound
        of the mean, since all meet the policy on the same deals.
        """
        names = self.metrics(bots)
        if not all(name in numbers for name in names):
            return None
        return sum(numbers[name] for name in names) / len(names)

    def reached(self, value: float) -> bool:
        """Whether a value is at least as good as the mark."""
        return value <= self.bound if self.exact else value >= self.bound

    def best(self, values: Iterable[float]) -> float | None:
        """Return the best of some values; None: there are none."""
        return (min if self.exact else max)(values, default=None)

    def shortfall(self, value: float | None, untrained: float) -> float:
        """Return how much of the way is left, 1 at `untrained` or worse, 0 at the mark.

        `untrained` is uniform play's NashConv; of a score it is 0.
        """
        if value is None:
            return 1.0
        return min(1.0, max(0.0, (value - self.bound) / (untrained - self.bound)))


def parse_mark(text: str, name: str = "--mark") -> Mark:
    """Return the mark that a text such as `score:kiter>=0.6` means; refuse one nobody reaches.

    `name` is what the text was given as.
    """
    sign = next((sign for sign in ("<=", ">=") if sign in text), "")
    what, _, number = (part.strip() for part in text.partition(sign or "<="))
    measure, colon, bot = (part.strip() for part in what.partition(":"))
    if not (sign and number) or measure not in ("nash_conv", "score") or bool(colon) != bool(bot):
        raise LanistaError(f"{name} is {text!r}; {_REMEDY}.")
    try:
        bound = float(number)
    except ValueError:
        raise LanistaError(f"{name} is {text!r}, and {number!r} is no number; {_REMEDY}.") from None
    if measure == "nash_conv":
        if bot or sign != "<=":
            raise LanistaError(f"{name} is {text!r}; NashConv falls, so {_REMEDY}.")
        if not 0 < bound < math.inf:
            raise LanistaError(
                f"{name} is {text!r}, and NashConv is 0 only at an equilibrium, which no network "
                "reaches exactly; give a number above 0."
            )
        return Mark("nash_conv", "", bound)
    if sign != ">=":
        raise LanistaError(f"{name} is {text!r}; scores rise, so {_REMEDY}.")
    if not 0 < bound < 1:
        raise LanistaError(
            f"{name} is {text!r}, and a score's lower bound lies between 0 and 1; give a number "
            "between them."
        )
    return Mark("score", bot, bound)


@dataclass(frozen=True)
class Look:
    """One evaluation of a run."""

    seconds: float
    """Seconds of training spent by then, by the clock that runs are timed by."""
    value: float
    """What the mark is compared with."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to within its budget."""

    seconds: float | None
    """Seconds to the mark; None: not reached."""
    best: float | None
    """The value there, or the best on the way to nowhere; None: it was not evaluated."""
    cost: float
    """What is minimised: `seconds`, or budget × (1 + shortfall)."""


def outcome_of(looks: Sequence[Look], mark: Mark, budget: float, untrained: float) -> Outcome:
    """Return what these looks say; those beyond the budget do not count."""
    within = [look for look in looks if look.seconds <= budget]
    for look in within:
        if mark.reached(look.value):
            return Outcome(look.seconds, look.value, look.seconds)
    best = mark.best(look.value for look in within)
    return Outcome(None, best, budget * (1 + mark.shortfall(best, untrained)))
