"""Experiments: what a file says, and that kills, failures and restarts lose and double nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from lanista.cli.main import main
from lanista.errors import LanistaError, RefusedError
from lanista.games.driver_files import FILES
from lanista.league.population import Population
from lanista.pipeline import experiment as module
from lanista.pipeline.experiment import Experiment, Job, jobs_of, load_experiment, run_jobs
from lanista.report.comparison import read_lines
from lanista.runs.settings import apply_overrides, load_settings
from lanista.training.loops import loop_of

STAND_IN = Path(__file__).parents[1] / "helpers" / "stand_in_run.py"
RECIPES = Path(__file__).parents[2] / "recipes" / "experiments"
TEXT = """
recipe: {game: kuhn, iterations: 5, learning: {lr: 0.25}}
arms:
  plain:
  fast: {learning.lr: 0.5}
seeds: [1, 2]
"""


def load(tmp_path: Path, text: str = TEXT) -> module.Experiment:
    file = tmp_path / "some.yaml"
    file.write_text(text)
    return load_experiment(file)


def make_jobs(tmp_path: Path, text: str = TEXT, *flags: str) -> list[Job]:
    """Return the jobs of an experiment, with the stand-in for the real command."""
    jobs = jobs_of(load(tmp_path, text), tmp_path / "out")
    for job in jobs:
        job.program = (sys.executable, str(STAND_IN), *flags)
    return jobs


def started(job: Job) -> str:
    """Return a line for each time the job was started: its process, and when."""
    return (job.folder / f"{job.output.name}.run" / "starts").read_text()


def starts(job: Job) -> int:
    return len(started(job).splitlines())


def test_arms_and_seeds_are_put_into_the_recipe(tmp_path: Path) -> None:
    found = load(tmp_path)
    assert [(job.arm, job.seed) for job in jobs_of(found, tmp_path / "out")] == [
        ("plain", 1), ("fast", 1), ("plain", 2), ("fast", 2),
    ]  # fmt: skip
    plain, fast = found.settings_of("plain", 1), found.settings_of("fast", 2)
    assert (plain.seed, plain.learning.lr) == (1, 0.25)
    assert (fast.seed, fast.learning.lr, fast.iterations) == (2, 0.5, 5)


def test_a_run_goes_on_after_its_recipe_has_named_a_mark() -> None:
    before = Experiment(recipe=load_settings({"game": "kuhn"}), arms={"a": {}})
    after = Experiment(recipe=load_settings({"game": "kuhn", "mark": "score>=0.6"}), arms={"a": {}})
    assert after.settings_of("a", 1) == before.settings_of("a", 1)


def test_an_arm_with_a_league_does_not_ask_after_the_recipes_mark() -> None:
    recipe = load_settings({"game": "kuhn", "mark": "score>=0.6"})
    league = Experiment(recipe=recipe, arms={"a": {"league": {}}})
    assert league.settings_of("a", 1).league is not None


def test_a_run_whose_database_has_no_tables_yet_has_made_no_progress(tmp_path: Path) -> None:
    job = make_jobs(tmp_path)[0]
    database = job.folder / f"{job.output.name}.run" / "run.db"
    database.parent.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as opened:
        opened.execute("PRAGMA journal_mode = WAL")
    assert job.progress("score") == (0, None)


def test_a_recipe_may_be_a_file_beside_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("game: leduc\niterations: 7\n")
    found = load(tmp_path, "recipe: base.yaml\narms: {one: {}}\n")
    assert found.settings_of("one", 3).iterations == 7


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("arms: {a: {}}", "needs the keys recipe and arms"),
        ("- 1", "needs the keys recipe and arms"),
        ("recipe: {}\narms: {}", "at least one arm"),
        ("recipe: {}\narms: {a: {}}\nseeds: [1, 1]", "names one twice"),
        ("recipe: {}\narms: {../a: {}}", "cannot name a folder"),
        ("recipe: {}\narms: {a: {}}\nsedes: [1]", "did you mean 'seeds'"),
        ("recipe: {gane: kuhn}\narms: {a: {}}", "did you mean 'game'"),
        ("recipe: {}\narms: {a: {learning.lrr: 1}}", "Arm 'a'.*did you mean 'learning.lr'"),
        ("recipe: nowhere\narms: {a: {}}", "nowhere"),
        ("recipe: {}\narms: {a: {}}\nmetric: 3", "metric is 3; give a text"),
        ("recipe: {}\narms: {plain: {}}\nequal_cpu: plane", "no arm; did you mean 'plain'"),
        ("recipe: [", "is no YAML"),
    ],
)
def test_what_cannot_be_an_experiment_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(LanistaError, match=sentence) as caught:
        load(tmp_path, text)
    assert "some.yaml" in str(caught.value)


@pytest.mark.parametrize("file", sorted(RECIPES.glob("*.yaml")), ids=lambda file: str(file.stem))
def test_every_experiment_that_comes_along_can_be_read(file: Path) -> None:
    found = load_experiment(file)
    assert len(found.seeds) == 5
    assert all(found.settings_of(arm, 1).evaluation.every for arm in found.arms)
    same = {found.settings_of(arm, 1).game for arm in found.arms}
    assert len(same) == 1


ARMS = [
    (file, arm) for file in sorted(RECIPES.glob("*.yaml")) for arm in load_experiment(file).arms
]


@pytest.mark.parametrize(("file", "arm"), ARMS, ids=[f"{f.stem}-{arm}" for f, arm in ARMS])
def test_every_arm_that_comes_along_learns(file: Path, arm: str) -> None:
    settings = load_experiment(file).settings_of(arm, 1)
    settings = apply_overrides(settings, ["rollouts.matches=32", "threads=1"])
    population = Population(settings, Path(), loop_of(settings))
    population.enter(population.first_rows())
    population.meet(population.matchmake())
    learner = population.main.learner
    before = {name: weights.clone() for name, weights in learner.policy.state_dict().items()}
    for _ in range(2):
        list(population.main.iterate())
    after = learner.policy.state_dict()
    assert any((after[name] != weights).any() for name, weights in before.items())


@pytest.mark.parametrize("at_once", [1, 2])
def test_no_more_run_at_once_than_asked_and_all_are_done(tmp_path: Path, at_once: int) -> None:
    jobs = make_jobs(tmp_path)
    run_jobs(jobs, tmp_path / "out", at_once=at_once)
    began = [float(started(job).split()[1]) for job in jobs]
    ended = [float(job.output.read_text()) for job in jobs]
    for moment in began:
        assert sum(b <= moment < e for b, e in zip(began, ended, strict=True)) <= at_once
    assert [job.state for job in jobs] == ["done"] * 4
    fast = jobs[1].curve("exact/nash_conv", ["decisions", "cpu_seconds"])
    assert [look.value for look in fast.looks] == [0.5 + 1 / n for n in (1, 2, 3, 4, 5)]
    assert fast.looks[-1].x == {"decisions": 50.0, "cpu_seconds": 0.5}


def test_a_run_is_told_the_digests_of_the_python_files_that_it_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cards.py").write_text("# A game.\n")
    Path("first.py").write_text("# A bot.\n")
    opponents = ["self", "random", "first.py:First", "gone.py"]
    settings = load_settings({"game": "cards.py:Cards", "rollouts": {"opponents": opponents}})
    given: dict[str, str] = {}

    def start(command: object, log: Path, environment: dict[str, str], lock: int) -> Any:
        given.update(environment)

    Job("plain", 1, settings, tmp_path).start(0, start)
    assert json.loads(given[FILES]) == {
        name: hashlib.sha256(Path(name).read_bytes()).hexdigest()
        for name in ("cards.py", "first.py")
    }


def test_what_is_done_is_not_run_again(tmp_path: Path) -> None:
    run_jobs(make_jobs(tmp_path), tmp_path / "out", at_once=4)
    again = make_jobs(tmp_path)
    assert [job.state for job in again] == ["done"] * 4
    run_jobs(again, tmp_path / "out", at_once=4)
    assert [starts(job) for job in again] == [1] * 4
    # A new seed joins those that are done.
    more = make_jobs(tmp_path, TEXT.replace("[1, 2]", "[1, 2, 3]"))
    assert [job.state for job in more] == ["done"] * 4 + ["waiting"] * 2


def test_a_failure_is_told_and_stops_nobody_else(tmp_path: Path) -> None:
    text = TEXT.replace("[1, 2]", "[13, 1]")
    jobs = make_jobs(tmp_path, text)
    run_jobs(jobs, tmp_path / "out", at_once=2)
    assert [job.state for job in jobs] == ["failed", "failed", "done", "done"]
    assert jobs[0].why == "exit code 1: The deck is not shuffled."
    again = make_jobs(tmp_path, text)
    run_jobs(again, tmp_path / "out", at_once=2)
    assert [job.state for job in again] == ["done"] * 4
    assert [starts(job) for job in again] == [2, 2, 1, 1]
    assert len(again[0].curve("exact/nash_conv", []).looks) == 5


def test_a_killed_job_goes_on_where_it_was(tmp_path: Path) -> None:
    text = TEXT.replace("[1, 2]", "[99]").replace("  fast: {learning.lr: 0.5}\n", "")
    (job,) = make_jobs(tmp_path, text)

    def kill_after_three() -> None:
        if job.progress("exact/nash_conv")[0] >= 3 and job.process:
            job.process.kill()

    run_jobs([job], tmp_path / "out", at_once=1, watch=kill_after_three)
    assert job.state == "failed"
    assert job.why.startswith("signal 9")
    reached = job.progress("exact/nash_conv")[0]
    (again,) = make_jobs(tmp_path, text)
    assert "--resume" in again.command()

    def kill_when_further() -> None:
        if again.progress("exact/nash_conv")[0] > reached and again.process:
            again.process.kill()

    run_jobs([again], tmp_path / "out", at_once=1, watch=kill_when_further)
    assert f"begins after update {reached}" in again.log.read_text()


def test_interrupted_jobs_save_and_wait_for_the_next_start(tmp_path: Path) -> None:
    jobs = make_jobs(tmp_path, TEXT.replace("[1, 2]", "[99]"))

    def interrupt() -> None:
        if all(job.progress("exact/nash_conv")[0] for job in jobs):
            raise KeyboardInterrupt

    processes = []

    def watch() -> None:
        processes.extend(job.process for job in jobs if job.process not in processes)
        interrupt()

    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs, tmp_path / "out", at_once=2, watch=watch)
    assert [job.state for job in jobs] == ["waiting", "waiting"]
    assert [process.returncode for process in processes if process] == [130, 130]


def test_other_settings_than_a_run_began_with_are_refused(tmp_path: Path) -> None:
    run_jobs(make_jobs(tmp_path), tmp_path / "out", at_once=4)
    with pytest.raises(RefusedError, match=r"learning.lr = 0.25 and now has 0.75"):
        make_jobs(tmp_path, TEXT.replace("lr: 0.25", "lr: 0.75"))


def test_two_processes_do_not_work_on_one_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELD_SECONDS", 0.0)
    with module.held(tmp_path), pytest.raises(RefusedError, match="Another process"):
        run_jobs([], tmp_path, at_once=1)
    run_jobs([], tmp_path, at_once=1)


def alive(process: int) -> bool:
    """Return whether a process runs; one that ended and was not asked after does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")
