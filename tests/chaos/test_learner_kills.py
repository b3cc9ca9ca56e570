"""Each live game takes effect exactly once, however often and wherever the learner is killed."""

import json
import sys
from pathlib import Path

import pytest
import warm_python

PROGRAM = Path(__file__).with_name("kill_learners.py")


def kill(folder, producers, games, broken, repeated, kills):
    numbers = map(str, (producers, games, broken, repeated, kills))
    done = warm_python.run(
        [sys.executable, PROGRAM, folder, *numbers], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a Unix signal")
def test_killed_learner_applies_each_game_once(tmp_path):
    found = kill(tmp_path, 4, 25, 4, 8, 8)
    assert found["applied"] == 4 * 25 - 4
    assert found["bad"] == 4
    assert found["random"] + found["writes"] == 8


@pytest.mark.slow
def test_a_learner_killed_sixty_times_applies_each_of_two_thousand_games_once(tmp_path):
    found = kill(tmp_path, 4, 500, 40, 80, 60)
    assert found["applied"] == 1960
    assert found["bad"] == 40
    assert found["random"] + found["writes"] == 60
    assert found["kinds"] >= 10
    assert found["published"] >= 1
