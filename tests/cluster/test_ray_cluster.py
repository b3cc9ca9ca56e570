"""Who may play on a cluster, and what it shows of itself to the network."""

import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

# Ray reads when it is imported whether there is a token.
if find_spec("ray") is None:
    pytest.skip("ray is not installed", allow_module_level=True)
if sys.platform != "linux":
    pytest.skip("reads /proc", allow_module_level=True)

import numpy as np
import task_work
from ray_collectors import GAME_FILE, fleet, fleet_of_file

import lanista
from lanista.cluster import refusals as refusals_module
from lanista.cluster import session
from lanista.cluster.identity import identity
from lanista.cluster.reach import latest_cluster
from lanista.cluster.refusals import Refusals
from lanista.cluster.tasks import in_order, tasks
from lanista.errors import LanistaError, RefusedError
from lanista.games import driver_files, registry
from lanista.pipeline.job_processes import ClusterProcess
from lanista.rollout.launchers import ray_cluster
from lanista.rollout.launchers.processes import WorkerError
from lanista.rollout.launchers.ray_host import Host
from ray_machines import driving, marked, ray_machines


@pytest.fixture(scope="module")
def machines():
    with ray_machines(1) as cluster, driving(cluster):
        yield cluster


def other_build(folder):
    """Return a place with the package's sources in which one line is another."""
    package = Path(lanista.__file__).parent
    for path in package.rglob("*"):
        copy = folder / "lanista" / path.relative_to(package)
        if path.is_dir():
            copy.mkdir(parents=True, exist_ok=True)
        elif path.name == "errors.py" and path.parent == package:
            copy.write_text(path.read_text() + "# Another version.\n")
        else:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(path)
    return folder


def test_a_machine_with_other_code_is_refused_and_the_others_play(machines, tmp_path):
    number = machines.add(env={"PYTHONPATH": f"{other_build(tmp_path)}"})
    collector = fleet("ray-threads", 2)
    try:
        assert len(collector.whole_matches(20)) > 0
        (notice,) = [text for text in collector.take_notices() if "is refused" in text]
        assert "its code of lanista has the digest" in notice
        assert len({worker.station.machine for worker in collector._workers}) == 1
    finally:
        collector.close()
        machines.kill(number)


def test_a_machine_whose_actor_cannot_be_made_is_refused_with_the_reason(machines, monkeypatch):
    def hosted(ray):
        class Broken(Host):
            def __init__(self, *arguments):
                raise ModuleNotFoundError("No module named 'lanista.games'")

            identity = ray.method(concurrency_group="asked")(Host.identity)
            pieces = ray.method(concurrency_group="pieces")(Host.pieces)

        return Broken

    monkeypatch.setattr(ray_cluster, "hosted", hosted)
    reason = (
        r"lanista does not start there \(ModuleNotFoundError: No module named 'lanista.games'\)"
    )
    # Ray may not know yet that the other one of an earlier test is gone.
    assert session.wait_for(lambda: len(session.machines(session.load())) == 1, 30)
    with (
        closing(fleet("ray-threads", 2)) as collector,
        pytest.raises(WorkerError, match=rf"is refused: {reason}; .* No machine is left"),
    ):
        collector.whole_matches(2)


def test_work_that_every_machine_refuses_fails_with_the_reason(machines, tmp_path, monkeypatch):
    other = replace(identity(), python="3.9.1")
    monkeypatch.setattr(refusals_module, "identity", lambda: other)
    reason = r"3\.9\.1; install the same Python there\. No machine is left\."
    ray = session.load()
    job = ClusterProcess(ray, Refusals(ray), 1, ["lanista", "games"], tmp_path / "log", {})
    with pytest.raises(LanistaError, match=reason):
        job.wait()
    with tasks() as doer, pytest.raises(LanistaError, match=reason):
        in_order(doer, task_work.square, [(2,)])


@contextmanager
def second_machine(machines, environment):
    """Meanwhile have another machine; Ray knows of its beginning and of its end."""
    ray = session.load()
    assert session.wait_for(lambda: len(session.machines(ray)) == 1, 30)
    number = machines.add(env=environment)
    assert session.wait_for(lambda: len(session.machines(ray)) == 2, 30)
    try:
        yield
    finally:
        machines.kill(number)
        assert session.wait_for(lambda: len(session.machines(ray)) == 1, 30)


@pytest.fixture
def with_other_code(machines, tmp_path):
    """A second machine, which runs another version of the package."""
    with second_machine(machines, {"PYTHONPATH": f"{other_build(tmp_path / 'other')}"}):
        yield


def test_what_a_machine_with_other_code_was_to_do_is_done_elsewhere(
    machines, with_other_code, tmp_path, capfd
):
    ray = session.load()
    with tasks() as doer:
        numbers = list(range(20))
        results = in_order(doer, task_work.slow_square, [(n,) for n in numbers])
        assert results == [n * n for n in numbers]
    (notice,) = [line for line in capfd.readouterr().err.splitlines() if "is refused" in line]
    assert "its code of lanista has the digest" in notice
    refusals, words = Refusals(ray), [sys.executable, "-m", "lanista", "games"]
    jobs = [ClusterProcess(ray, refusals, 1, words, tmp_path / "log", {}) for _ in range(2)]
    # One that has ended keeps its core until somebody looks.
    assert session.wait_for(lambda: None not in [job.poll() for job in jobs], 100)
    assert [job.returncode for job in jobs] == [0] * 2


