"""Runs on a cluster whose processes and machines are killed: the run is that of one thread.

The driver is `lanista rl --cluster` in a process of its own (kill_clusters.py). When the kills are
over it is stopped, and the weights it saved are compared with those of a run that played in one
thread and was left alone: that no chunk was learned from twice, none left out, and none played with
weights that never were, is all in that one comparison. What is seen of the network's faults is in
test_ray_links.py.
"""

import sys
from importlib.util import find_spec

import pytest
from pipeline_runs import same

if find_spec("ray") is None:
    pytest.skip("ray is not installed", allow_module_level=True)
if sys.platform != "linux":
    pytest.skip("reads /proc", allow_module_level=True)

from disks import small_disk
from kill_clusters import (
    CALM,
    FOREVER,
    Driver,
    alone,
    kill_driver,
    kill_for,
    kills_against_calm,
    learner,
)
from remains import Remains

from lanista.cluster import session
from lanista.cluster.session import wait_for
from lanista.runs.folder import folder_of, saved_settings
from ray_machines import AGENTS, STORE, driving, hosts, kill_marked, playing, ray_machines


def test_killed_for_twenty_seconds_and_moved_to_a_new_cluster_a_run_is_that_of_one_thread(tmp_path):
    with ray_machines(2) as cluster:
        driver = Driver(cluster, tmp_path)
        remains = Remains(cluster.mark)
        driver.advances(4)
        remains.look()
        kill_for(20, (2, 4), cluster, driver, seed=1)
        driver.advances(4)
        remains.look()
        assert remains.sockets
        cluster.kill_head()
        assert driver.process.wait() == 1
        # The sentence comes from a program that outlives the driver, so a moment after its end.
        head_gone = f"The head of the cluster at {cluster.address} is gone"
        assert wait_for(lambda: head_gone in driver.log.read_text(), FOREVER)
    assert cluster.leftover(without=AGENTS) == []
    kill_marked(cluster.mark)
    assert wait_for(lambda: not remains.left(), FOREVER), remains.left()
    with ray_machines(0, head_cpus=1) as driver.cluster:
        driver.start()
        driver.advances(2)
        iterations = driver.stop()
        actors = hosts(driver.cluster.head)
        assert wait_for(lambda: not any(map(playing, actors)), FOREVER)
        assert saved_settings(folder_of(driver.output)).rollouts.launcher == "ray"
    assert driver.cluster.leftover() == []
    assert same(learner(driver.output), alone(tmp_path, iterations))


class UnsavedDriver(Driver):
    """A driver that saves nothing until it is asked to stop."""

    def __init__(self, cluster, folder):
        super().__init__(cluster, folder, {**CALM, "checkpoints": {"save_every": 1_000_000}})

    def saved(self):
        """Return whether the run is there: the state it begins with came with its folder."""
        return int(folder_of(self.output).exists())


@pytest.mark.slow
def test_a_driver_killed_before_its_first_checkpoint_begins_again(tmp_path):
    with ray_machines(1) as cluster:
        driver = UnsavedDriver(cluster, tmp_path)
        checkpoints = folder_of(driver.output) / "checkpoints"
        kill_driver(cluster, driver, None)  # Before there is anything of the run.
        assert wait_for(lambda: driver.ended() or driver.saved(), FOREVER)
        kill_driver(cluster, driver, None)
        driver.advances(4)
        assert [path.name for path in checkpoints.iterdir()] == ["000000"]
        kill_driver(cluster, driver, None)
        driver.advances(4)
        iterations = driver.stop()
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
        cluster.add(object_spilling_directory=str(disk.path), num_cpus=2)
        disk.fill()
        driver = Driver(cluster, tmp_path)
        driver.advances(4)
        with driving(cluster):
            ray = session.load()
            machines = session.machines(ray).items()
            (small,) = [name for name, facts in machines if facts["cpus"] == 2]
            kept = ballast(ray, 6, [small])
            ray.wait(kept, num_returns=len(kept), timeout=10, fetch_local=False)
            driver.advances(8)
            del kept
        iterations = driver.stop()
    assert same(learner(driver.output), alone(tmp_path, iterations))


@pytest.mark.slow
def test_killed_for_ten_minutes_a_run_keeps_its_throughput_and_is_that_of_one_thread(tmp_path):
    with ray_machines(3) as cluster:
        driver = Driver(cluster, tmp_path, CALM)
        measured = kills_against_calm(cluster, driver, 600, seed=2)
        measured["kills"] |= kill_for(60, (5, 20), cluster, driver, 3, ("driver",))
        driver.advances(4)
        remains = Remains(cluster.mark)
        remains.look()
        iterations = driver.stop()
    chunks, again = driver.total("cluster/chunks"), driver.total("cluster/again")
    print({**measured, "chunks": chunks, "played_again": again})
    assert cluster.leftover() == []
    assert remains.left() == []
    assert same(learner(driver.output), alone(tmp_path, iterations))
    # Nobody was stopped: whoever owes an answer for a minute was never asked.
    assert "taken for hung" not in driver.log.read_text()
    # By CPU time, that of all starts included: by the clock others would decide it.
    assert measured["cpu_ratio"] >= 0.7
    assert chunks >= 0.7 * (chunks + again)
