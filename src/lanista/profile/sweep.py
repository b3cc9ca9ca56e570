"""Tries changes of a recipe one at a time and keeps those that are faster outside the noise.

Where the recipe names a mark, what alters its learning is judged by the time to it, all else by
decisions a second. Old and new are measured in turns in the same session. What is kept in the end
is measured against the recipe once more, which gives the promise, and again from the written file,
which tests it.
Owns the order of a sweep; how rates are measured it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, Protocol

from lanista.errors import LanistaError
from lanista.profile.changes import Change, Place, changes, needed
from lanista.profile.machine import idle
from lanista.profile.measure import Lap, Rig, rig
from lanista.profile.noise import (
    Outcome,
    Promise,
    Spread,
    better,
    hopeless,
    outcome,
    promise,
    ratio,
)
from lanista.profile.subject import Subject
from lanista.runs.settings import RunSettings

Verdict = Literal["kept", "not better", "not measurable", "refused", "failed"]
"""Not measurable: not faster, on cores that others kept busy."""
_SLACK = 0.25
"""So much of a core may be busy with others before that is said."""


@dataclass
class Pairs:
    """Rates of old and new settings, measured in turns: decisions a second, unless `timed`."""

    old: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    """Empty where there is nothing new to compare."""
    idle: float | None = None
    """Cores that others left to us, at the least."""
    timed: str = ""
    """In what the way to a mark was timed, as `CPU seconds to nash_conv<=0.05`; a rate is then one
    by them. Empty: decisions a second."""


class Meter(Protocol):
    """Measures settings against each other."""

    def __call__(
        self, old: RunSettings, new: RunSettings | None, *, give_up: bool = False
    ) -> Pairs:
        """Return rates in pairs; `give_up` stops at what is plainly slower."""
        ...


@dataclass(frozen=True)
class Trial:
    """A change, and what came of it."""

    change: Change
    verdict: Verdict
    faster: Spread | None = None
    """How many times as fast."""
    why: str = ""
    """Why it was refused or failed, or what makes its numbers doubtful."""
    timed: str = ""
    """In what it was timed to the mark; empty: it was judged by decisions a second."""


class Watcher:
    """Hears how far a sweep is; does nothing unless told otherwise."""

    def trying(self, trial: str) -> None: ...

    def measured(self) -> None: ...

    def tried(self, trial: Trial) -> None: ...


@dataclass
class Sweep:
    """A search, and what it found so far."""

    first: RunSettings
    """The recipe as it is."""
    meter: Meter
    place: Place
    to_mark: Meter | None = None
    """Times the way to the recipe's mark, for what alters its learning; None: it names none."""
    keep_learning: bool = False
    """Try only what leaves the learning the same."""
    watcher: Watcher = field(default_factory=Watcher)
    trials: list[Trial] = field(default_factory=list)
    promise: Promise | None = None
    outcome: Outcome | None = None
    taken_back: bool = False
    """All changes together did not prove faster than the recipe."""
    doubt: str = ""
    """What makes the promise or its test doubtful."""

    def __post_init__(self) -> None:
        self.now = self.first

    @property
    def kept_changes(self) -> list[Change]:
        """The changes that the settings found are made of."""
        changes = [trial.change for trial in self.trials if trial.verdict == "kept"]
        return [] if self.taken_back else changes

    def search(self, directions: Sequence[str]) -> None:
        """Go in each direction, one after another, as far as that makes it faster."""
        for name in directions:
            while self._step(name):
                pass

    def _step(self, name: str) -> bool:
        """Try what is next in one direction; return whether something was kept."""
        for change in changes(name, self.now, self.first, self.place):
            if self.keep_learning and change.alters:
                continue
            if self._known(change):
                continue
            trial, settings = self._tried(change)
            self.trials.append(trial)
            self.watcher.tried(trial)
            if trial.verdict == "kept" and settings is not None:
                self.now = settings
                return True
        return False

    def _known(self, change: Change) -> bool:
        """Whether it was tried, or leads back to where the sweep came from."""
        if any(change == trial.change for trial in self.trials):
            return True
        back = dict(text.split("=", 1) for text in change.overrides)
        return any(
            back.items() <= dict(text.split("=", 1) for text in trial.change.before).items()
            for trial in self.trials
            if trial.verdict == "kept"
        )

    def _tried(self, change: Change) -> tuple[Trial, RunSettings | None]:
        self.watcher.trying(", ".join(change.overrides))
        try:
            settings = change.applied(self.now)
            pairs = self._meter([change])(self.now, settings, give_up=True)
        except LanistaError as error:
            return Trial(change, "refused", why=str(error)), None
        except (RuntimeError, MemoryError) as error:  # What torch raises, a full device included.
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
            return Trial(change, "failed", why=why), None
        faster = ratio(pairs.old, pairs.new)
        busy = loaded(settings, pairs.idle)
        verdict: Verdict = "not measurable" if busy else "not better"
        if better(faster):
            verdict = "kept"
        return Trial(change, verdict, faster, busy, pairs.timed), settings

    def _meter(self, changes: Sequence[Change]) -> Meter:
        """Return what judges these changes together."""
        altered = any(change.alters for change in changes)
        return self.to_mark if altered and self.to_mark is not None else self.meter

    def confirm(self) -> None:
        """Measure what was found against the recipe, for the promise; or take it back."""
        self.watcher.trying("the recipe against what was found")
        meter, changed = self._meter(self.kept_changes), bool(self.kept_changes)
        pairs = meter(self.first, self.now if changed else None)
        self.doubt = loaded(self.now, pairs.idle)
        if changed and better(ratio(pairs.old, pairs.new)):
            self.promise = promise(pairs.old, pairs.new, pairs.timed)
            return
        if changed:
            self.taken_back, self.now = True, self.first
        if pairs.timed:  # What settings that stay are promised is decisions a second.
            pairs = self.meter(self.first, None)
        self.promise = promise(pairs.old, None)

    def check(self, settings: RunSettings) -> Outcome:
        """Measure settings as read back from a file; return whether the promise held."""
        assert self.promise is not None
        self.watcher.trying("the written settings, to see whether the promise holds")
        meter = self._meter(self.kept_changes)
        pairs = meter(self.first, settings if self.kept_changes else None)
        self.doubt = loaded(settings, pairs.idle) or self.doubt
        self.outcome = outcome(self.promise, pairs.old, pairs.new or None)
        return self.outcome


