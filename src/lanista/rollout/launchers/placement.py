"""Which machine plays which shards: a pure function of cores and of how long chunks take there.

Where a shard is played changes no number of a run, only its speed. Knows nothing of Ray.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WORTHWHILE = 1.25
"""How many times as fast an iteration must become before shards that are well are moved."""


@dataclass(frozen=True)
class Machine:
    """What placement must know of a machine."""

    cpus: float
    seconds: float | None = None
    """What a chunk takes there on a core of its own; None: not known yet."""


def iteration_seconds(machine: Machine, shards: int, seconds: float) -> float:
    """Return how long a machine takes for one chunk of each of its shards."""
    return seconds * max(1.0, shards / machine.cpus) if shards else 0.0


def spread(
    shards: Sequence[int], machines: Mapping[str, Machine], present: Mapping[int, str]
) -> dict[int, str]:
    """Return the machine of each shard.

    Shards of machines that are gone get a place; the others stay unless an iteration becomes
    `WORTHWHILE` times as fast when all are placed afresh.
    """
    cost = _seconds(machines)
    staying = {shard: present[shard] for shard in shards if present.get(shard) in machines}
    patched = _filled(shards, machines, cost, staying)
    afresh = _filled(shards, machines, cost, {}, prefer=present)
    if _slowest(patched, machines, cost) > WORTHWHILE * _slowest(afresh, machines, cost):
        return afresh
    return patched


def _seconds(machines: Mapping[str, Machine]) -> dict[str, float]:
    measured = [machine.seconds for machine in machines.values() if machine.seconds]
    usual = statistics.median(measured) if measured else 1.0
    return {name: machine.seconds or usual for name, machine in machines.items()}


def _filled(
    shards: Sequence[int],
    machines: Mapping[str, Machine],
    cost: Mapping[str, float],
    fixed: Mapping[int, str],
    prefer: Mapping[int, str] | None = None,
) -> dict[int, str]:
    """Return `fixed` with every further shard where an iteration takes least with it."""
    placed = dict(fixed)
    counts = dict.fromkeys(machines, 0)
    for name in placed.values():
        counts[name] += 1
    prefer = prefer or {}
    order = {name: at for at, name in enumerate(sorted(machines))}
    for shard in shards:
        if shard in placed:
            continue

        def after(name: str, shard: int = shard) -> tuple[float, float, bool, int]:
            machine, count = machines[name], counts[name] + 1
            took = iteration_seconds(machine, count, cost[name])
            return (round(took, 9), count / machine.cpus, prefer.get(shard) != name, order[name])

        best = min(machines, key=after)
        placed[shard] = best
        counts[best] += 1
    return placed


def _slowest(
    placed: Mapping[int, str], machines: Mapping[str, Machine], cost: Mapping[str, float]
) -> float:
    counts = {name: sum(place == name for place in placed.values()) for name in machines}
    slowest = [iteration_seconds(machines[name], n, cost[name]) for name, n in counts.items()]
    return max(slowest, default=math.inf)
