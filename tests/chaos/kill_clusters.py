"""Drives a run on a cluster while its processes and machines are killed; for test_ray_faults.py.

The driver is `lanista rl --cluster` in a process of its own. As a program it prints what kills
cost, for so many seconds, with a seed: `python tests/chaos/kill_clusters.py 180 1`, with `src` and
`tests/helpers` in PYTHONPATH.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

from marked_cpu import MarkedCpu
from pipeline_runs import last_state, settings_of

from lanista.cluster.session import wait_for
from lanista.runs.folder import folder_of
from lanista.runs.reader import UNREADABLE, RunReader
from lanista.runs.settings import to_yaml
from lanista.training.loop import train
from ray_machines import hosts, playing, ray_machines

ENDLESS = 1_000_000
VALUES = {
    "game": "kuhn",
    "iterations": ENDLESS,
    "network": {"width": 16, "layers": 1},
    "learning": {"lr": 0.01, "minibatches": 2},
    "rollouts": {"matches": 3000, "slots": 300, "workers": 3, "lag": 1, "hang_seconds": 10.0},
    "checkpoints": {"save_every": 2, "keep_last": 2},
}
# What is merely slow on a busy machine must not count as hung where throughput is measured.
CALM = {**VALUES, "rollouts": {**VALUES["rollouts"], "hang_seconds": 60.0}}
FOREVER = 600.0
"""Seconds after which something that must come is taken for lost."""


class Driver:
    """`lanista rl` on a cluster, which may be killed and started again."""

    def __init__(self, cluster, folder, values=VALUES):
        self.cluster, self.output = cluster, folder / "policy.safetensors"
        self.config = folder / "run.yaml"
        self.config.write_text(to_yaml(settings_of(values)))
        self.log = folder / "log"
        self.start()

    def start(self):
        words = ["rl", "--config", self.config, "--output", self.output]
        words += ["--cluster", self.cluster.address]
        if self.saved() > 0:
            words.append("--resume")
        elif folder_of(self.output).exists():
            raise AssertionError("The driver was killed before there was anything to resume.")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lanista", *map(str, words)],
                stdout=log, stderr=log, env=self.cluster.environment,
            )  # fmt: skip

    def update(self):
        """Return the newest update that is on record."""
        path = folder_of(self.output) / "run.db"
        if not path.exists():
            return 0
        try:
            with closing(RunReader(path)) as run:
                return run.newest_update() or 0
        except UNREADABLE:
            return 0

    def number(self, name):
        """Return the newest of a number that the run logs; None: there is none."""
        path = folder_of(self.output) / "run.db"
        if self.update() == 0:
            return None
        with closing(RunReader(path)) as run:
            return next((row.value for row in reversed(list(run.metric(name)))), None)

    def total(self, name):
        """Return the sum of a number that the run logs."""
        with closing(RunReader(folder_of(self.output) / "run.db")) as run:
            return sum(row.value for row in run.metric(name))

    def ended(self):
        """Return False; fail with the log if the driver has ended."""
        assert self.process.poll() is None, self.log.read_text(errors="replace")[-3000:]
        return False

    def saved(self):
        folder = folder_of(self.output) / "checkpoints"
        names = [path.name for path in folder.glob("*")] if folder.is_dir() else []
        return max((int(name) for name in names if name.isdigit()), default=0)

    def advances(self, by=1):
        """Wait for more updates; fail with the log when the driver ends instead."""
        first = self.update()

        def advanced():
            return self.ended() or self.update() >= first + by

        assert wait_for(advanced, FOREVER), self.log.read_text(errors="replace")[-3000:]

    def stop(self):
        """Ask the driver to save and end; return after how many iterations it did."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait()
        assert code == 130, self.log.read_text(errors="replace")[-3000:]
        return self.update()


def learner(output):
    """Return what a run's newest checkpoint holds of its learner: weights, optimiser, counters."""
    state = last_state(output)
    return {name: state[name] for name in ("learner", "iteration", "decisions", "matches")}


def alone(folder, iterations):
    """Return the learner of a run of so many iterations that played in one thread."""
    rollouts = {**VALUES["rollouts"], "launcher": "serial"}
    output = folder / "alone.safetensors"
    values = {**VALUES, "iterations": iterations, "rollouts": rollouts}
    assert train(settings_of(values), output) == 0
    return learner(output)


