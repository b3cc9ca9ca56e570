"""Settings files of another program, read as ours: each key becomes a setting or a notice.

A `Plan` is such a program's table of keys; plans.py has them. Nothing is dropped without a
word: what has no meaning here says what is done instead, and an unknown key is refused. Knows
nothing of files and torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lanista.errors import nearest
from lanista.runs.serialise import SettingsError, build
from lanista.runs.settings import RunSettings


@dataclass(frozen=True)
class Key:
    """A key of a plan. With neither `to` nor `instead`, it is read together with others."""

    kind: type
    """What its value is; a float may be written as a whole number."""
    to: str = ""
    """The setting that it becomes as it is."""
    instead: str = ""
    """What is done instead of it, where it has no meaning here."""


@dataclass
class Import:
    """What is known of a plan while it is read."""

    plan_values: Mapping[str, Any]
    """The plan's values by dotted key."""
    done: int
    """Iterations that were done elsewhere."""
    values: dict[str, Any] = field(default_factory=dict)
    """Our settings so far."""
    notices: list[str] = field(default_factory=list)
    flags: dict[str, str] = field(default_factory=dict)
    """Of the command that trains, for what is no setting."""

    def put(self, to: str, value: Any) -> None:
        """Set one of our settings by its dotted key."""
        *path, last = to.split(".")
        here = self.values
        for segment in path:
            here = here.setdefault(segment, {})
        here[last] = value

    def unused(self, keys: Sequence[str], why: str) -> None:
        """Say of those of `keys` that are given that they change nothing."""
        for key in keys:
            if key in self.plan_values:
                self.notices.append(f"{key} {self.plan_values[key]}: {why}")


@dataclass(frozen=True)
class Plan:
    """A program whose settings files can be read."""

    keys: Mapping[str, Key]
    """By dotted key."""
    together: tuple[Callable[[Import], None], ...]
    """What becomes of the keys that depend on each other, in this order."""

    @property
    def names(self) -> set[str]:
        """The names at the top of a file."""
        return {key.partition(".")[0] for key in self.keys}


@dataclass(frozen=True)
class Imported:
    """A plan as settings of ours."""

    settings: RunSettings
    notices: tuple[str, ...]
    """What became of every key that is no setting of ours, a sentence each."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """What the plan says that is no setting of a run, as flags of `lanista rl`."""


def import_plan(values: object, plan: Plan, *, done: int = 0) -> Imported:
    """Return a plan's values as settings; `done` of its iterations were done elsewhere."""
    if not isinstance(values, Mapping):
        raise SettingsError(f"A plan must be keys and values, got {values!r}.")
    work = Import(_read(values, plan.keys), done)
    for name, value in work.plan_values.items():
        key = plan.keys[name]
        if key.to:
            work.put(key.to, value)
        elif key.instead:
            work.notices.append(f"{name} {value}: {key.instead}")
    for step in plan.together:
        step(work)
    return Imported(build(RunSettings, work.values), tuple(work.notices), work.flags)


def length_from(key: str, usual: int | None = None) -> Callable[[Import], None]:
    """Return the step that makes a plan's length, less what is done, that of the run.

    `usual` is how long a plan is that leaves the key out; None: as long as ours.
    """

    def step(work: Import) -> None:
        total = work.plan_values.get(key, usual)
        if key not in work.plan_values and work.done:
            raise SettingsError(f"{key} is missing; give it, or leave out what is done.")
        if key not in work.plan_values and usual is not None:
            work.notices.append(f"{key} is left out: {usual:,}; give another with --iterations.")
        if total is None:
            return
        if work.done >= total or work.done < 0:
            raise SettingsError(
                f"{key} is {total} and {work.done} are done; give fewer that are done."
            )
        work.put("iterations", total - work.done)
        if work.done:
            work.notices.append(
                f"{key} {total}: {work.done} are done, so the run has {total - work.done}, and its "
                "schedules span these; name the policy to go on from with --supervised-checkpoint."
            )

    return step


def _read(values: Mapping[Any, Any], keys: Mapping[str, Key], where: str = "") -> dict[str, Any]:
    """Return a plan's values by dotted key, each of its kind."""
    value_by_key: dict[str, Any] = {}
    groups = {key.partition(".")[0] for key in keys if "." in key}
    for name, value in values.items():
        dotted = f"{where}{name}"
        if not where and name in groups:
            if not isinstance(value, Mapping):
                raise SettingsError(f"{dotted} must be keys and values, got {value!r}.")
            value_by_key |= _read(value, keys, f"{name}.")
        elif dotted in keys:
            value_by_key[dotted] = _of_kind(dotted, keys[dotted].kind, value)
        else:
            here = {key.removeprefix(where) for key in keys if key.startswith(where)}
            allowed = {key for key in here if "." not in key} | (set() if where else groups)
            raise SettingsError(f"The plan has no key {dotted!r}; {nearest(str(name), allowed)}")
    return value_by_key


def _of_kind(name: str, kind: type, value: object) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if kind is float and isinstance(value, str):  # YAML reads 3e-4 as text.
        try:
            return float(value)
        except ValueError:
            pass
    if type(value) is not kind:
        raise SettingsError(f"{name} is {value!r}; give a {kind.__name__}.")
    return value