def loaded(settings: RunSettings, idle_cores: float | None) -> str:
    """Return what makes a measurement doubtful: others keep cores busy that it needs."""
    if idle_cores is None or idle_cores >= needed(settings) - _SLACK:
        return ""
    return f"{idle_cores:.1f} cores idle, {needed(settings)} needed"


def take_turns(
    pairs: Pairs,
    count: int,
    old: Callable[[], float],
    new: Callable[[], float],
    *,
    give_up: bool,
) -> None:
    """Measure pairs of old and new; `give_up` stops at what is plainly slower."""
    for number in range(count):
        # Whoever comes second in a pair comes first in the next.
        both = [(old, pairs.old), (new, pairs.new)]
        for measure, rates in both if number % 2 == 0 else both[::-1]:
            rates.append(measure())
        if give_up and hopeless(pairs.old, pairs.new):
            return


@dataclass(frozen=True)
class RigMeter:
    """Measures settings of a recipe by running them in turns."""

    subject: Subject
    seconds: float
    """How long a lap takes, about."""
    pairs: int
    measured: Callable[[], None] = lambda: None
    """Called after every lap."""
    by: Callable[[Lap], float] = attrgetter("rate")
    """What of a lap is compared."""

    def __call__(
        self, old: RunSettings, new: RunSettings | None, *, give_up: bool = False
    ) -> Pairs:
        """Return rates in pairs; `give_up` stops at what is plainly slower."""
        pairs = Pairs()
        with rig(self.subject, old) as before:
            before.warm_up(self.seconds / 2)
            if new is None:
                pairs.old += [self._lap(before, pairs) for _ in range(self.pairs)]
                return pairs
            with rig(self.subject, new) as after:
                after.warm_up(self.seconds / 2)
                both = (lambda: self._lap(before, pairs)), (lambda: self._lap(after, pairs))
                take_turns(pairs, self.pairs, *both, give_up=give_up)
        return pairs

    def _lap(self, run: Rig, pairs: Pairs) -> float:
        lap = run.lap(self.seconds)
        self.measured()
        idle_cores = idle(lap.use.others)
        if idle_cores is not None:
            pairs.idle = idle_cores if pairs.idle is None else min(pairs.idle, idle_cores)
        return self.by(lap)
