"""The launcher `ray` on machines of this one: the numbers of `serial`, whatever befalls them."""

import os
import signal
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest
from pipeline_runs import KUHN, same, settings_of

# Ray reads when it is imported whether there is a token.
if find_spec("ray") is None:
    pytest.skip("ray is not installed", allow_module_level=True)
if sys.platform != "linux":
    pytest.skip("reads /proc", allow_module_level=True)

from ray_collectors import change, equal, fleet, seating, uniform

from lanista.cluster.session import wait_for
from lanista.nets.files.policy_file import load_policy
from lanista.rollout.launchers import ray_cluster, restarts
from lanista.runs.folder import folder_of
from lanista.runs.reader import RunReader
from lanista.training.loop import train
from ray_machines import driving, hosts, playing, ray_machines

QUICK = {**KUHN, "evaluation": {}, "iterations": 4}
STREAM = {"mode": "stream", "unrolls": 16, "unroll_length": 2, "slots": 6}
SHARDS = 3


@pytest.fixture(scope="module")
def machines():
    with ray_machines(2) as cluster, driving(cluster):
        yield cluster


@pytest.fixture(autouse=True)
def _always_look(monkeypatch):
    monkeypatch.setattr(ray_cluster, "LOOK", 0.01)


@pytest.fixture
def two(machines):
    """Make a fleet on the cluster, and give it with the one that plays in this thread."""
    collectors = []

    def made(launcher="ray", lag=0, slots=8, hang_seconds=None):
        for name in (launcher, "serial"):
            collectors.append(fleet(name, SHARDS, lag, slots, hang_seconds))
        return collectors[-2:]

    yield made
    for collector in collectors:
        collector.close()


def same_chunks(pair, count, first=0, matches=60):
    """Let both collect and learn alike; return whether all that they collected is equal."""
    there, here = pair
    for number in range(first, first + count):
        if not equal(there.whole_matches(matches), here.whole_matches(matches)):
            return False
        for collector in (there, here):
            change(collector, number)
    return there.next_match == here.next_match


def cluster_of(collector):
    """Return the driver's view of the machines."""
    return collector._workers[0]._fleet


def places(collector):
    return [worker.station.machine for worker in collector._workers]


