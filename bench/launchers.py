"""Two workers beside one on two cores: `python -m bench launchers`.

By the clock, so it is measured only while nobody else uses the cores. The contestants take turns,
a lap each; a ratio is of neighbouring laps. `serial` is what a run does unless it is told
otherwise. Two workers in turn have the numbers of two in threads, to the last bit.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

from bench.learning import has_bf16
from bench.timing import idle_cores
from lanista.errors import LanistaError
from lanista.pipeline.profiling import Rig
from lanista.pipeline.profiling_subject import Subject
from lanista.pipeline.settings import load_settings

SECONDS, REPEATS = 4.0, 7
MOST_OTHERS = 0.15
"""Cores that others may use while two are measured."""
MATCHES = (1024, 4096)
"""Of an iteration. The fewer there are, the more of a step is overhead, which every worker has."""
SPLIT = {"workers": 2, "launcher": "serial"}
BEASTYBAR = {
    "game": "beastybar",
    "network": {"width": 256, "layers": 2},
    "device": "cpu",
}
SHOWDOWN = {
    "game": "showdown",
    "network": {"kind": "transformer", "size": "s"},
    "learning": {"policy": "vtrace", "minibatches": 4},
    "rollouts": {"mode": "stream", "slots": 64, "unrolls": 64, "unroll_length": 16,
                 "launcher": "processes"},
    "device": "cpu",
}  # fmt: skip
Settings = dict[str, Any]


def launchers() -> Iterator[dict[str, Any]]:
    """Measure threads against one thread, and two processes of Showdown against one."""
    for precision, matches in product(("fp32", "bf16"), MATCHES):
        label = f"beastybar PPO, 256x256, {precision}, {matches} matches, two threads over one"
        if precision == "bf16" and not has_bf16():
            yield {"bench": label, "why": "not measured: this CPU has no bf16 instructions"}
            continue
        yield held_against(label, beastybar(precision, matches), target=1.6)
    one, two = SHOWDOWN, _with(SHOWDOWN, rollouts={"workers": 2})
    label = "showdown, played and learned from, two workers over one"
    yield held_against(label, {"serial": one, "two workers": two}, target=1.7)


def beastybar(precision: str, matches: int) -> dict[str, Settings]:
    """Return the contestants: one thread; two parts in turn; two threads; two that play ahead."""
    alone = _with(BEASTYBAR, learning={"precision": precision}, rollouts={"matches": matches})
    split = _with(alone, learning={"shards": 2}, rollouts=SPLIT)
    threads = _with(split, rollouts={"launcher": "threads"})
    ahead = _with(threads, rollouts={"lag": 1})
    return {"serial": alone, "in turn": split, "threads": threads, "threads, lag 1": ahead}


def held_against(label: str, contestants: Mapping[str, Settings], target: float) -> dict[str, Any]:
    """Let all take turns; return how many times as fast each is as the first."""
    if (idle := idle_cores()) < 2 - MOST_OTHERS:
        return {"bench": label, "why": f"not measurable: only {idle:.2f} cores are idle"}
    try:
        rates, others = take_turns(contestants, SECONDS, REPEATS)
    except LanistaError as error:
        return {"bench": label, "why": f"skipped: {error}"}
    if others > MOST_OTHERS:
        return {"bench": label, "why": f"not measurable: others used {others:.2f} cores meanwhile"}
    return line(label, rates, target)


def line(label: str, rates: Mapping[str, list[float]], target: float) -> dict[str, Any]:
    """Return the JSON line; the target is for whoever was named third, or last."""
    first, *rest = rates
    ratios = {
        name: [own / base for own, base in zip(rates[name], rates[first], strict=True)]
        for name in rest
    }
    judged = rest[min(1, len(rest) - 1)]
    median = statistics.median(ratios[judged])
    return {
        "bench": label,
        "unit": "times the decisions per second",
        "ratio": round(median, 2),
        "low": round(min(ratios[judged]), 2),
        "high": round(max(ratios[judged]), 2),
        "target": target,
        "met": median >= target,
        "ratios": {name: round(statistics.median(found), 2) for name, found in ratios.items()},
        "rates": {name: round(statistics.median(found)) for name, found in rates.items()},
    }


def take_turns(
    contestants: Mapping[str, Settings], seconds: float, repeats: int
) -> tuple[dict[str, list[float]], float]:
    """Return everybody's decisions per second, lap by lap, and the cores that others used."""
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    others: list[float] = []
    with ExitStack() as stack:
        rigs = {}
        for name, values in contestants.items():
            settings = load_settings(values)
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            rigs[name] = Rig(Subject(name, settings), settings, Path(folder))
            stack.callback(rigs[name].squad.close)
            rigs[name].warm_up(seconds / 2)
        for _ in range(repeats):
            for name, rig in rigs.items():
                lap = rig.lap(seconds)
                rates[name].append(lap.rate)
                others.append(lap.use.others or 0.0)
    return rates, statistics.median(others)


def _with(values: Settings, **changes: Settings) -> Settings:
    """Return settings with keys of some of their parts changed."""
    return values | {part: {**values.get(part, {}), **keys} for part, keys in changes.items()}
