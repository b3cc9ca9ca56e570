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


def test_killed_at_five_random_moments_a_run_always_loads(tmp_path):
    assert kill("random", tmp_path, 10, 1, 0.6)["kills"] == 10


def test_killed_at_certain_writes_a_run_ends_as_if_never_killed(tmp_path):
    # A start makes about 20 such calls, a save about 12; these fall into each part of both.
    assert kill("calls", tmp_path, 3, 63, 9)["kills"] == 7


def test_a_slim_stream_killed_at_random_moments_always_loads(tmp_path):
    assert kill("slim-random", tmp_path, 6, 2, 0.6)["kills"] == 6


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
