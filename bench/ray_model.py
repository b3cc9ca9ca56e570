"""A model of a run on many machines: a discrete-event simulation with measured costs.

It is a model, not a measurement. Every machine plays one chunk an iteration for each of its cores;
the driver sends weights, receives pieces one after another, joins them and learns; with a lag of 1
machines play while it learns. What is not in it: switches, other people, failures, memory. Checked
against the runs of one and two machines that the costs come from.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

NETWORK = 1250.0
"""Megabytes a second of the driver's link: 10 Gbit/s."""
UPDATES = 30
MACHINES = (8, 64, 512)
GPU = 0.02
"""What the learner's time is multiplied with for a GPU: an assumption, fifty times as fast."""


@dataclass(frozen=True)
class Costs:
    """Seconds and megabytes, as measured with one machine of one core."""

    play: float
    """A chunk on a core."""
    spread: float
    """Standard deviation of that between chunks, as a share of it."""
    learn: float
    """An update of one chunk."""
    chunk: float
    """Megabytes of a chunk."""
    piece: float
    """Seconds of the driver for a piece."""
    megabyte: float
    """Seconds of the driver for a megabyte of unrolls."""
    weights: float
    """Megabytes of the weights."""
    put: float
    """Seconds of the driver to put weights, a megabyte."""
    network: float = NETWORK
    """Megabytes a second between the driver and all machines together."""

    @classmethod
    def measured(
        cls,
        queue: Sequence[Mapping[str, Any]],
        weights: Sequence[Mapping[str, Any]],
        run: Mapping[str, Any],
    ) -> Costs:
        """Return the costs that the benchmark's lines say."""
        alone = min(queue, key=lambda line: line["size"])
        large = max(queue, key=lambda line: line["size"])
        sent = max(weights, key=lambda line: line["megabytes"])
        one = run["one"]
        # Half of a piece's CPU time is the sender's; a machine's chunk is a piece of its own.
        return cls(
            play=one["playing_seconds_an_update"],
            spread=one["playing_spread"],
            learn=one["learning_seconds_an_update"],
            chunk=one["megabytes_an_update"],
            piece=alone["cpu_milliseconds_a_piece"] / 2000,
            megabyte=large["cpu_milliseconds_a_megabyte"] / 2000,
            weights=run["weights_megabytes"],
            put=sent["milliseconds"] / 1000 / sent["megabytes"],
        )


@dataclass(frozen=True)
class Outcome:
    """What a simulated run came to."""

    updates_a_second: float
    busy: Mapping[str, float]
    """By resource: the share of the time in which it worked."""

    @property
    def bottleneck(self) -> str:
        return max(self.busy, key=lambda name: self.busy[name])


def simulate(costs: Costs, machines: int, *, lag: int = 1, updates: int = UPDATES) -> Outcome:
    """Return how a run with one chunk a machine goes; its first updates do not count."""
    rng = random.Random(machines)
    busy = dict.fromkeys(("learner", "driver's queue", "driver's link", "machines"), 0.0)
    free = dict.fromkeys(("learner", "driver's queue", "driver's link"), 0.0)
    idle = [0.0] * machines
    arrived: dict[int, float] = {}
    published = {-number: 0.0 for number in range(lag + 1)}
    began = 0.0

    def use(name: str, when: float, seconds: float) -> float:
        """Wait for a resource, use it, and return when that is over."""
        free[name] = max(free[name], when) + seconds
        busy[name] += seconds
        return free[name]

    for update in range(1, updates + 1):
        if update == updates // 3:
            began = free["learner"]
            busy = dict.fromkeys(busy, 0.0)
        weights = published[update - 1 - lag]
        ends: list[tuple[float, int]] = []
        for number in range(machines):
            there = use("driver's link", weights, costs.weights / costs.network)
            seconds = max(0.1, rng.gauss(1.0, costs.spread)) * costs.play
            idle[number] = max(idle[number], there) + seconds
            busy["machines"] += seconds / machines
            heapq.heappush(ends, (idle[number], number))
        while ends:
            ready, _ = heapq.heappop(ends)
            here = use("driver's link", ready, costs.chunk / costs.network)
            arrived[update] = use(
                "driver's queue", here, costs.piece + costs.megabyte * costs.chunk
            )
        learned = use("learner", arrived[update], costs.learn * machines)
        published[update] = use("learner", learned, costs.put * costs.weights)
    span = free["learner"] - began
    counted = updates - updates // 3 + 1
    return Outcome(counted / span, {name: value / span for name, value in busy.items()})


def table(costs: Costs, run: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the check against what was measured, then what many machines would give."""
    label = str(run["bench"]).partition(":")[0]
    for count, name in ((1, "one"), (2, "two")):
        # The runs split one iteration's matches, play and learn in turn, and their link is memory.
        split = replace(
            costs, play=costs.play / count, chunk=costs.chunk / count, learn=costs.learn / count
        )
        measured = run[name]["updates_a_second"]
        own = replace(
            split,
            play=run[name]["playing_seconds_an_update"],
            spread=run[name]["playing_spread"],
            learn=run[name]["learning_seconds_an_update"] / count,
        )
        predicted, with_own_times = (
            simulate(replace(variant, network=1e4), count, lag=0).updates_a_second
            for variant in (split, own)
        )
        yield {
            "bench": f"model, {label}, {count} machines, against the run",
            "measured_updates_a_second": round(measured, 3),
            "predicted_updates_a_second": round(predicted, 3),
            "predicted_over_measured": round(predicted / measured, 2),
            "predicted_with_the_runs_own_times": round(with_own_times, 3),
            "with_own_times_over_measured": round(with_own_times / measured, 2),
        }
    for learner, faster in (("on a core", 1.0), ("fifty times as fast", GPU)):
        variant = replace(costs, learn=costs.learn * faster)
        for machines in MACHINES:
            outcome = simulate(variant, machines)
            rate = outcome.updates_a_second * machines * run["one"]["decisions_an_update"]
            yield {
                "bench": f"model, {label}, {machines} machines, learner {learner}",
                "decisions_a_second": round(rate),
                "of_perfect": round(outcome.updates_a_second * costs.play, 3),
                "bottleneck": outcome.bottleneck,
                "busy": {name: round(value, 2) for name, value in outcome.busy.items()},
            }
