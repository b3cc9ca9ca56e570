"""Small tasks, found by other processes by their import path."""

import os
import signal
from pathlib import Path

from lanista.errors import RefusedError


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


def add_one(array):
    """Add one to an array in place, and return it."""
    array += 1
    return array