def test_no_job_outlives_a_killed_experiment(tmp_path: Path) -> None:
    text = TEXT.replace("[1, 2]", "[99]")
    (tmp_path / "some.yaml").write_text(text)
    script = textwrap.dedent(
        f"""
        import sys
        from pathlib import Path
        from lanista.pipeline.experiment import jobs_of, load_experiment, run_jobs
        folder = Path({str(tmp_path)!r})
        jobs = jobs_of(load_experiment(folder / "some.yaml"), folder / "out")
        for job in jobs:
            job.program = (sys.executable, {str(STAND_IN)!r}, "--attended")
        run_jobs(jobs, folder / "out", at_once=2)
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", script])
    found: list[Path] = []
    while len(found) < 2:
        assert parent.poll() is None
        found = list(tmp_path.glob("out/*/*.run/starts"))
        time.sleep(0.05)
    children = [int(file.read_text().split()[0]) for file in found]
    assert all(map(alive, children))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    # Whoever comes next waits for the folder, so it begins when the last of them is gone.
    with module.held(tmp_path / "out"):
        assert not any(map(alive, children))
    assert [job.state for job in make_jobs(tmp_path, text)] == ["waiting", "waiting"]


REAL = """
title: Kuhn, quickly
recipe:
  game: kuhn
  iterations: 6
  network: {width: 8, layers: 1}
  rollouts: {matches: 16, unroll_length: 4}
  evaluation: {every: 2}
  checkpoints: {save_every: 2}
  device: cpu
arms:
  ppo: {learning.lr: 0.01}
  broken: {learning.critic_sees: privileged, game: nowhere}
seeds: [4]
beside: [peers.jsonl]
"""


def test_the_command_runs_compares_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "some.yaml").write_text(REAL)
    peer: dict[str, Any] = {"arm": "CFR+", "seed": 0, "exact/nash_conv": 0.01, "cpu_seconds": 2.0}
    lines = [{"commit": "abc"}, {**peer, "update": 2, "decisions": None}]
    (tmp_path / "peers.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    folder = tmp_path / "out"
    code = main(["experiment", str(tmp_path / "some.yaml"), "--output", str(folder)])
    said = capsys.readouterr()
    assert code == 1
    assert "failed: broken, seed 4: exit code 2: lanista: There is no game 'nowhere'" in said.out
    assert "1 of 2 runs done" in said.out
    results = json.loads((folder / "results.json").read_text())
    looks = results["arms"]["ppo"]["seeds"][0]["looks"]
    assert [look["update"] for look in looks] == [2, 4, 6]
    assert all(0 < look["value"] < 1 for look in looks)
    assert results["arms"]["CFR+"]["summary"]["median"] == 0.01
    assert results["arms"]["broken"]["summary"] is None
    assert "| ppo | 1 |" in (folder / "table.md").read_text()
    assert "<svg" in (folder / "plot.svg").read_text()
    assert not list(folder.rglob("*.part"))


@pytest.mark.parametrize(
    ("peer", "sentence"), [("", "cannot be read"), ("ppo", "has an arm 'ppo'")]
)
def test_measurements_that_cannot_be_shown_beside_are_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], peer: str, sentence: str
) -> None:
    (tmp_path / "some.yaml").write_text(REAL)
    if peer:
        line = {"arm": peer, "seed": 0, "update": 1, "exact/nash_conv": 1.0}
        (tmp_path / "peers.jsonl").write_text(json.dumps(line))
    folder = tmp_path / "out"
    assert main(["experiment", str(tmp_path / "some.yaml"), "--output", str(folder)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(folder.iterdir())


def test_the_examples_in_the_docs_are_what_they_say(tmp_path: Path) -> None:
    text = (RECIPES.parents[1] / "docs" / "guides" / "experiments.md").read_text()
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    found = load(tmp_path, example)
    assert list(found.arms) == ["no magnet", "magnet"]
    assert "magnet" in found.settings_of("magnet", 1).learning.terms
    keys = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert keys == [entry.name for entry in fields(module.Experiment) if entry.name in keys]
    assert len(keys) == len(fields(module.Experiment))
    (axes,) = re.findall(r"^\| `x` \|.*: (.*); the first", text, re.MULTILINE)
    assert re.findall(r"`(\w+)`", axes) == list(get_args(module.Axis))
    (line,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (tmp_path / "peers.jsonl").write_text(line)
    assert list(read_lines(tmp_path / "peers.jsonl", "exact/nash_conv", [])) == ["CFR+ (OpenSpiel)"]


def test_a_number_nobody_measured_is_said_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TEXT + "metric: exact/nashconv\n"
    (tmp_path / "some.yaml").write_text(text)
    run_jobs(make_jobs(tmp_path, text), tmp_path / "out", at_once=4)
    main(["experiment", str(tmp_path / "some.yaml"), "--output", str(tmp_path / "out")])
    assert "did you mean 'exact/nash_conv'?" in capsys.readouterr().out


@pytest.mark.slow
def test_a_killed_experiment_ends_with_the_numbers_of_an_unbroken_one(tmp_path: Path) -> None:
    text = REAL.replace("iterations: 6", "iterations: 300").replace("beside: [peers.jsonl]\n", "")
    (tmp_path / "some.yaml").write_text(text.replace("  broken:", "  none: {}\n#"))

    def begin(folder: str) -> subprocess.Popen[bytes]:
        words = ["experiment", str(tmp_path / "some.yaml"), "--output", str(tmp_path / folder)]
        return subprocess.Popen([sys.executable, "-m", "lanista", *words])

    def numbers(folder: str) -> list[list[tuple[float, ...]]]:
        arms = json.loads((tmp_path / folder / "results.json").read_text())["arms"]
        looks = [arm["seeds"][0]["looks"] for arm in arms.values()]
        return [[(look["update"], look["value"], look["decisions"]) for look in x] for x in looks]

    assert begin("whole").wait() == 0
    killed = begin("killed")
    checkpoints = "killed/*/*.run/checkpoints/00*"
    while max([int(p.name) for p in tmp_path.glob(checkpoints)], default=0) < 20:
        assert killed.poll() is None
        time.sleep(0.02)
    killed.kill()
    killed.wait()
    assert begin("killed").wait() == 0
    assert numbers("killed") == numbers("whole")
    assert len(numbers("whole")[0]) == 150