def loaded(pid):
    """Return which of two heavy libraries a process has loaded."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return {name for name in ("libtorch", "_raylet") if name in maps}


def trained(launcher, path, **rollouts):
    values = {**QUICK["rollouts"], "workers": SHARDS, **rollouts, "launcher": launcher}
    assert train(settings_of({**QUICK, "rollouts": values}), path) == 0
    return load_policy(path).policy.state_dict()


def numbers(output, name):
    """Return what a run logged under a name."""
    with closing(RunReader(folder_of(output) / "run.db")) as run:
        return [row.value for row in run.metric(name)]


def test_two_machines_train_to_the_weights_of_one_thread(machines, tmp_path):
    ours = trained("serial", tmp_path / "serial.pt", lag=1, **STREAM)
    theirs = trained("ray-threads", tmp_path / "ray.pt", lag=1, **STREAM)
    assert same(ours, theirs)
    assert numbers(tmp_path / "ray.pt", "lag/max") == numbers(tmp_path / "serial.pt", "lag/max")
    assert set(numbers(tmp_path / "ray.pt", "cluster/machines")) == {2.0}


@pytest.mark.parametrize(("launcher", "lag"), [("ray", 0), ("ray-threads", 2)])
def test_chunks_are_those_of_serial_and_both_machines_play(launcher, lag, two):
    pair = two(launcher, lag)
    assert same_chunks(pair, 4)
    # A machine that comes late, or that others keep busy, gets its share later.
    assert wait_for(lambda: len(set(places(pair[0]))) == 2 or not same_chunks(pair, 1, 4), 600)
    assert same_chunks(pair, 1, 4)


def test_an_actor_does_without_torch_and_its_worker_processes_without_ray(machines, two):
    pair = two(lag=1, slots=6)
    for collector in pair:
        collector.meet([uniform], seating)
    assert equal(*(collector.unrolls(30) for collector in pair))
    assert same_chunks(pair, 2)
    actors = [host for raylet in machines.raylets.values() for host in hosts(raylet)]
    workers = [worker for host in actors for worker in playing(host)]
    assert len(workers) == SHARDS
    assert [loaded(worker) for worker in workers] == [{"libtorch"}] * SHARDS
    assert [loaded(actor) for actor in actors] == [{"_raylet"}] * len(actors)


def test_a_killed_worker_is_replaced_and_the_chunks_stay_the_same(machines, two):
    pair = two(lag=1)
    assert same_chunks(pair, 1)
    workers = [w for raylet in machines.raylets.values() for h in hosts(raylet) for w in playing(h)]
    assert len(workers) == SHARDS
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    assert same_chunks(pair, 3, 1)
    assert sum("was started again" in notice for notice in pair[0].take_notices()) == SHARDS


def test_a_killed_actor_is_replaced_and_nothing_is_collected_twice(machines, two):
    pair = two("ray-threads", lag=1)
    assert same_chunks(pair, 1)
    (host,) = hosts(next(iter(machines.raylets.values())))
    os.kill(host, signal.SIGKILL)
    assert same_chunks(pair, 3, 1)
    assert any("is lost" in notice for notice in pair[0].take_notices())
    assert wait_for(lambda: same_chunks(pair, 1, 7) and len(set(places(pair[0]))) == 2, 600)


def test_a_machine_that_hangs_is_taken_for_lost_and_nothing_is_collected_twice(machines, two):
    pair = two("ray-threads", hang_seconds=1.0)
    assert same_chunks(pair, 1)
    (host,) = hosts(next(iter(machines.raylets.values())))
    os.kill(host, signal.SIGSTOP)
    assert same_chunks(pair, 3, 1)
    assert any("is taken for hung" in notice for notice in pair[0].take_notices())
    assert wait_for(lambda: host not in hosts(next(iter(machines.raylets.values()))), 600)


def test_a_lost_machine_is_done_without_and_a_new_one_gets_its_share(machines, two):
    pair = two("ray-threads")
    assert same_chunks(pair, 1)
    lost = next(iter(machines.raylets))
    machines.kill(lost)
    # Beside it there may be one that a test before has killed, and that Ray has not missed yet.
    assert wait_for(lambda: same_chunks(pair, 1, 1) and len(set(places(pair[0]))) == 1, 600)
    machines.add()
    assert wait_for(lambda: same_chunks(pair, 1, 7) and len(set(places(pair[0]))) == 2, 600)
    assert cluster_of(pair[0]).counts["moved"] > 0


def test_matches_in_flight_move_with_their_shard(two):
    there, here = two("ray-threads", lag=1, slots=6)
    moved = False
    for number in range(6):
        assert equal(there.unrolls(30), here.unrolls(30))
        worker = there._workers[0]

        def others(worker=worker):
            cluster_of(there).look(rebalance=False)
            stations = cluster_of(there).stations.values()
            return [s for s in stations if s is not worker.station and s.ready and not s.dead]

        assert wait_for(others, 600)
        other = others()[0]
        before = worker.station
        worker.go_to(other)
        ray_cluster.LOOK = 1000.0  # Nobody else moves it back.
        for collector in (there, here):
            change(collector, number)
        assert equal(there.unrolls(30), here.unrolls(30))
        moved |= worker.station is not before
    assert moved


@pytest.mark.slow
def test_a_machine_that_cannot_play_is_given_up_and_the_others_go_on(machines, two, monkeypatch):
    monkeypatch.setattr(restarts, "FIRST_PAUSE", 0.0)
    number = machines.add(env={"LANISTA_TEST_NO_ROOM": "1"}, num_cpus=4)
    try:
        pair, notices = two("ray-threads"), []

        def given_up():
            assert same_chunks(pair, 1, len(notices))
            notices.extend(pair[0].take_notices())
            return any("is given up for this run" in notice for notice in notices)

        assert wait_for(given_up, 600)
        assert any("No space left on device" in notice for notice in notices)
    finally:
        machines.kill(number)


def test_shards_leave_a_machine_that_is_ten_times_slower(machines, two):
    number = machines.add(env={"LANISTA_TEST_SLOW": "10"}, num_cpus=2)
    try:
        pair = two("ray-threads")

        def slow_station():
            stations = cluster_of(pair[0]).stations.values()
            return next((s for s in stations if s.cpus == 2), None)

        def left():
            assert same_chunks(pair, 1, 3, matches=600)
            slow = slow_station()
            return slow is not None and slow.seconds and slow.machine not in places(pair[0])

        assert wait_for(left, 600)
        assert same_chunks(pair, 2, 5)
    finally:
        machines.kill(number)
