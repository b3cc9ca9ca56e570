"""Numbers that change while training: weights, learning rates, temperatures.

A schedule is a frozen value: `schedule(step, total)` gives the number at a step. What one must
remember (only a plateau does) is a plain dict passed in and out, fit for a checkpoint. A further
kind is a frozen dataclass in the table here, or an entry point of `lanista.schedules`. Knows
nothing of what its numbers are used for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, get_args, get_type_hints

from lanista.errors import LanistaError, nearest
from lanista.extensions import Entry, Table

State = dict[str, float]


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

    def needs(self) -> tuple[str, ...]:
        """Return the names of the schedules whose values this one is made of."""
        return ()


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

    def needs(self) -> tuple[str, ...]:
        return self.then.needs()


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
        first = self.steps if self.steps is not None else max(1, round((self.share or 0) * total))
        if step < first:
            return self.before
        return self.then(step - first, max(1, total - first), state, values)


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


def _entry_of(about: str, cls: type[Schedule]) -> Entry:
    return Entry(about, cls)


SCHEDULES: Table[Entry] = Table(
    "schedule",
    "lanista.schedules",
    {
        cls.kind: Entry(str(cls.__doc__).splitlines()[0], cls)
        for cls in (Constant, Linear, Cosine, Power, Exponential, WarmUp, Delay, OnPlateau, Coupled)
    },
    wrap=_entry_of,
)


def parse_schedule(value: object) -> Schedule:
    """Return the schedule that settings ask for: a number, or a mapping with its `kind`."""
    if isinstance(value, Schedule):
        return value
    if not isinstance(value, Mapping):
        return Constant(_number("A schedule", value))
    entries = {str(key): entry for key, entry in value.items()}
    if "kind" not in entries:
        names = ", ".join(SCHEDULES)
        raise LanistaError(f"A schedule needs a kind, got {value!r}; known: {names}.")
    kind = str(entries.pop("kind"))
    cls = _class_of(kind)
    fields_by_name = {field.name: field for field in fields(cls)}
    for key in entries:
        if key not in fields_by_name:
            raise LanistaError(f"A {kind} schedule has no {key!r}: {nearest(key, fields_by_name)}")
    missing = [n for n, f in fields_by_name.items() if f.default is MISSING and n not in entries]
    if missing:
        raise LanistaError(f"A {kind} schedule needs {' and '.join(map(repr, missing))}.")
    hints = get_type_hints(cls)
    return cls(**{key: _entry(kind, key, hints[key], entry) for key, entry in entries.items()})


def _class_of(kind: str) -> type[Schedule]:
    if kind not in SCHEDULES:
        raise LanistaError(f"No schedule is of kind {kind!r}: {nearest(kind, SCHEDULES)}")
    cls: type[Schedule] = SCHEDULES.load(kind)
    if cls.kind != kind:  # Settings are written with the class's own.
        raise LanistaError(
            f"The schedule {kind!r} of an installed package calls itself {cls.kind!r}; give its "
            "class the kind of its entry point."
        )
    return cls


def schedule_settings(schedule: Schedule) -> float | dict[str, Any]:
    """Return what `parse_schedule` makes the same schedule from."""
    if isinstance(schedule, Constant):
        return schedule.value
    entries = {field.name: getattr(schedule, field.name) for field in fields(schedule)}
    inner = {name: schedule_settings(v) for name, v in entries.items() if isinstance(v, Schedule)}
    return {"kind": schedule.kind, **entries, **inner}


def initial_states(schedules: Mapping[str, Schedule]) -> dict[str, State]:
    """Return what each named schedule must remember, before the first step."""
    return {name: schedule.initial() for name, schedule in schedules.items()}


def observe_all(
    schedules: Mapping[str, Schedule], states: Mapping[str, Mapping[str, float]], metric: float
) -> dict[str, State]:
    """Return what each named schedule must remember after seeing `metric`."""
    return {name: schedule.observe(states[name], metric) for name, schedule in schedules.items()}


def values_at(
    schedules: Mapping[str, Schedule],
    step: int,
    total: int,
    states: Mapping[str, Mapping[str, float]] | None = None,
) -> dict[str, float]:
    """Return the value of each named schedule at `step`, coupled ones after what they follow."""
    values: dict[str, float] = {}
    waiting = dict(schedules)
    for name, schedule in schedules.items():
        for need in schedule.needs():
            if need not in schedules:
                raise LanistaError(
                    f"Schedule {name!r} is coupled to {need!r}, which is no schedule: "
                    f"{nearest(need, schedules)}"
                )
    while waiting:
        ready = [
            n for n, schedule in waiting.items() if all(need in values for need in schedule.needs())
        ]
        if not ready:
            raise LanistaError(f"Schedules are coupled in a circle: {', '.join(waiting)}.")
        for name in ready:
            state = None if states is None else states[name]
            values[name] = waiting.pop(name)(step, total, state, values)
    return {name: values[name] for name in schedules}


def _entry(kind: str, key: str, hint: Any, value: object) -> object:
    """Return the value of a field as its type hint has it."""
    name = f"{key!r} of a {kind} schedule"
    if hint is Schedule:
        return parse_schedule(value)
    if hint is str:
        return str(value)
    if hint is bool:
        if not isinstance(value, bool):
            raise LanistaError(f"{name} must be true or false, got {value!r}.")
        return value
    kinds = get_args(hint) or (hint,)
    if value is None and type(None) in kinds:
        return None
    number = _number(name, value)
    if int in kinds:
        if number != int(number):
            raise LanistaError(f"{name} must be a whole number, got {value!r}.")
        return int(number)
    return number


def _number(name: str, value: object) -> float:
    # YAML reads 3e-4 as text; whoever writes it means the number.
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
    raise LanistaError(f"{name} must be a number, got {value!r}.")
