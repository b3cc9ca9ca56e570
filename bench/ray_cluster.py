"""What a cluster costs: `python -m bench ray`.

The same run with the launchers `processes` and `ray` on one machine; bytes and calls through the
queue of a machine's actor; weights sent; the same run on one machine of one core and on two. Where
others use the cores, rates say little, so every line has CPU time beside it. The last lines are a
model's (`bench/ray_model.py`), with the costs that were measured here.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from bench.ray_machines import cpu_seconds, machines, players_cpu_seconds
from bench.ray_model import Costs, table
from lanista.cluster import session
from lanista.errors import LanistaError
from lanista.profile.measure import Rig
from lanista.profile.subject import Subject
from lanista.rollout.launchers.ray_host import Answer, Chunk, hosted
from lanista.rollout.timing import LEARN
from lanista.runs.settings import load_settings

ROUNDS = 5
SECONDS = 6.0
MEGABYTE = 1 << 20
SIZES = ((1 << 10, 40_000), (1 << 17, 8000), (MEGABYTE, 1000), (16 * MEGABYTE, 60))
"""Bytes of an answer, and how many are sent."""
ONE_AT_A_TIME = "ray queue, one answer of 1024 bytes at a time"
CASES = {"one": (1, 1), "same_on_one": (1, 2), "two": (2, 2)}
"""Machines of one core, and shards. The last two are the same run."""
PURSES = str(Path(__file__).parent.parent / "examples" / "my_game.py")
SMALL = "purses, in Python, a tenth of the matches"
GAMES: Mapping[str, dict[str, Any]] = {
    "showdown": {
        "game": "showdown",
        "network": {"kind": "transformer", "size": "s"},
        "learning": {"policy": "vtrace", "minibatches": 4},
        "rollouts": {"mode": "stream", "unroll_length": 16, "slots": 64, "unrolls": 64},
        "device": "cpu",
    },
    "purses, in Python": {
        "game": PURSES,
        "network": {"width": 64, "layers": 2},
        "rollouts": {"matches": 4000, "slots": 500},
        "device": "cpu",
    },
    SMALL: {
        "game": PURSES,
        "network": {"width": 64, "layers": 2},
        "rollouts": {"matches": 400, "slots": 100},
        "device": "cpu",
    },
    "beastybar": {
        "game": "beastybar",
        "network": {"width": 256, "layers": 2},
        "rollouts": {"matches": 1024},
        "device": "cpu",
    },
}


def ray() -> Iterator[dict[str, Any]]:
    """Measure all of it; needs the extra `ray`."""
    try:
        session.refuse_missing()
    except LanistaError as error:
        yield {"bench": "ray", "why": f"skipped: {error}"}
        return
    queue = list(through_the_queue())
    yield from queue
    weights = list(weights_sent())
    yield from weights
    for name in ("showdown", "purses, in Python", SMALL):
        yield same_run(name)
    two = [two_machines(name) for name in ("showdown", "beastybar")]
    yield from two
    for line in two:
        if "why" not in line:
            yield from table(Costs.measured(queue, weights, line), line)


class Feeder:
    """An actor's queue without workers: answers of a size, as fast as they are taken."""

    def feed(self, count: int, size: int) -> None:
        for number in range(count):
            # Each with memory of its own: what is sent twice in a piece travels once.
            arrays = {"obs": np.full(size, number % 251, np.uint8)}
            chunk = Chunk(arrays, {}, (0, {}, {}, 0.0, None))
            self.outgoing.begin()  # type: ignore[attr-defined]
            self.outgoing.put(Answer(0, number, True, chunk, 0.0))  # type: ignore[attr-defined]


