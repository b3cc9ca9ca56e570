"""What a search may vary: settings by their keys, each with a range.

Reads ranges as they are written on the command line and in files, and chooses them for a recipe
where nobody did. Knows nothing of Optuna.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lanista.errors import LanistaError
from lanista.learn.regret.settings import Regret
from lanista.learn.settings import FIT_STEPS, Learning
from lanista.runs.serialise import plain, read_value
from lanista.runs.settings import RunSettings, may_change

Kind = Literal["log", "float", "int", "logint", "choice"]
KINDS = ("log", "float", "int", "logint", "choice")
_REMEDY = "write it as log:1e-4..1e-2, float:0..1, int:1..4, logint:16..256 or choice:2,4,8"
_NOT_SEARCHED = ("game", "game_settings", "game_digest", "seed", "league")
_KEPT_TERMS = ("policy", "value")
"""Terms whose weight only sets the scale of the others."""


@dataclass(frozen=True)
class Range:
    """The values that a setting may take: all between two numbers, or a few."""

    kind: Kind
    low: float = 0.0
    high: float = 0.0
    choices: tuple[Any, ...] = ()

    def __str__(self) -> str:
        if self.kind == "choice":
            return f"choice:{','.join(_shown(value) for value in self.choices)}"
        return f"{self.kind}:{self.low:g}..{self.high:g}"

    @property
    def whole(self) -> bool:
        return self.kind in ("int", "logint")

    def ends(self) -> tuple[Any, ...]:
        """Return the values a setting must be able to take for the range to make sense."""
        if self.kind == "choice":
            return self.choices
        number = int if self.whole else float
        return number(self.low), number(self.high)

    def holds(self, value: Any) -> bool:
        """Whether a value lies in the range."""
        if self.kind == "choice":
            return value in self.choices
        if type(value) not in (int, float) or (self.whole and value != int(value)):
            return False
        return bool(self.low <= value <= self.high)


Space = Mapping[str, Range]
"""Ranges by the dotted keys of settings."""


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_range(key: str, text: Any) -> Range:
    """Return the range that a text such as `log:1e-4..1e-2` names."""
    kind, colon, body = str(text).partition(":")
    if not colon or kind not in KINDS:
        raise LanistaError(f"The range of {key} is {text!r}; {_REMEDY}.")
    if kind == "choice":
        values = tuple(read_value(key, word.strip()) for word in body.split(","))
        if not all(isinstance(value, int | float | str) for value in values):
            raise LanistaError(f"The range of {key} is {text!r}; {_REMEDY}.")
        if len(set(values)) < 2 or len(set(values)) < len(values):
            raise LanistaError(f"The range of {key} is {text!r}; give two choices or more, once.")
        return Range("choice", choices=values)
    return _numeric(key, str(text), kind, body)


def _numeric(key: str, text: str, kind: str, body: str) -> Range:
    first, _, last = body.partition("..")
    try:
        low, high = float(first), float(last)
    except ValueError:
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high)):
        raise LanistaError(f"The range of {key} is {text!r}; {_REMEDY}.")
    if low >= high:
        raise LanistaError(f"The range of {key} is {text!r}; give the lower number first.")
    if kind.startswith("log") and low <= 0:
        raise LanistaError(f"The range of {key} is {text!r}; a log range begins above 0.")
    if kind.endswith("int") and (low != int(low) or high != int(high)):
        raise LanistaError(f"The range of {key} is {text!r}; give whole numbers.")
    return Range(kind, low, high)  # type: ignore[arg-type]


def parse_space(ranges: Mapping[str, Any]) -> dict[str, Range]:
    """Return the ranges of a file's keys and values; refuse keys that cannot be searched."""
    for key in ranges:
        if key.partition(".")[0] in _NOT_SEARCHED or (may_change(key) and key != "iterations"):
            raise LanistaError(
                f"{key} cannot be searched: it says what is learned or how runs are measured, not "
                "how they learn; set it in the recipe."
            )
    return {key: parse_range(key, text) for key, text in ranges.items()}


