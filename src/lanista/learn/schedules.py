"""Schedules by name: settings become schedules and back, and several are asked together.

A further kind is a frozen dataclass in the table here, or an entry point of `lanista.schedules`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, get_args, get_type_hints

from lanista.errors import LanistaError, nearest
from lanista.extensions import Entry, Table
from lanista.learn.schedule_kinds import (
    Constant,
    Cosine,
    Coupled,
    Delay,
    Exponential,
    FollowKL,
    Linear,
    OnPlateau,
    Power,
    State,
    WarmUp,
)
from lanista.learn.schedule_kinds import Schedule as Schedule


def _entry_of(about: str, cls: type[Schedule]) -> Entry:
    return Entry(about, cls)


_KINDS: tuple[type[Schedule], ...] = (
    Constant, Linear, Cosine, Power, Exponential, WarmUp, Delay, OnPlateau, FollowKL, Coupled,
)  # fmt: skip
SCHEDULES: Table[Entry] = Table(
    "schedule",
    "lanista.schedules",
    {cls.kind: Entry(str(cls.__doc__).splitlines()[0], cls) for cls in _KINDS},
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


def moved_all(
    schedules: Mapping[str, Schedule],
    states: Mapping[str, Mapping[str, float]],
    kl: float,
    step: int,
    total: int,
) -> dict[str, State]:
    """Return what each named schedule must remember after an update that moved the policy."""
    return {
        name: schedule.moved(states[name], kl, step, total) for name, schedule in schedules.items()
    }


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