@pytest.fixture
def game_files(tmp_path, monkeypatch):
    """Folders with two versions of a game; this process is in the first one and has run it."""
    folders = [tmp_path / name for name in ("ours", "theirs")]
    for number, folder in enumerate(folders):
        folder.mkdir()
        (folder / GAME_FILE).write_text(f"from lanista.games.small import KUHN\n# {number}\n")
    monkeypatch.chdir(folders[0])
    registry.entry(GAME_FILE)
    return folders


@pytest.fixture
def with_other_game(machines, game_files):
    """A second machine, on which the file of the game is another one."""
    with second_machine(machines, {"LANISTA_TEST_FOLDER": str(game_files[1])}):
        yield


@pytest.mark.parametrize("launcher", ["ray", "ray-threads"])
def test_a_machine_with_another_file_of_the_game_is_refused_and_the_others_play(
    machines, game_files, with_other_game, launcher
):
    collector = fleet_of_file(launcher, 2, game_files[0])
    try:
        assert len(collector.whole_matches(20)) > 0
        (notice,) = [text for text in collector.take_notices() if "is refused" in text]
        assert f"its {GAME_FILE} has the SHA-256" in notice
        assert notice.endswith("copy the driver's there.")
        assert len({worker.station.machine for worker in collector._workers}) == 1
    finally:
        collector.close()


def test_where_every_machine_has_another_file_of_the_game_the_run_ends_with_the_reason(
    machines, game_files
):
    with (
        closing(fleet_of_file("ray-threads", 2, game_files[1])) as collector,
        pytest.raises(WorkerError, match=rf"its {GAME_FILE} has .* No machine is left"),
    ):
        collector.whole_matches(2)


def test_a_machine_without_the_file_of_the_game_is_refused(machines, game_files, tmp_path):
    with (
        closing(fleet_of_file("ray-threads", 2, tmp_path)) as collector,
        pytest.raises(WorkerError, match=rf"it has no file {tmp_path / GAME_FILE}, which"),
    ):
        collector.whole_matches(2)


def test_a_task_on_a_machine_with_another_file_of_the_game_is_done_elsewhere(
    machines, game_files, with_other_game, capfd
):
    with tasks() as doer:
        made = in_order(doer, task_work.first_line_of, [(GAME_FILE, n) for n in range(20)])
    assert made == ["# 0"] * 20
    assert f"its {GAME_FILE} has the SHA-256" in capfd.readouterr().err


def test_a_job_whose_game_file_is_another_one_there_is_not_begun(machines, game_files, tmp_path):
    ray, log = session.load(), tmp_path / "log"
    environment = driver_files.environment_for({GAME_FILE: "0" * 64})
    job = ClusterProcess(ray, Refusals(ray), 1, ["lanista", "games"], log, environment)
    with pytest.raises(LanistaError, match=rf"its {GAME_FILE} has .* the driver's 000000000000"):
        job.wait()
    assert not log.exists()


def test_nobody_listens_beyond_this_machine(machines):
    processes = [pid for pid, _ in marked(machines.mark)]
    assert len(processes) > 5
    sockets = subprocess.run(["ss", "-ltnp"], capture_output=True, text=True, check=True).stdout
    lines = [line for line in sockets.splitlines() for pid in processes if f"pid={pid}," in line]
    assert lines
    loopback = ("127.0.0.1:", "[::1]:", "[::ffff:127.0.0.1]:")
    assert all(line.split()[3].startswith(loopback) for line in lines), lines


def test_who_has_another_token_does_not_get_in(machines, tmp_path):
    token = tmp_path / "token"
    token.write_text("0" * 64)
    environment = {**machines.environment, "RAY_AUTH_TOKEN_PATH": str(token)}
    words = ["roundrobin", "beastybar", "--matches", "2", "--cluster", machines.address]
    done = subprocess.run(
        [sys.executable, "-m", "lanista", *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"lanista: The cluster '{machines.address}' cannot be joined")
    assert "token" in last


def test_a_cluster_of_the_tests_is_not_the_one_that_auto_finds(machines, monkeypatch):
    assert latest_cluster() == machines.address  # In the folder of its own that it was given.
    monkeypatch.delenv("RAY_TMPDIR")
    assert latest_cluster() != machines.address


def test_tasks_of_a_cluster_are_done_as_in_a_loop(machines, tmp_path):
    with tasks() as doer:
        arguments = [(n, str(tmp_path)) for n in range(5)]
        assert in_order(doer, task_work.square, arguments) == [n * n for n in range(5)]
        with pytest.raises(RefusedError, match=r"5 is refused\."):
            list(doer.each(task_work.refuse, [(5,)]))
    assert (tmp_path / "died").exists()


def test_arrays_that_tasks_are_given_and_give_can_be_written(machines):
    with tasks() as doer:
        (result,) = in_order(doer, task_work.add_one, [(np.zeros(200_000),)])
    result += 1
    assert (result == 2).all()