def parse_words(words: Sequence[str]) -> dict[str, Range]:
    """Return the ranges that `--search` words such as `learning.lr=log:1e-4..1e-2` give."""
    ranges: dict[str, str] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise LanistaError(f"--search was given {word!r}; write it as KEY=RANGE.")
        if key in ranges:
            raise LanistaError(f"--search names {key} twice; give it one range.")
        ranges[key] = text
    return parse_space(ranges)


def default_space(settings: RunSettings) -> dict[str, Range]:
    """Return ranges around a recipe's own values, for what most decides how fast it learns."""
    learning, rollouts = settings.learning, settings.rollouts
    values = plain(settings)
    space: dict[str, Range] = {}
    for key, value in _numbers("learning.lr", values["learning"]["lr"], ("start", "end")):
        space[key] = _around(value, 4)
    space |= _steps(learning)
    size = "unrolls" if rollouts.streaming else "matches"
    space[f"rollouts.{size}"] = _multiples(getattr(rollouts, size), (0.25, 0.5, 1, 2))
    for term, weight in values["learning"]["terms"].items():
        if term not in _KEPT_TERMS and learning.policy != "regret":
            for key, value in _numbers(f"learning.terms.{term}", weight, ("start",)):
                space[key] = _around(value, 4)
    if learning.rnad:
        space["learning.eta"] = _around(learning.eta, 3)
    if settings.supervised_checkpoint is None:
        space["network.width"] = _multiples(settings.network.resolved_width, (0.5, 1, 2))
    if any(isinstance(value, Mapping) for value in (learning.lr, *learning.terms.values())):
        # Schedules fade over the iterations.
        space["iterations"] = _multiples(settings.iterations, (0.25, 0.5, 1, 2))
    return {key: scope for key, scope in space.items() if len(set(scope.ends())) > 1}


def _steps(learning: Learning) -> dict[str, Range]:
    """Return ranges of how often an iteration's experience is learned from."""
    if learning.policy == "regret":
        regret = learning.regret or Regret()
        steps = {name: getattr(regret, name) for name in ("steps", "average_steps")}
        factors = (0.5, 1, 2, 4)
        return {f"learning.regret.{name}": _multiples(n, factors) for name, n in steps.items()}
    if learning.neurd_step is not None:
        return {"learning.fit_steps": _multiples(learning.fit_steps or FIT_STEPS, (0.5, 1, 2, 4))}
    return {
        "learning.epochs": Range("int", 1, max(4, 2 * learning.epochs)),
        "learning.minibatches": _multiples(learning.minibatches, (0.5, 1, 2, 4)),
    }


def _numbers(key: str, value: Any, parts: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Give the positive numbers of a setting that is a number or a schedule, with their keys."""
    if isinstance(value, Mapping):
        if isinstance(value.get("then"), Mapping):
            yield from _numbers(f"{key}.then", value["then"], parts)
        for part in ("value", *parts):
            yield from _numbers(f"{key}.{part}", value.get(part), parts)
    elif type(value) in (int, float) and value > 0:
        yield key, float(value)


def _around(value: float, factor: float) -> Range:
    low, high = (float(f"{bound:.3g}") for bound in (value / factor, value * factor))
    return Range("log", low, high)


def _multiples(value: int, factors: Sequence[float]) -> Range:
    return Range("choice", choices=tuple(sorted({max(1, round(value * f)) for f in factors})))


def own_values(settings: RunSettings, space: Space) -> dict[str, Any] | None:
    """Return what the settings have for the keys of a space; None: not all lie in it."""
    values = {key: _value_at(settings, key) for key in space}
    return values if all(space[key].holds(value) for key, value in values.items()) else None


def _value_at(settings: RunSettings, key: str) -> Any:
    if key == "network.width":
        return settings.network.resolved_width
    value: Any = plain(settings)
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def read_space(values: Any, file: str) -> dict[str, Range]:
    """Return the space in a file's values."""
    if not isinstance(values, Mapping) or not values:
        raise LanistaError(f"{file} is no search space; give lines as learning.lr: log:1e-4..1e-2.")
    return parse_space({str(key): text for key, text in values.items()})
