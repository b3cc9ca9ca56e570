"""A run that is killed anywhere always loads, loses at most one save interval, leaves no litter."""

import json
import sys
from pathlib import Path

import pytest
import warm_python

PROGRAM = Path(__file__).with_name("kill_runs.py")


def kill(how, folder, *numbers):
    done = warm_python.run(
        [sys.executable, PROGRAM, how, folder, *map(str, numbers)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kills", [5, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_at_random_moments_a_run_always_loads(kills, tmp_path):
    assert kill("random", tmp_path, kills, 1, 0.6)["kills"] == kills


def test_killed_at_certain_writes_a_run_ends_as_if_never_killed(tmp_path):
    # A start makes about 20 such calls, a save about 12; these fall into each part of both.
    assert kill("calls", tmp_path, 3, 63, 9)["kills"] == 7


@pytest.mark.parametrize("kills", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_a_slim_stream_killed_at_random_moments_always_loads(kills, tmp_path):
    assert kill("slim-random", tmp_path, kills, 2, 0.6)["kills"] == kills


def test_a_slim_run_killed_at_certain_writes_ends_as_if_never_killed(tmp_path):
    # With files in parts a start makes 30 such calls, a save 35 to 45.
    assert kill("slim-calls", tmp_path, 5, 110, 21)["kills"] == 5


@pytest.mark.slow
def test_a_slim_run_killed_at_every_write_ends_as_if_never_killed(tmp_path):
    assert kill("slim-calls", tmp_path, 1, 120, 1)["kills"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_killed_at_fifty_random_moments_a_run_always_loads(seed, tmp_path):
    found = kill("random", tmp_path, 50, seed, 1.2)
    assert found["kills"] == 50
    assert found["reached"] > 100


@pytest.mark.slow
def test_killed_at_every_write_a_run_ends_as_if_never_killed(tmp_path):
    assert kill("calls", tmp_path, 1, 70, 1)["kills"] > 60
