"""Runs on a cluster whose processes and machines are killed: the run is that of one thread.

The driver is `lanista rl --cluster` in a process of its own. When the kills are over it is stopped,
and the weights it saved are compared with those of a run that played in one thread and was left
alone: that no chunk was learned from twice, none left out, and none played with weights that never
were, is all in that one comparison. What is seen of the network's faults is in test_ray_links.py.
"""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from importlib.util import find_spec

import pytest
from pipeline_runs import last_state, same, settings_of

if find_spec("ray") is None:
    pytest.skip("ray is not installed", allow_module_level=True)
if sys.platform != "linux":
    pytest.skip("reads /proc", allow_module_level=True)

from disks import small_disk

from lanista.cluster import session
from lanista.cluster.session import wait_for
from lanista.runs.folder import folder_of, saved_settings
from lanista.runs.reader import UNREADABLE, RunReader
from lanista.runs.settings import to_yaml
from lanista.training.loop import train
from ray_machines import STORE, driving, hosts, playing, ray_machines

ENDLESS = 1_000_000
VALUES = {
    "game": "kuhn",
    "iterations": ENDLESS,
    "network": {"width": 16, "layers": 1},
    "learning": {"lr": 0.01, "minibatches": 2},
    "rollouts": {"matches": 3000, "slots": 300, "workers": 3, "lag": 1},
    "checkpoints": {"save_every": 2, "keep_last": 2},
}
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


def kill_worker(cluster, driver, rng):
    workers = [w for raylet in cluster.raylets.values() for h in hosts(raylet) for w in playing(h)]
    if workers:
        os.kill(rng.choice(workers), signal.SIGKILL)


def kill_actor(cluster, driver, rng):
    actors = [host for raylet in cluster.raylets.values() for host in hosts(raylet)]
    if actors:
        os.kill(rng.choice(actors), signal.SIGKILL)


def kill_machine(cluster, driver, rng):
    cluster.kill(rng.choice(list(cluster.raylets)))
    cluster.add()


def kill_driver(cluster, driver, rng):
    driver.process.kill()
    driver.process.wait()
    driver.start()


FAULTS = {
    "worker": kill_worker,
    "actor": kill_actor,
    "machine": kill_machine,
    "driver": kill_driver,
}


def kill_for(seconds, pauses, cluster, driver, seed, faults=tuple(FAULTS)):
    """Let faults come for so long; return how many of each there were."""
    rng = random.Random(seed)
    counts = dict.fromkeys(faults, 0)
    # Each of them once, then as the dice fall.
    names = rng.sample(faults, len(faults))
    last = time.monotonic() + seconds
    while time.monotonic() < last or names:
        time.sleep(rng.uniform(*pauses))
        name = names.pop() if names else rng.choice(faults)
        if driver.saved() == 0:
            driver.advances(2)
        FAULTS[name](cluster, driver, rng)
        counts[name] += 1
    return counts


def test_killed_for_twenty_seconds_a_run_is_that_of_one_thread(tmp_path):
    with ray_machines(2) as cluster:
        driver = Driver(cluster, tmp_path)
        driver.advances(4)
        counts = kill_for(20, (2, 4), cluster, driver, seed=1)
        driver.advances(4)
        iterations = driver.stop()
        assert min(counts.values()) >= 1
        actors = [host for raylet in cluster.raylets.values() for host in hosts(raylet)]
        assert wait_for(lambda: not any(map(playing, actors)), FOREVER)
        assert saved_settings(folder_of(driver.output)).rollouts.launcher == "ray"
    assert cluster.leftover() == []
    assert same(learner(driver.output), alone(tmp_path, iterations))


def ballast(ray, pieces, nodes=None):
    """Put more and more onto machines' object stores and keep it there; return what holds it."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def fill():
        return bytes(STORE // 4)

    return [
        ray.remote(fill)
        .options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))
        .remote()
        for node in nodes or session.machines(ray)
        for _ in range(pieces)
    ]


@pytest.mark.slow
def test_a_full_object_store_spills_and_the_run_goes_on(tmp_path):
    with ray_machines(2) as cluster:
        driver = Driver(cluster, tmp_path)
        driver.advances(4)
        with driving(cluster):
            ray = session.load()
            kept = ballast(ray, 6)  # Half as much again as the stores hold.
            ray.wait(kept, num_returns=len(kept), timeout=FOREVER, fetch_local=False)
            driver.advances(8)
            del kept
        driver.advances(4)
        iterations = driver.stop()
    assert cluster.leftover() == []
    assert same(learner(driver.output), alone(tmp_path, iterations))


@pytest.mark.slow
def test_a_full_store_beside_a_full_disk_on_one_machine_does_not_stop_the_run(tmp_path):
    with small_disk(tmp_path / "disk", 4 << 20) as disk, ray_machines(1) as cluster:
        cluster.add(object_spilling_directory=str(disk.path))
        disk.fill()
        driver = Driver(cluster, tmp_path)
        driver.advances(4)
        with driving(cluster):
            ray = session.load()
            newest = max(ray.nodes(), key=lambda node: node["StartTimeMs"])["NodeID"]
            kept = ballast(ray, 6, [newest])
            ray.wait(kept, num_returns=len(kept), timeout=10, fetch_local=False)
            driver.advances(8)
            del kept
        iterations = driver.stop()
    assert same(learner(driver.output), alone(tmp_path, iterations))


def rate(driver, work):
    """Return updates a second while `work()` is done."""
    first, began = driver.update(), time.monotonic()
    work()
    driver.advances(1)
    return (driver.update() - first) / (time.monotonic() - began)


@pytest.mark.slow
def test_killed_for_ten_minutes_a_run_plays_little_twice_and_is_that_of_one_thread(tmp_path):
    with ray_machines(3) as cluster:
        driver = Driver(cluster, tmp_path)
        driver.advances(10)
        undisturbed = rate(driver, lambda: time.sleep(60))
        counts = {}

        def kill():
            faults = ("worker", "actor", "machine")
            counts.update(kill_for(600, (5, 20), cluster, driver, 2, faults))

        disturbed = rate(driver, kill)
        driver.advances(10)
        # Others may use the machine more or less than before.
        undisturbed = (undisturbed + rate(driver, lambda: time.sleep(60))) / 2
        counts |= kill_for(60, (5, 20), cluster, driver, 3, ("driver",))
        driver.advances(4)
        iterations = driver.stop()
    # By what was played and thrown away: a machine that comes back costs its start here, on the
    # cores that the others play on, which no clock can tell apart from the loss.
    chunks, again = driver.total("cluster/chunks"), driver.total("cluster/again")
    print({"kills": counts, "updates_a_second": undisturbed, "with_kills": disturbed})
    print({"chunks": chunks, "played_again": again})
    assert cluster.leftover() == []
    assert same(learner(driver.output), alone(tmp_path, iterations))
    assert chunks >= 0.7 * (chunks + again)