def through_the_queue() -> Iterator[dict[str, Any]]:
    """Measure answers of several sizes from a machine's actor to the driver."""
    with machines([[0]]):
        ray = session.load()

        class FedHost(hosted(ray)):  # type: ignore[misc]
            feed = ray.method(concurrency_group="feed")(Feeder.feed)

        groups = {"asked": 1, "pieces": 1, "feed": 1}
        actor = ray.remote(num_cpus=0, concurrency_groups=groups)(FedHost).remote(0, "threads", {})
        ray.get(actor.identity.remote())
        pieces = actor.pieces.remote()
        for size, count in SIZES:
            _taken(ray, actor, pieces, size, count // 10)  # Processes come up, memory is mapped.
            began, cpu = time.perf_counter(), cpu_seconds()
            calls = _taken(ray, actor, pieces, size, count)
            wall, cpu = time.perf_counter() - began, cpu_seconds() - cpu
            yield {
                "bench": f"ray queue, answers of {size} bytes",
                "megabytes_a_second": round(count * size / wall / MEGABYTE, 1),
                "answers_a_second": round(count / wall),
                "pieces_a_second": round(calls / wall),
                "megabytes_a_piece": round(count * size / calls / MEGABYTE, 3),
                "cpu_milliseconds_a_piece": round(1000 * cpu / calls, 3),
                "cpu_milliseconds_a_megabyte": round(1000 * cpu / (count * size / MEGABYTE), 3),
                "size": size,
            }
        yield _one_at_a_time(ray, actor, pieces)
        ray.kill(actor)


def _one_at_a_time(ray: Any, actor: Any, pieces: Any, count: int = 500) -> dict[str, Any]:
    """Measure a small answer, asked for and taken before the next: what a call costs by itself."""
    began, cpu = time.perf_counter(), cpu_seconds()
    for _ in range(count):
        _taken(ray, actor, pieces, 1 << 10, 1)
    wall, cpu = time.perf_counter() - began, cpu_seconds() - cpu
    return {
        "bench": ONE_AT_A_TIME,
        "calls_a_second": round(count / wall),
        "cpu_milliseconds_a_piece": round(1000 * cpu / count, 3),
        "size": 0,
    }


def _taken(ray: Any, actor: Any, pieces: Any, size: int, count: int) -> int:
    """Take so many answers, copied as a learner does; return in how many pieces they came."""
    actor.feed.remote(count, size)
    calls = taken = 0
    while taken < count:
        answers, _ = ray.get(next(pieces))
        taken += len(answers)
        calls += 1
        for answer in answers:
            np.array(answer.value.arrays["obs"])
    return calls


def weights_sent() -> Iterator[dict[str, Any]]:
    """Measure how long weights take from the driver into a machine's shared memory."""
    with machines([[0]]):
        ray = session.load()
        version = 0
        for megabytes in (1, 10, 100):
            walls, cpus = [], []
            # Segments have the size of the first weights, so each size has an actor of its own.
            arrays = {"0:weights": np.zeros(megabytes * MEGABYTE // 4, np.float32)}
            sized = ray.remote(num_cpus=0, concurrency_groups={"asked": 1, "pieces": 1})(
                hosted(ray)
            ).remote(0, "processes", {})
            ray.get(sized.identity.remote())
            for _ in range(ROUNDS + 1):
                version += 1
                began, cpu = time.perf_counter(), cpu_seconds()
                ray.get(sized.ask.remote([], {version: [ray.put(arrays)]}))
                walls.append(time.perf_counter() - began)
                cpus.append(cpu_seconds() - cpu)
            ray.kill(sized)
            yield {
                "bench": f"ray weights, {megabytes} MB",
                "milliseconds": round(1000 * statistics.median(walls[1:]), 2),
                "low": round(1000 * min(walls[1:]), 2),
                "high": round(1000 * max(walls[1:]), 2),
                "cpu_milliseconds": round(1000 * statistics.median(cpus[1:]), 1),
                "megabytes": megabytes,
            }


def same_run(name: str) -> dict[str, Any]:
    """Let `processes` and `ray` take turns at the same run, with two workers on this machine."""
    label = f"{name}: ray over processes, two workers on one machine"
    try:
        with machines([], drivers_cores=2), ExitStack() as stack:
            rigs = {way: _rig(stack, name, way, 2) for way in ("processes", "ray")}
            laps: dict[str, list[tuple[float, float]]] = {way: [] for way in rigs}
            for _ in range(ROUNDS):
                for way, rig in rigs.items():
                    laps[way].append(_lap(rig))
    except LanistaError as error:
        return {"bench": label, "why": f"skipped: {error}"}
    pairs = list(zip(laps["ray"], laps["processes"], strict=True))
    rates = [ours[0] / theirs[0] for ours, theirs in pairs]
    costs = [ours[1] / theirs[1] for ours, theirs in pairs]
    return {
        "bench": label,
        "unit": "times the decisions per second",
        "ratio": round(statistics.median(rates), 3),
        "low": round(min(rates), 3),
        "high": round(max(rates), 3),
        "target": 0.9,
        "met": statistics.median(rates) >= 0.9,
        "decisions_a_second": {
            way: round(statistics.median(rate for rate, _ in values))
            for way, values in laps.items()
        },
        "cpu_a_decision_ratio": round(statistics.median(costs), 3),
        "rounds": ROUNDS,
    }


def two_machines(name: str) -> dict[str, Any]:
    """Collect a run of two shards with one machine of one core, and with two.

    The same with one shard, which is another run: the model takes a machine's costs from it.
    """
    label = f"{name}: unrolls per CPU second, two machines of one core over one"
    measured = {}
    for case, (count, shards) in CASES.items():
        try:
            with machines([[number] for number in range(count)]), ExitStack() as stack:
                rig = _rig(stack, name, "ray", shards)
                weights = rig.population.main.collector.actor.policy.state_dict().values()
                megabytes = sum(tensor.nbytes for tensor in weights) / MEGABYTE
                measured[case] = _medians([_collected(rig) for _ in range(ROUNDS)])
        except LanistaError as error:
            return {"bench": label, "why": f"skipped: {error}"}
    return {
        "bench": label,
        **two_over_one(measured),
        **measured,
        "weights_megabytes": round(megabytes, 3),
        "rounds": ROUNDS,
    }


def two_over_one(measured: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Return what two machines give for one's: of the same run, and of one with a single shard."""
    one, two, alone = (measured[case] for case in ("same_on_one", "two", "one"))
    # Unrolls have as many decisions with one machine as with two.
    ratio = two["decisions_a_cpu_second"] / one["decisions_a_cpu_second"]
    # Without Ray's own processes, which work by the clock: the slower the machine, the more.
    players = "decisions_a_players_cpu_second"
    return {
        "ratio": round(ratio, 3),
        "target": 0.9,
        "met": ratio >= 0.9,
        "ratio_of_actors_and_workers": round(two[players] / one[players], 3),
        "whole_run_rate_ratio": round(two["updates_a_second"] / one["updates_a_second"], 3),
        "over_one_shard": {
            "ratio": round(two["decisions_a_cpu_second"] / alone["decisions_a_cpu_second"], 3),
            "ratio_of_actors_and_workers": round(two[players] / alone[players], 3),
            "whole_run_rate_ratio": round(two["updates_a_second"] / alone["updates_a_second"], 3),
        },
    }


def _rig(stack: ExitStack, name: str, launcher: str, workers: int) -> Rig:
    values = GAMES[name]
    rollouts = {**values["rollouts"], "launcher": launcher, "workers": workers}
    settings = load_settings({**values, "rollouts": rollouts})
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    rig = Rig(Subject(f"{name}, {launcher}", settings), settings, Path(folder))
    stack.callback(rig.population.close)
    rig.warm_up(SECONDS / 2)
    return rig


def _lap(rig: Rig) -> tuple[float, float]:
    """Return decisions a second, and CPU seconds a decision."""
    cpu = cpu_seconds()
    lap = rig.lap(SECONDS)
    return lap.rate, (cpu_seconds() - cpu) / lap.decisions


def _collected(rig: Rig) -> dict[str, float]:
    """Return what some iterations cost: the machines by themselves, and the whole run."""
    training = rig.population.main
    before, first, began = training.decisions, training.iteration, time.perf_counter()
    total, players, own = cpu_seconds(), players_cpu_seconds(), time.process_time()
    sent = learning = 0.0
    plays = []
    while time.perf_counter() - began < SECONDS:
        for _, values in training.iterate():
            sent += values.get("cluster/bytes", 0.0)
        wall, _ = training.phases.taken()
        learning += wall.get(LEARN, 0.0)
        plays += [sum(phases.values()) for phases in _playing(training.collector)]
    span, updates = time.perf_counter() - began, training.iteration - first
    own = time.process_time() - own
    elsewhere, players = cpu_seconds() - total - own, players_cpu_seconds() - players
    decisions = training.decisions - before
    mean = statistics.mean(plays)
    return {
        "decisions_a_cpu_second": decisions / elsewhere,
        "decisions_a_players_cpu_second": decisions / players,
        "cpu_seconds_an_update": (own + elsewhere) / updates,
        "updates_a_second": updates / span,
        "decisions_an_update": decisions / updates,
        "megabytes_an_update": sent / updates / MEGABYTE,
        "learning_seconds_an_update": learning / updates,
        "playing_seconds_an_update": mean,
        "playing_spread": statistics.pstdev(plays) / mean,
    }


def _playing(collector: Any) -> Iterator[dict[str, float]]:
    """Give each worker's seconds by phase since the last look."""
    for wall, cpu in collector.worker_times():
        yield dict(wall)
        wall.clear()
        cpu.clear()


def _medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(statistics.median(line[name] for line in rounds), 5) for name in rounds[0]}
