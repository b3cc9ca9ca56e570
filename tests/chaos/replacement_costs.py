"""Measures what it costs to replace a killed worker, actor or machine, in CPU seconds.

As a program it prints medians over so many kills of each kind:
`python tests/chaos/replacement_costs.py 5`, with `src` and `tests/helpers` in PYTHONPATH. A cost is
what all processes of the cluster use from the kill until every machine plays again, less what they
use in as long a time of calm. The driver, which does not play, is not counted.
"""

import json
import os
import random
import signal
import statistics
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from kill_clusters import CALM, KILLS
from marked_cpu import MarkedCpu
from pipeline_runs import settings_of

from lanista.games import registry
from lanista.nets.policy import Policy
from lanista.rollout.parallel_collector import ParallelCollector
from lanista.training.collector_factory import (
    actor_of,
    collector_elsewhere,
    packed,
    worker_settings,
)
from ray_machines import driving, hosts, playing, ray_machines

MACHINES = 3
FOREVER = 120.0
"""Seconds after which what was killed is taken for lost."""
APART = 1_000_000
"""Match ids that each shard has for itself."""
MATCHES = 30
"""Of a chunk: what is measured is starts, not play."""
PAUSE = 0.1
"""Seconds between two chunks."""
TAIL = 3.0
"""Seconds in which what was started may still be busy with itself."""


def collector():
    """Return what plays as in the runs that are killed: three workers, in processes."""
    settings = settings_of(CALM)
    settings = replace(settings, rollouts=replace(settings.rollouts, launcher="ray"))
    spec = registry.spec_of(settings.game)
    policy = Policy(spec, settings.network)
    own, networks = worker_settings(settings, spec.seats), packed((policy, None))
    firsts = [APART * number for number in range(MACHINES)]
    builds = [partial(collector_elsewhere, own, networks, first) for first in firsts]
    actor = actor_of(settings, policy, None)
    return ParallelCollector(builds, firsts, actor, spec.seats, launcher="ray", lag=1)


class Patient:
    """A cluster that plays a little, and whose processes are killed."""

    def __init__(self, cluster, cpu):
        self.cluster, self.cpu, self.rng = cluster, cpu, random.Random(1)
        self.collector = collector()
        self.play()
        self.until(self.everywhere)
        self.rate = 0.0
        cost, seconds = self.measured(lambda: None, lambda: False, 10.0)
        self.rate = cost / seconds

    def play(self):
        self.collector.whole_matches(MATCHES)
        for station in self.collector._workers[0]._fleet.stations.values():
            station.seconds = None  # Of so small chunks it is noise, by which no shard should move.
        time.sleep(PAUSE)

    def until(self, condition, seconds=FOREVER):
        last = time.monotonic() + seconds
        while not condition() and time.monotonic() < last:
            self.play()
        assert seconds < FOREVER or condition(), self.collector.take_notices()

    def everywhere(self):
        """Return whether every machine has a shard, and an actor with a worker for it."""
        machines = {worker.station.machine for worker in self.collector._workers}
        actors = [hosts(raylet) for raylet in self.cluster.raylets.values()]
        workers = [[w for host in those for w in playing(host)] for those in actors]
        return len(machines) == len(self.cluster.raylets) and all(map(any, workers))

    def measured(self, kill, condition, seconds=FOREVER):
        """Return CPU seconds beyond those of calm, and seconds, until what was killed is back."""
        self.play()
        used, began = self.cpu.seconds(), time.monotonic()
        kill()
        self.until(condition, seconds)
        if seconds == FOREVER:
            self.until(lambda: False, TAIL)
        passed = time.monotonic() - began
        return self.cpu.seconds() - used - self.rate * passed, passed

    def kill(self, kind):
        """Kill one of a kind; return what it cost."""
        raylets = list(self.cluster.raylets.values())
        actors = [host for raylet in raylets for host in hosts(raylet)]
        workers = [worker for host in actors for worker in playing(host)]
        lost = self.rng.choice({"worker": workers, "actor": actors, "machine": raylets}[kind])

        def kill():
            if kind == "machine":
                number = next(n for n, pid in self.cluster.raylets.items() if pid == lost)
                self.cluster.kill(number)
                self.cluster.add()
            else:
                os.kill(lost, signal.SIGKILL)

        def back():
            return not Path(f"/proc/{lost}").exists() and self.everywhere()

        return self.measured(kill, back)


def main(rounds, *kinds):
    with ray_machines(MACHINES) as cluster, driving(cluster), MarkedCpu(cluster.mark) as cpu:
        patient = Patient(cluster, cpu)
        costs = {kind: [] for kind in kinds or KILLS}
        for _ in range(int(rounds)):
            for kind, measured in costs.items():
                measured.append(patient.kill(kind))
                print(kind, *(round(number, 2) for number in measured[-1]), flush=True)
        patient.collector.close()
    for kind, measured in costs.items():
        seconds = sorted(round(cpu_seconds, 2) for cpu_seconds, _ in measured)
        median = round(statistics.median(seconds), 2)
        print(json.dumps({"kind": kind, "median": median, "least": seconds[0], "most": seconds[-1],
                          "calm": round(patient.rate, 3)}))  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