def hit(pids, rng, number=signal.SIGKILL):
    """Send a signal to one of these processes; return whether there was one."""
    with suppress(ProcessLookupError, IndexError):
        os.kill(rng.choice(pids), number)
        return True
    return False


def kill_worker(cluster, driver, rng):
    workers = [w for raylet in cluster.raylets.values() for h in hosts(raylet) for w in playing(h)]
    return hit(workers, rng)


def kill_actor(cluster, driver, rng):
    return hit([host for raylet in cluster.raylets.values() for host in hosts(raylet)], rng)


def stop_somebody(cluster, driver, rng):
    """Let an actor or a worker hang: it is there and does nothing."""
    actors = [host for raylet in cluster.raylets.values() for host in hosts(raylet)]
    workers = [worker for host in actors for worker in playing(host)]
    return hit(rng.choice([actors, workers or actors]), rng, signal.SIGSTOP)


def kill_machine(cluster, driver, rng):
    cluster.kill(rng.choice(list(cluster.raylets)))
    cluster.add()
    return True


def kill_driver(cluster, driver, rng):
    driver.ended()
    driver.process.kill()
    driver.process.wait()
    driver.start()
    return True


FAULTS = {
    "worker": kill_worker,
    "actor": kill_actor,
    "machine": kill_machine,
    "hang": stop_somebody,
    "driver": kill_driver,
}


def kill_for(seconds, pauses, cluster, driver, seed, faults=tuple(FAULTS), clock=time.monotonic):
    """Let faults come for so long on a clock; return how many of each hit somebody."""
    rng = random.Random(seed)
    counts = dict.fromkeys(faults, 0)
    # Each of them once, then as the dice fall.
    names = rng.sample(faults, len(faults))
    last = clock() + seconds
    while clock() < last or names:
        pause = clock() + rng.uniform(*pauses)
        assert wait_for(lambda pause=pause: driver.ended() or clock() >= pause, 10 * FOREVER)
        name = names[-1] if names else rng.choice(faults)
        if driver.saved() == 0:
            driver.advances(2)
        if FAULTS[name](cluster, driver, rng):
            counts[name] += 1
            names = names[:-1]
    return counts


KILLS = ("worker", "actor", "machine")


def rates(driver, cpu, work):
    """Return updates a second, and a CPU second of all processes, while `work()` is done."""
    first, began, used = driver.update(), time.monotonic(), cpu.seconds()
    work()
    driver.advances(1)
    updates = driver.update() - first
    return updates / (time.monotonic() - began), updates / (cpu.seconds() - used)


def kills_against_calm(cluster, driver, seconds, seed):
    """Return what a run achieves with a kill every 5 to 20 s, and how often who was killed.

    Seconds are CPU seconds of all its processes: left alone on a free core it uses about one a
    second, and where others use the machine, kills come as much later as its work. Before and after
    the kills it is left alone.
    """
    counts = {}
    driver.advances(10)
    with MarkedCpu(cluster.mark) as cpu:

        def kill():
            faults = kill_for(seconds, (5, 20), cluster, driver, seed, KILLS, cpu.seconds)
            counts.update(faults)

        def rest():
            last = cpu.seconds() + max(20.0, seconds / 10)
            assert wait_for(lambda: driver.ended() or cpu.seconds() >= last, 100 * seconds)

        before, killed, after = (rates(driver, cpu, work) for work in (rest, kill, rest))
    calm = [(one + other) / 2 for one, other in zip(before, after, strict=True)]
    return {
        "kills": counts,
        "updates_a_second": round(calm[0], 3),
        "with_kills": round(killed[0], 3),
        "ratio": round(killed[0] / calm[0], 3),
        "updates_a_cpu_second": round(calm[1], 3),
        "cpu_with_kills": round(killed[1], 3),
        "cpu_ratio": round(killed[1] / calm[1], 3),
    }


def main(seconds, seed):
    with tempfile.TemporaryDirectory() as folder, ray_machines(3) as cluster:
        driver = Driver(cluster, Path(folder), CALM)
        measured = kills_against_calm(cluster, driver, float(seconds), int(seed))
        driver.stop()
        chunks, again = driver.total("cluster/chunks"), driver.total("cluster/again")
        print(json.dumps({**measured, "chunks": chunks, "played_again": again}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
