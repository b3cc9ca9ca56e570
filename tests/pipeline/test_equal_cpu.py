"""A second run of each arm takes the CPU time of the one that others are held against."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.pipeline.equal_cpu import with_equal_cpu
from lanista.pipeline.experiment import Experiment, Job, jobs_of, load_experiment
from lanista.runs.folder import folder_of

TEXT = """
recipe: {game: kuhn, iterations: 120, evaluation: {every: 12}}
arms:
  plain:
  slow: {learning.lr: 0.5}
  short: {iterations: 40}
seeds: [1, 2, 3]
equal_cpu: plain
"""


def spend(job: Job, seconds: float, **more: float) -> None:
    """Leave a run that took so many CPU seconds, and half of them half way."""
    folder = folder_of(job.output)
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.execute("CREATE TABLE metrics (update_number INTEGER, name TEXT, value REAL)")
        numbers = {"cpu_seconds": seconds, "exact/nash_conv": 1.0, **more}
        for update, share in ((5, 0.5), (10, 1.0)):
            rows = [(update, name, value * share) for name, value in numbers.items()]
            database.executemany("INSERT INTO metrics VALUES (?, ?, ?)", rows)


def loaded(tmp_path: Path) -> tuple[Experiment, list[Job]]:
    (tmp_path / "some.yaml").write_text(TEXT)
    experiment = load_experiment(tmp_path / "some.yaml")
    return experiment, jobs_of(experiment, tmp_path / "out")


def test_iterations_are_scaled_by_the_median_of_what_was_spent(tmp_path: Path) -> None:
    experiment, jobs = loaded(tmp_path)
    seconds = {"plain": [6.0, 5.0, 60.0], "slow": [7.0, 8.0, 9.0], "short": [3.0, 3.0, 3.0]}
    for job in jobs:
        spend(job, seconds[job.arm][job.seed - 1])
    both = with_equal_cpu(experiment, jobs)
    assert list(both.arms) == ["plain", "slow", "short", "slow, equal CPU", "short, equal CPU"]
    settings = both.settings_of("slow, equal CPU", 1)
    assert (settings.iterations, settings.evaluation.every) == (90, 9)
    assert settings.learning.lr == 0.5
    settings = both.settings_of("short, equal CPU", 1)
    assert (settings.iterations, settings.evaluation.every) == (80, 24)
    assert [job.arm for job in jobs_of(both, tmp_path / "out")[:5]] == list(both.arms)


def test_a_run_that_counted_nothing_is_refused(tmp_path: Path) -> None:
    experiment, jobs = loaded(tmp_path)
    for job in jobs:
        spend(job, 0.0 if job.arm == "slow" else 1.0)
    with pytest.raises(LanistaError, match="Arm 'slow' has a run that did not count"):
        with_equal_cpu(experiment, jobs)


def test_decisions_of_the_main_are_all_there_are_without_a_league(tmp_path: Path) -> None:
    _, jobs = loaded(tmp_path)
    spend(jobs[0], 1.0, decisions=80.0)
    spend(jobs[1], 1.0, **{"decisions": 80.0, "main/decisions": 50.0})
    names = ("main_decisions", "decisions")
    for job, expected in ((jobs[0], (80.0, 80.0)), (jobs[1], (50.0, 80.0))):
        spent = job.curve("exact/nash_conv", names).looks[-1].x
        assert tuple(spent[name] for name in names) == expected
    assert list(jobs[1].curve("exact/nash_conv", ["cpu_seconds"]).looks[-1].x) == ["cpu_seconds"]


REAL = """
recipe:
  game: kuhn
  iterations: 4
  network: {width: 8, layers: 1}
  rollouts: {matches: 64}
  evaluation: {every: 2}
arms:
  plain: {}
  league: {league: {round: 2}}
seeds: [4]
x: [main_decisions, cpu_seconds]
equal_cpu: plain
"""


def test_the_command_runs_every_other_arm_twice_and_once_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "some.yaml").write_text(REAL)
    command = ["experiment", str(tmp_path / "some.yaml"), "--output", str(tmp_path / "out")]
    assert main(command) == 0
    assert "3 of 3 runs done" in capsys.readouterr().out
    table = (tmp_path / "out" / "table.md").read_text()
    rows = [line.split("|")[1].strip() for line in table.splitlines()]
    assert rows[2:] == ["plain", "league", "league, equal CPU"]
    assert main(command) == 0
    assert "3 runs, 3 of them done before." in capsys.readouterr().err
