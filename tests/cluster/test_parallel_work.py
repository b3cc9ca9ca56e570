"""Every kind of work that goes to a cluster comes to what it comes to without one.

Commands are given here and on two machines, each a raylet with one core; files are compared.
"""

import json
import sys
from importlib.util import find_spec

import pytest
import yaml
from pipeline_recipes import TINY
from pipeline_runs import KUHN, last_state, metrics, same, same_run

from lanista.cli.main import main
from lanista.cluster import session
from lanista.pipeline.experiment import jobs_of, load_experiment, run_jobs
from lanista.pipeline.job_processes import starter_of
from lanista.pipeline.recipe import EVALUATION
from lanista.runs.folder import folder_of

if sys.platform == "win32":
    pytest.skip("forks processes", allow_module_level=True)

CLOCKS = ("cpu_seconds", "wall_seconds", "seconds")
EXPERIMENT = {
    "recipe": {**KUHN, "checkpoints": {"save_every": 4, "keep_last": 2}},
    "arms": {"plain": {}, "narrow": {"network.width": 8}},
    "seeds": [1, 2],
    "metric": "evaluation/score",
}


@pytest.fixture(scope="module")
def machines():
    if find_spec("ray") is None or sys.platform != "linux":
        pytest.skip("needs ray and /proc")
    from ray_machines import driving, ray_machines

    with ray_machines(2) as cluster, driving(cluster):
        yield cluster
    assert cluster.leftover() == []


@pytest.fixture(params=["local", "ray"])
def place(request):
    """Return what --cluster is given."""
    return "local" if request.param == "local" else request.getfixturevalue("machines").address


@pytest.fixture(autouse=True)
def _nothing_in_tasks_unless_asked(monkeypatch):
    monkeypatch.delenv(session.CLUSTER, raising=False)


def numbers(path):
    """Return a file of numbers without its clocks."""

    def timeless(value):
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if k not in CLOCKS}
        return [timeless(item) for item in value] if isinstance(value, list) else value

    return timeless(json.loads(path.read_text()))


def tree(folder):
    """Return the bytes of all files by their path below a folder."""
    files = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for name, path in files.items()}


def give(*words):
    assert main([str(word) for word in words]) == 0


def test_a_gauntlet_on_two_machines(machines, tmp_path):
    words = ["evaluate", "outcome", "--game", "beastybar", "--opponents", "random,queue,skunk"]
    words += ["--games", "40"]
    give(*words, "--output", tmp_path / "plain.json")
    give(*words, "--output", tmp_path / "spread.json", "--cluster", machines.address)
    assert numbers(tmp_path / "plain.json") == numbers(tmp_path / "spread.json")


def test_a_round_robin_on_two_machines(machines, tmp_path):
    words = ["roundrobin", "beastybar", "--bots", "random,queue,skunk", "--matches", "40"]
    give(*words, "--json", tmp_path / "plain.json")
    give(*words, "--json", tmp_path / "spread.json", "--cluster", machines.address)
    assert numbers(tmp_path / "plain.json") == numbers(tmp_path / "spread.json")


def test_a_recording(place, tmp_path):
    words = ["play", "beastybar", "--seats", "random,outcome", "--matches", "60"]
    give(*words, "--record", tmp_path / "plain")
    give(*words, "--record", tmp_path / "spread", "--cluster", place)
    plain, spread = tree(tmp_path / "plain"), tree(tmp_path / "spread")
    assert plain
    assert plain == spread


def recorded(folder):
    """Record matches into several files, among them one in which nobody wanted decides."""
    for seed, seats in ((1, "heuristic,random"), (2, "random,skunk"), (3, "outcome,heuristic")):
        give("play", "beastybar", "--seats", seats, "--matches", "20", "--seed", seed,
             "--record", folder)  # fmt: skip
    return folder


def test_a_clone_of_recorded_matches(place, tmp_path):
    words = ["imitate", "--data-dir", recorded(tmp_path / "data"), "--epochs", "2", "--cpu"]
    words += ["--player", "heuristic,outcome", "--size", "s", "--evaluation-matches", "0"]
    give(*words, "--output", tmp_path / "plain" / "clone.safetensors")
    give(*words, "--output", tmp_path / "spread" / "clone.safetensors", "--cluster", place)
    plain, spread = (tmp_path / side / "clone.safetensors" for side in ("plain", "spread"))
    assert plain.read_bytes() == spread.read_bytes()
    one, other = (numbers(path.with_name(f"{path.name}.json")) for path in (plain, spread))
    paths = ("policy", "settings")
    assert {**one, **dict.fromkeys(paths)} == {**other, **dict.fromkeys(paths)}


