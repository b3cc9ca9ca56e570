"""Numbers that change while training: weights, learning rates, temperatures.

A schedule is a frozen value: `schedule(step, total)` gives the number at a step. What one must
remember (a plateau, or KL) is a plain dict passed in and out, fit for a checkpoint. Knows nothing
of what its numbers are used for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lanista.errors import LanistaError

State = dict[str, float]
_LONG = 1 << 40
"""Steps after which any schedule over updates is at its end."""


@dataclass(frozen=True)
class Schedule:
    """What all schedules share."""

    kind: ClassVar[str] = ""

    def __call__(
        self,
        step: int,
        total: int,
        state: Mapping[str, float] | None = None,
        values: Mapping[str, float] | None = None,
    ) -> float:
        """Return the number at `step` of `total`.

        `state` is what `initial` and `observe` gave; `values` are those of the schedules that
        this one `needs`, by name.
        """
        raise NotImplementedError

    def initial(self) -> State:
        """Return what the schedule must remember, before the first step."""
        return {}

    def observe(self, state: Mapping[str, float], metric: float) -> State:
        """Return what the schedule must remember after seeing `metric`."""
        return dict(state)

    def moved(self, state: Mapping[str, float], kl: float, step: int, total: int) -> State:
        """Return what the schedule must remember after update `step` moved the policy by `kl`."""
        return dict(state)

    def needs(self) -> tuple[str, ...]:
        """Return the names of the schedules whose values this one is made of."""
        return ()

    def follows_kl(self) -> bool:
        """Whether the number depends on how far updates moved the policy."""
        return False


@dataclass(frozen=True)
class Constant(Schedule):
    """Always the same."""

    kind = "constant"
    value: float

    def __call__(self, step: int, total: int, state: Any = None, values: Any = None) -> float:
        return self.value


@dataclass(frozen=True)
class _Ramp(Schedule):
    start: float
    end: float
    steps: int | None = None
    """How long the change takes; the whole run if not given. Afterwards it stays at `end`."""

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps < 1:
            raise LanistaError(f"A {self.kind} schedule needs steps ≥ 1, got {self.steps}.")

    def _progress(self, step: int, total: int) -> float:
        return min(1.0, max(0.0, step / max(1, self.steps if self.steps is not None else total)))


@dataclass(frozen=True)
class Linear(_Ramp):
    """A straight line from `start` to `end`."""

    kind = "linear"

    def __call__(self, step: int, total: int, state: Any = None, values: Any = None) -> float:
        progress = self._progress(step, total)
        return self.start * (1 - progress) + self.end * progress


@dataclass(frozen=True)
class Cosine(_Ramp):
    """Half a cosine wave from `start` to `end`: slow, fast, slow."""

    kind = "cosine"
    end: float = 0.0

    def __call__(self, step: int, total: int, state: Any = None, values: Any = None) -> float:
        progress = 0.5 - 0.5 * math.cos(math.pi * self._progress(step, total))
        return self.start * (1 - progress) + self.end * progress


@dataclass(frozen=True)
class Exponential(_Ramp):
    """From `start` to `end` by the same factor each step; both must be above 0."""

    kind = "exponential"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start <= 0 or self.end <= 0:
            raise LanistaError(
                f"An exponential schedule needs start and end above 0, got {self.start} and "
                f"{self.end}; a linear one can reach 0."
            )

    def __call__(self, step: int, total: int, state: Any = None, values: Any = None) -> float:
        progress = self._progress(step, total)
        return math.exp((1 - progress) * math.log(self.start) + progress * math.log(self.end))


@dataclass(frozen=True)
class Power(Schedule):
    """`start` · (1 + step / `scale`)^−`exponent`, never below `end`."""

    kind = "power"
    start: float
    exponent: float
    scale: float
    """After so many steps 1 has become 2 in the bracket."""
    end: float = 0.0

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise LanistaError(f"A power schedule needs a scale above 0, got {self.scale}.")

    def __call__(self, step: int, total: int, state: Any = None, values: Any = None) -> float:
        return max(self.end, self.start * math.pow(1 + step / self.scale, -self.exponent))


class _Around(Schedule):
    """A schedule that changes when or how much another one counts."""

    then: Schedule

    def initial(self) -> State:
        return self.then.initial()

    def observe(self, state: Mapping[str, float], metric: float) -> State:
        return self.then.observe(state, metric)

    def moved(self, state: Mapping[str, float], kl: float, step: int, total: int) -> State:
        return self.then.moved(state, kl, step, total)

    def needs(self) -> tuple[str, ...]:
        return self.then.needs()

    def follows_kl(self) -> bool:
        return self.then.follows_kl()


@dataclass(frozen=True)
class WarmUp(_Around):
    """Another schedule, multiplied by a factor that rises evenly to 1 over the first steps."""

    kind = "warm-up"
    steps: int
    then: Schedule

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise LanistaError(f"A warm-up schedule needs steps ≥ 1, got {self.steps}.")

    def __call__(
        self,
        step: int,
        total: int,
        state: Mapping[str, float] | None = None,
        values: Mapping[str, float] | None = None,
    ) -> float:
        # The first step already moves: a factor of 0 would waste it.
        factor = min(1.0, (step + 1) / self.steps)
        return factor * self.then(step, total, state, values)


@dataclass(frozen=True)
class Delay(_Around):
    """One number for the first steps, or for a share of the run, then another schedule."""

    kind = "delay"
    then: Schedule
    steps: int | None = None
    share: float | None = None
    before: float = 0.0

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.share is None):
            raise LanistaError("A delay schedule needs steps, or a share of the run.")
        if self.steps is not None and self.steps < 1:
            raise LanistaError(f"A delay schedule needs steps ≥ 1, got {self.steps}.")
        if self.share is not None and not 0 < self.share < 1:
            raise LanistaError(f"A delay schedule needs a share between 0 and 1, got {self.share}.")

    def __call__(
        self,
        step: int,
        total: int,
        state: Mapping[str, float] | None = None,
        values: Mapping[str, float] | None = None,
    ) -> float:
        first = self._first(total)
        if step < first:
            return self.before
        return self.then(step - first, max(1, total - first), state, values)

    def moved(self, state: Mapping[str, float], kl: float, step: int, total: int) -> State:
        first = self._first(total)
        if step < first:
            return dict(state)
        return self.then.moved(state, kl, step - first, max(1, total - first))

    def _first(self, total: int) -> int:
        return self.steps if self.steps is not None else max(1, round((self.share or 0) * total))


@dataclass(frozen=True)
class OnPlateau(Schedule):
    """Multiplied by `factor` whenever the metric has not improved for `patience` looks."""

    kind = "on-plateau"
    start: float
    factor: float = 0.5
    patience: int = 10
    threshold: float = 0.0
    """By how much the metric must beat its best to count as better."""
    end: float = 0.0
    """Never goes below this."""
    higher_is_better: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.factor < 1 or self.patience < 1:
            raise LanistaError(
                f"An on-plateau schedule needs a factor in (0, 1) and patience ≥ 1, got "
                f"{self.factor} and {self.patience}."
            )

    def __call__(
        self,
        step: int,
        total: int,
        state: Mapping[str, float] | None = None,
        values: Mapping[str, float] | None = None,
    ) -> float:
        return (self.initial() if state is None else state)["value"]

    def initial(self) -> State:
        return {"value": self.start, "waited": 0, "seen": 0, "best": 0.0}

    def observe(self, state: Mapping[str, float], metric: float) -> State:
        rise = metric - state["best"] if self.higher_is_better else state["best"] - metric
        count = state["seen"] + 1
        if not state["seen"] or rise > self.threshold:
            return {"value": state["value"], "waited": 0, "seen": count, "best": metric}
        waited, value = state["waited"] + 1, state["value"]
        if waited >= self.patience:
            waited, value = 0, max(self.end, value * self.factor)
        return {"value": value, "waited": waited, "seen": count, "best": state["best"]}


@dataclass(frozen=True)
class FollowKL(Schedule):
    """Raised while updates move the policy by less than half of `target`, lowered above twice."""

    kind = "follow-kl"
    start: float
    target: Schedule
    """KL of an update, from the policy that acted, in nats a decision; a schedule too."""
    factor: float = 1.5
    """By how much it is raised or lowered after an update."""
    lowest: float = 1e-6
    highest: float = 1e-2

    def __post_init__(self) -> None:
        if self.factor <= 1:
            raise LanistaError(f"A follow-kl schedule needs a factor above 1, got {self.factor}.")
        if not 0 < self.lowest <= self.start <= self.highest:
            raise LanistaError(
                f"A follow-kl schedule needs 0 < lowest ≤ start ≤ highest, got {self.lowest}, "
                f"{self.start} and {self.highest}."
            )
        if self.target.needs() or self.target.initial():
            raise LanistaError(
                f"The target of a follow-kl schedule is {self.target.kind}; give a number or a "
                "schedule over updates."
            )
        lowest = min(self.target(step, _LONG) for step in (0, _LONG // 2, _LONG - 1))
        if lowest <= 0:
            raise LanistaError(
                f"The target of a follow-kl schedule comes to {lowest:g}; KL is never below 0, so "
                "give one that stays above."
            )

    def __call__(
        self,
        step: int,
        total: int,
        state: Mapping[str, float] | None = None,
        values: Mapping[str, float] | None = None,
    ) -> float:
        return (self.initial() if state is None else state)["value"]

    def initial(self) -> State:
        return {"value": self.start}

    def moved(self, state: Mapping[str, float], kl: float, step: int, total: int) -> State:
        target, value = self.target(step, total), state["value"]
        if kl < target / 2:
            value = min(self.highest, value * self.factor)
        elif kl > 2 * target:
            value = max(self.lowest, value / self.factor)
        return {"value": value}

    def follows_kl(self) -> bool:
        return True


@dataclass(frozen=True)
class Coupled(Schedule):
    """`factor` times the value of the schedule named `to`."""

    kind = "coupled"
    to: str
    factor: float = 1.0

    def __call__(
        self,
        step: int,
        total: int,
        state: Mapping[str, float] | None = None,
        values: Mapping[str, float] | None = None,
    ) -> float:
        return self.factor * (values or {})[self.to]

    def needs(self) -> tuple[str, ...]:
        return (self.to,)
