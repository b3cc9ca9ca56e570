"""A whole pipeline that is killed anywhere ends in the same tables and weights, bit for bit."""

import json
import sys
from pathlib import Path

import pytest
import warm_python

PROGRAM = Path(__file__).with_name("kill_pipelines.py")


def kill(how, folder, *numbers):
    done = warm_python.run(
        [sys.executable, PROGRAM, how, folder, *map(str, numbers)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kills", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_killed_at_random_moments_a_pipeline_ends_as_if_never_killed(kills, tmp_path):
    assert kill("random", tmp_path, kills, 1)["kills"] == kills


@pytest.mark.parametrize(("step", "kills"), [(150, 3), pytest.param(75, 5, marks=pytest.mark.slow)])
def test_killed_at_certain_writes_a_pipeline_ends_as_if_never_killed(step, kills, tmp_path):
    # These fall into the stages that write most.
    found = kill("calls", tmp_path, 50, 500, step)
    assert found["kills"] >= kills
    assert {"imitate", "rl", "league"} <= {*found["stages"]}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 4))
def test_killed_at_thirty_random_moments_a_pipeline_ends_as_if_never_killed(seed, tmp_path):
    assert kill("random", tmp_path, 30, seed)["kills"] == 30


@pytest.mark.slow
def test_killed_at_writes_of_every_stage_a_pipeline_ends_as_if_never_killed(tmp_path):
    found = kill("calls", tmp_path, 1, 560, 7)
    assert found["kills"] > 60
    assert {"record", "imitate", "rl", "league", "evaluate", "report"} <= {*found["stages"]}