def test_what_is_wrong_with_a_recording_is_said_alike(tmp_path, capsys):
    folder = recorded(tmp_path / "data")
    words = ["imitate", "--data-dir", folder, "--output", tmp_path / "clone.safetensors", "--cpu"]
    file = sorted(folder.rglob("*.gz"))[1]
    good = file.read_bytes()
    said = []
    for faults in ("broken", "another game", "nobody"):
        if faults == "broken":
            file.write_bytes(good[: len(good) // 2])
        elif faults == "another game":
            file.write_bytes(good)
            give("play", "kuhn", "--seats", "random,random", "--matches", "4", "--record", folder)
        else:
            words = [*words, "--player", "nobody"]
            for kuhn in folder.glob("kuhn*"):
                kuhn.unlink()
        capsys.readouterr()
        for more in ([], ["--cluster", "local"]):
            assert main([str(word) for word in [*words, *more]]) == 2
            said.append(capsys.readouterr().err)
    assert said[0] == said[1]
    assert file.name in said[0]
    assert said[2] == said[3]
    assert "kuhn" in said[2]
    assert said[4] == said[5]
    assert "nobody" in said[4]


def test_best_responses_to_two_bots(place, tmp_path):
    words = ["exploit", "random,queue", "--game", "beastybar", "--train-steps", "300", "--points"]
    words += ["2", "--games", "40", "--selection-games", "20", "--cpu"]
    give(*words, "--output", tmp_path / "plain")
    give(*words, "--output", tmp_path / "spread", "--cluster", place)
    for victim in ("random", "queue"):
        plain, spread = (tmp_path / side / f"{victim}.safetensors" for side in ("plain", "spread"))
        assert plain.read_bytes() == spread.read_bytes()
        one, other = (numbers(path.with_name(f"{path.name}.json")) for path in (plain, spread))
        assert one == other


def experiment(folder, **changes):
    file = folder / "compare.yaml"
    file.write_text(yaml.safe_dump({**EXPERIMENT, **changes}))
    return file


def alone(job, folder):
    """Do a run of an experiment in this process; return its policy's file."""
    output = folder / job.arm / job.output.name
    output.parent.mkdir(parents=True, exist_ok=True)
    give("rl", "--config", job.config, "--output", output)
    return output


def test_arms_and_seeds_of_an_experiment_on_two_machines(machines, tmp_path):
    file, folder = experiment(tmp_path), tmp_path / "out"
    give("experiment", file, "--output", folder, "--cluster", machines.address)
    jobs = jobs_of(load_experiment(file), folder)
    assert [job.state for job in jobs] == ["done"] * 4
    assert all(same_run(job.output, alone(job, tmp_path / "alone")) for job in jobs)


def without_the_clusters(output):
    return [row for row in metrics(output) if not row[1].startswith("cluster/")]


def test_a_recipe_on_two_machines(machines, tmp_path):
    file = tmp_path / "tiny.yaml"
    evaluate = {"opponents": ["random", "rl"], "games": 40}
    file.write_text(yaml.safe_dump({**TINY, "stages": {**TINY["stages"], "evaluate": evaluate}}))
    words = ["run", file, "--set", "stages.rl.rollouts.workers=2"]
    give(*words, "--output-dir", tmp_path / "plain")
    give(*words, "--output-dir", tmp_path / "spread", "--cluster", machines.address)
    plain, spread = tmp_path / "plain", tmp_path / "spread"
    assert tree(plain / "data") == tree(spread / "data")
    for name in ("imitation.safetensors", "rl.safetensors"):
        assert (plain / name).read_bytes() == (spread / name).read_bytes()
    ours, theirs = plain / "rl.safetensors", spread / "rl.safetensors"
    assert same(last_state(ours), last_state(theirs))
    assert metrics(ours) == without_the_clusters(theirs)
    assert {value for _, name, value in metrics(theirs) if name == "cluster/machines"} == {2.0}
    assert numbers(plain / EVALUATION) == numbers(spread / EVALUATION)


def commands_below(pid):
    """Return the commands of all that a process started, and of what these started."""
    from ray_machines import children, command

    return [text for child in children(pid) for text in (command(child), *commands_below(child))]


def machine_of(job, machines):
    """Return the number of the machine on which a run of an experiment goes on; None: on none."""
    config = str(job.config)
    for number, raylet in machines.raylets.items():
        if any(config in command for command in commands_below(raylet)):
            return number
    return None


@pytest.mark.slow
def test_a_run_of_an_experiment_whose_machine_is_killed_goes_on_elsewhere(machines, tmp_path):
    file = experiment(tmp_path, recipe={**EXPERIMENT["recipe"], "iterations": 150}, seeds=[1])
    jobs = jobs_of(load_experiment(file), tmp_path / "out")
    machines.add()  # Afterwards there are as many as before.
    killed = []

    def watch():
        job, saved = jobs[0], folder_of(jobs[0].output) / "checkpoints"
        if not killed and any(path.name.isdigit() for path in saved.glob("*")):
            number = machine_of(job, machines)
            assert (job.state, number is None) == ("running", False)
            killed.append(number)
            machines.kill(number)

    with session.using(machines.address):
        starter = starter_of(1)
    run_jobs(jobs, tmp_path / "out", at_once=2, watch=watch, start=starter.start)
    assert killed
    assert [job.state for job in jobs] == ["done"] * 2
    assert all(same_run(job.output, alone(job, tmp_path / "alone")) for job in jobs)
