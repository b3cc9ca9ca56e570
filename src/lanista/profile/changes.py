"""Which settings to try for speed, from where a recipe stands: each a step in one direction.

Says of each change whether other things are learned with it. Pure functions of settings; knows
nothing of measuring.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lanista.profile.bottleneck import CENTRAL
from lanista.rollout.launchers.table import LAUNCHERS
from lanista.rollout.timing import (
    BATCH,
    INFER,
    LEARN,
    OBSERVE,
    OPPONENTS,
    SAMPLE,
    SIMULATE,
    TRANSFER,
)
from lanista.runs.serialise import flat
from lanista.runs.settings import RunSettings, apply_overrides

ALTERING = {
    "rollouts.matches": "more matches an update",
    "rollouts.unrolls": "more unrolls an update",
    "rollouts.lag": "older weights play",
    "replay.batch": "more unrolls an update",
    "learning.minibatches": "other steps an update",
    "learning.precision": "coarser numbers",
}
"""Settings with which something else is learned, and why."""
_MOST_TIMES = 16
"""How many times as large as in the recipe a batch becomes at most."""


@dataclass(frozen=True)
class Place:
    """Where a recipe runs."""

    cores: int
    seats: int
    device: str
    bf16: bool
    """The device has bf16 products."""


@dataclass(frozen=True)
class Change:
    """Settings to try instead."""

    overrides: tuple[str, ...]
    """As `--set` takes them."""
    before: tuple[str, ...]
    """What they stand for, in the same form."""

    @property
    def alters(self) -> str:
        """Why something else is learned with it; empty: the same is."""
        keys = (text.partition("=")[0] for text in self.overrides)
        return ", ".join(ALTERING[key] for key in keys if key in ALTERING)

    def applied(self, settings: RunSettings) -> RunSettings:
        """Return settings with the change; those that do not go together are refused."""
        return apply_overrides(settings, self.overrides)


Steps = Callable[[RunSettings, RunSettings, Place], list[dict[str, Any]]]
"""From the settings now, those of the recipe and the place to what could be set instead."""


def _slots(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    rollouts = now.rollouts
    slots = rollouts.resolved_slots(place.seats)
    room = rollouts.streaming or 2 * slots <= rollouts.matches
    more = 2 * slots <= _MOST_TIMES * first.rollouts.resolved_slots(place.seats)
    larger = [{"rollouts.slots": 2 * slots}] if room and more else []
    return [*larger, *([{"rollouts.slots": slots // 2}] if slots > 1 else [])]


def _batch(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    name = "unrolls" if now.rollouts.streaming else "matches"
    size: int = getattr(now.rollouts, name)
    if 2 * size > _MOST_TIMES * getattr(first.rollouts, name):
        return []
    return [{f"rollouts.{name}": 2 * size}]


def _replay(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    size = now.replay.batch
    if not now.replay.size or 2 * size > min(_MOST_TIMES * first.replay.batch, now.replay.size):
        return []
    return [{"replay.batch": 2 * size}]


def _minibatches(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    count = now.learning.minibatches
    fewer = [{"learning.minibatches": count // 2}] if count > 1 else []
    return [*fewer, {"learning.minibatches": 2 * count}] if count < 64 else fewer


def _workers(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    workers, at_once = now.rollouts.workers, now.rollouts.at_once
    # Threads take turns with the learner's; many can be slower than few.
    fewer = at_once and 1 < workers <= first.rollouts.workers
    halved = [{"rollouts.workers": workers // 2}] if fewer else []
    if 2 * workers > place.cores:
        return halved
    ways = [{"rollouts.launcher": now.rollouts.launcher}] if at_once else _at_once(place)
    doubled = [{"rollouts.workers": 2 * workers, **way} for way in ways]
    return [*doubled, *halved]


def _lag(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    if now.rollouts.lag:
        return []
    ways = [] if now.rollouts.at_once else _at_once(place)
    alone = [{"rollouts.lag": 1, **way} for way in ways]
    return alone or [{"rollouts.lag": 1}]


def _launcher(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    """Threads that play for a GPU wait for the interpreter, the learner's included; processes do
    not."""
    if place.device == "cpu" or not now.rollouts.at_once or now.rollouts.remote:
        return []
    ways = [way for way in _at_once(place) if way["rollouts.launcher"] != now.rollouts.launcher]
    # The interpreter is nobody's in processes that ask at a desk.
    return ways if now.rollouts.inference == "worker" else []


def _inference(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    if not now.rollouts.separate_processes:
        return []
    central = now.rollouts.inference == "central"
    other = {"rollouts.inference": "worker" if central else "central"}
    if place.device == "cpu" or central or now.rollouts.remote:
        return [other]
    return [{"rollouts.processes_on_gpu": not now.rollouts.processes_on_gpu}, other]


def _graphs(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    rollouts = now.rollouts
    here = rollouts.inference == "central" or not rollouts.on_cpu
    able = place.device != "cpu" and here and not rollouts.graphs
    return [{"rollouts.graphs": True}] if able else []


def _threads(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    if place.device != "cpu":  # They are for arithmetic on the CPU.
        return []
    return [{"threads": 2 * now.threads}] if 2 * now.threads <= place.cores else []


def _shards(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    shards = 2 * now.learning.shards
    # A GPU works on a step as a whole, and what is cut by the host cannot be recorded.
    if shards > place.cores or place.device != "cpu":
        return []
    rollouts = now.rollouts
    # Only as many as there are workers at once are worked on at once.
    return [
        {
            "learning.shards": shards,
            "rollouts.workers": max(shards, rollouts.workers),
            "rollouts.launcher": rollouts.launcher if rollouts.at_once else "threads",
        }
    ]


def _precision(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    if now.learning.precision != "fp32":
        return []
    bf16 = [{"learning.precision": "bf16"}] if place.bf16 else []
    return [*bf16, {"learning.precision": "fp16"}] if place.device != "cpu" else bf16


def _compile(now: RunSettings, first: RunSettings, place: Place) -> list[dict[str, Any]]:
    return [] if now.learning.compile else [{"learning.compile": True}]


STEPS: dict[str, Steps] = {
    "graphs": _graphs,
    "slots": _slots,
    "workers": _workers,
    "launcher": _launcher,
    "inference": _inference,
    "shards": _shards,
    "threads": _threads,
    "precision": _precision,
    "batch": _batch,
    "replay": _replay,
    "lag": _lag,
    "minibatches": _minibatches,
    "compile": _compile,
}
_LEARNING = (
    "shards", "graphs", "precision", "minibatches", "threads", "lag", "workers", "launcher",
)  # fmt: skip
_NETWORKS = (
    "slots", "graphs", "workers", "inference", "precision", "batch", "threads", "lag", "launcher",
)  # fmt: skip
_DESK = ("slots", "inference", "precision", "batch", "lag")
_PLAYING = ("workers", "graphs", "lag", "launcher", "slots", "batch")
_PROMISING = {
    LEARN: _LEARNING,
    CENTRAL: _DESK,
    **dict.fromkeys((INFER, SAMPLE, BATCH, TRANSFER), _NETWORKS),
    **dict.fromkeys((SIMULATE, OBSERVE, OPPONENTS), _PLAYING),
}


def order_of(wall: str) -> list[str]:
    """Return the directions to try, the most promising for this wall first."""
    return list(dict.fromkeys([*_PROMISING.get(wall.partition("/")[0], ()), *STEPS]))


def changes(name: str, now: RunSettings, first: RunSettings, place: Place) -> list[Change]:
    """Return what could be tried next in one direction."""
    value_by_key = dict(flat(now))
    tried = []
    for values in STEPS[name](now, first, place):
        new = {key: value for key, value in values.items() if value_by_key[key] != value}
        overrides = tuple(f"{key}={_word(value)}" for key, value in new.items())
        before = tuple(f"{key}={_word(value_by_key[key])}" for key in new)
        tried.append(Change(overrides, before))
    return tried


def needed(settings: RunSettings) -> int:
    """Return how many cores settings can keep busy."""
    rollouts = settings.rollouts
    at_once = rollouts.workers_at_once
    learning = max(settings.threads, min(settings.learning.shards, at_once))
    ahead = rollouts.lag > 0 and rollouts.at_once
    return at_once + learning if ahead else max(at_once, learning)


def _at_once(place: Place) -> list[dict[str, Any]]:
    """Return settings of our own launchers whose workers play at once, on this machine; processes
    share a GPU where there is one."""
    ways: list[dict[str, Any]] = []
    for name, launcher in LAUNCHERS.own.items():
        if launcher.at_once and not launcher.remote:
            way: dict[str, Any] = {"rollouts.launcher": name}
            if launcher.separate_processes and place.device != "cpu":
                way["rollouts.processes_on_gpu"] = True
            ways.append(way)
    return ways


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
