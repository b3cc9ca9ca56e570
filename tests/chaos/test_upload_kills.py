"""Each game of a bot elsewhere takes effect once, wherever the bot or the server is killed."""

import json
import sys
from pathlib import Path

import pytest
import warm_python

PROGRAM = Path(__file__).with_name("kill_uploads.py")


def kill(folder, kills):
    done = warm_python.run(
        [sys.executable, PROGRAM, folder, str(kills)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a Unix signal")
@pytest.mark.parametrize("kills", [8, pytest.param(80, marks=pytest.mark.slow)])
def test_killed_between_two_steps_of_an_upload_no_game_is_lost_or_counts_twice(kills, tmp_path):
    outcome = kill(tmp_path, kills)
    assert outcome["unreached"] == []
    assert outcome["kills"] == kills
    assert outcome["applied"] == outcome["games"] == 3 * kills
