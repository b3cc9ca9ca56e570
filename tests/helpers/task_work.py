"""Small tasks, found by other processes by their import path."""

import os
import signal
import time
from pathlib import Path

from lanista.errors import RefusedError
from lanista.games.registry import entry


def square(number, folder=None):
    """Return the square; in a folder, whoever comes first for 3 dies."""
    if folder is not None and number == 3:
        mark = Path(folder) / "died"
        if not mark.exists():
            mark.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def refuse(number):
    raise RefusedError(f"{number} is refused.")


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


def where():
    return str(Path.cwd()), os.environ.get("LANISTA_CLUSTER"), os.environ.get("LANISTA_TOLD")


def slow_square(number):
    time.sleep(0.1)
    return number * number


def first_line_of(game, number):
    """Return the remark in a game's file, after it ran; machines of tests have other folders."""
    time.sleep(0.1)
    os.chdir(os.environ.get("LANISTA_TEST_FOLDER", "."))
    entry(game)
    return Path(game).read_text().splitlines()[1]


def add_one(array):
    """Add one to an array in place, and return it."""
    array += 1
    return array
