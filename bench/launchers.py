"""Two workers beside one on two cores: `python -m bench launchers`.

By the clock, so only rounds count in which nobody else used the cores. The contestants take turns,
a lap each; a ratio is of laps of one round. Beside the ratios stand the cores that each kept busy,
and the CPU time a decision cost it: what a ratio can be at most. `serial` is what a run does unless
it is told otherwise. Two workers in turn have the numbers of two in threads, to the last bit.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from bench.learning import has_bf16
from bench.timing import idle_cores
from lanista.errors import LanistaError
from lanista.profile.measure import Lap, Rig
from lanista.profile.subject import Subject
from lanista.runs.settings import load_settings

SECONDS, REPEATS = 4.0, 7
MOST_ROUNDS = 2 * REPEATS
"""Rounds that are played to find `REPEATS` that count."""
FEWEST = 4
"""With fewer that count, nothing is told."""
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
    "rollouts": {"mode": "stream", "unroll_length": 16, "launcher": "processes"},
    "device": "cpu",
}
SIZES = ({"slots": 64, "unrolls": 64}, {"slots": 128, "unrolls": 320})
"""Of Showdown: battles at once and unrolls of an iteration. The second is the recipe's."""
Settings = dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """A contestant's lap."""

    rate: float
    """Decisions a second."""
    cores: float
    """That it kept busy, all its processes together."""
    cost: float
    """CPU milliseconds a decision."""
    others: float
    """Cores that others kept busy meanwhile."""


Round = dict[str, Turn]


def launchers() -> Iterator[dict[str, Any]]:
    """Measure threads against one thread, and two processes of Showdown against one."""
    for precision, matches in product(("fp32", "bf16"), MATCHES):
        label = f"beastybar PPO, 256x256, {precision}, {matches} matches, two threads over one"
        if precision == "bf16" and not has_bf16():
            yield {"bench": label, "why": "not measured: this CPU has no bf16 instructions"}
            continue
        yield held_against(label, beastybar(precision, matches), target=1.6)
    for size in SIZES:
        label = f"showdown V-trace, transformer s, {size['unrolls']} unrolls, two workers over one"
        yield held_against(label, showdown(size), target=1.7)


def beastybar(precision: str, matches: int) -> dict[str, Settings]:
    """Return the contestants: one thread; two parts in turn; two threads; two that play ahead."""
    alone = _with(BEASTYBAR, learning={"precision": precision}, rollouts={"matches": matches})
    split = _with(alone, learning={"shards": 2}, rollouts=SPLIT)
    threads = _with(split, rollouts={"launcher": "threads"})
    ahead = _with(threads, rollouts={"lag": 1})
    return {"serial": alone, "in turn": split, "threads": threads, "threads, lag 1": ahead}


def showdown(size: Mapping[str, int]) -> dict[str, Settings]:
    """Return the contestants: one process; two; two and as many shards; with play ahead.

    All but those that play ahead play and learn in turn.
    """
    one = _with(SHOWDOWN, rollouts={**size})
    two = _with(one, rollouts={"workers": 2})
    return {
        "one": one,
        "two": two,
        "two and shards": _with(two, learning={"shards": 2}),
        "one, lag 1": _with(one, rollouts={"lag": 1}),
        "two, lag 1": _with(two, rollouts={"lag": 1}),
    }


def held_against(label: str, contestants: Mapping[str, Settings], target: float) -> dict[str, Any]:
    """Let all take turns; return how many times as fast each is as the first."""
    if (idle := idle_cores()) < 2 - MOST_OTHERS:
        return {"bench": label, "why": f"not measurable: only {idle:.2f} cores are idle"}
    try:
        rounds, played = take_turns(contestants, SECONDS, REPEATS, MOST_ROUNDS)
    except LanistaError as error:
        return {"bench": label, "why": f"skipped: {error}"}
    if len(rounds) < FEWEST:
        why = f"not measurable: others used the cores in {played - len(rounds)} of {played} rounds"
        return {"bench": label, "why": why}
    return line(label, rounds, target)


def line(label: str, rounds: Sequence[Round], target: float) -> dict[str, Any]:
    """Return the JSON line; the target is for whoever was named third, or last."""
    first, *rest = rounds[0]
    ratios = {name: [turns[name].rate / turns[first].rate for turns in rounds] for name in rest}
    judged = rest[min(1, len(rest) - 1)]
    median = statistics.median(ratios[judged])

    def medians(field: str, digits: int | None) -> dict[str, float]:
        values = {name: [getattr(turns[name], field) for turns in rounds] for name in rounds[0]}
        return {name: round(statistics.median(numbers), digits) for name, numbers in values.items()}

    return {
        "bench": label,
        "unit": "times the decisions per second",
        "judged": judged,
        "ratio": round(median, 2),
        "low": round(min(ratios[judged]), 2),
        "high": round(max(ratios[judged]), 2),
        "target": target,
        "met": median >= target,
        "ratios": {name: round(statistics.median(values), 2) for name, values in ratios.items()},
        "rates": medians("rate", None),
        "cores": medians("cores", 2),
        "cpu_milliseconds_a_decision": medians("cost", 4),
        "rounds": len(rounds),
    }


def take_turns(
    contestants: Mapping[str, Settings], seconds: float, repeats: int, most: int
) -> tuple[list[Round], int]:
    """Return `repeats` rounds that others did not disturb, or fewer, and of how many in all."""
    rounds: list[Round] = []
    with ExitStack() as stack:
        rigs = {}
        for name, values in contestants.items():
            settings = load_settings(values)
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            rigs[name] = Rig(Subject(name, settings), settings, Path(folder))
            stack.callback(rigs[name].population.close)
            rigs[name].warm_up(seconds / 2)
        played = 0
        while played < most and len(rounds) < repeats:
            turn_by_name = {name: _turn(rig.lap(seconds)) for name, rig in rigs.items()}
            played += 1
            if all(turn.others <= MOST_OTHERS for turn in turn_by_name.values()):
                rounds.append(turn_by_name)
    return rounds, played


def _turn(lap: Lap) -> Turn:
    use = lap.use
    cost = 1000 * use.cpu / lap.decisions
    # Where it cannot be known, nothing can be said to be undisturbed.
    others = math.inf if use.others is None else use.others
    return Turn(lap.rate, use.cpu / use.wall, cost, others)


def _with(values: Settings, **changes: Settings) -> Settings:
    """Return settings with keys of some of their parts changed."""
    return values | {
        section: {**values.get(section, {}), **keys} for section, keys in changes.items()
    }
