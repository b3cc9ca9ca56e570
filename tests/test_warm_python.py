"""A process that was forked with everything imported behaves like one that was started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import warm_python

SHOW = """
import json, os, sys
print(json.dumps([sys.argv, __name__, os.getcwd(), os.environ.get("ASKED"), sys.stdin.read()]))
print("aside", file=sys.stderr)
sys.exit(7)
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Unix has fork")


def test_words_folder_environment_streams_and_code_are_those_of_a_started_process(
    tmp_path: Path,
) -> None:
    (tmp_path / "program.py").write_text(SHOW)
    for command in (["-c", SHOW, "a"], ["program.py", "b"], ["-m", "program", "c"]):
        how: dict[str, Any] = {
            "cwd": tmp_path, "env": os.environ | {"ASKED": "yes"}, "input": "told",
            "capture_output": True, "text": True,
        }  # fmt: skip
        forked, started = (
            run([sys.executable, *command], **how) for run in (warm_python.run, subprocess.run)
        )
        assert (forked.returncode, forked.stdout, forked.stderr) == (
            started.returncode, started.stdout, started.stderr,
        )  # fmt: skip
        assert (forked.returncode, forked.stderr) == (7, "aside\n")


@pytest.mark.parametrize(
    ("code", "end", "words"),
    [
        ("print(1)", 0, ""),
        ("import sys; sys.exit('Refused.')", 1, "Refused.\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt\n"),
        ("import atexit, sys; atexit.register(sys.stderr.write, 'last')", 0, "last"),
        ("import os; os._exit(9)", 9, ""),
    ],
)
def test_it_ends_as_a_started_process_does(code: str, end: int, words: str) -> None:
    for run in (warm_python.run, subprocess.run):
        done: Any = run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == end
        assert done.stderr.endswith(words)


def test_it_can_be_signalled_killed_and_waited_for() -> None:
    wait = "import time; print('ready', flush=True); time.sleep(600)"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        command = [sys.executable, "-c", wait]
        with warm_python.Popen(command, stdout=-1, stderr=-1, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            assert process.poll() is None
            process.send_signal(number)
            assert process.wait() == -number == process.poll()


def test_one_that_takes_too_long_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        warm_python.run([sys.executable, "-c", "import time; time.sleep(600)"], timeout=0.01)


def test_what_a_process_changes_is_not_seen_by_the_next() -> None:
    change = "import os, lanista; lanista.marked = True; os.environ['MARKED'] = '1'"
    warm_python.run([sys.executable, "-c", change], check=True)
    look = "import os, lanista; print(hasattr(lanista, 'marked'), 'MARKED' in os.environ)"
    done = warm_python.run([sys.executable, "-c", look], capture_output=True, text=True)
    assert done.stdout == "False False\n"
