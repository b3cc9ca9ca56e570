"""Freed memory that is kept: an update's pages are there for the next one."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

FAULTS = """
import resource
import sys
import threading
import numpy as np
from lanista.learn.update.malloc import keep_freed_memory
if sys.argv[1] == "keep" and not keep_freed_memory():
    sys.exit("unsupported")
def again():
    for _ in range(3):
        parts = [np.ones(1 << 18) for _ in range(48)]
        del parts
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        parts = [np.ones(1 << 18) for _ in range(48)]
        del parts
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
if sys.argv[2] == "thread":
    threading.Thread(target=again).start()
else:
    again()
"""


def faults(how: str, where: str) -> int:
    """Return how many pages a process had to ask for again while it repeated itself."""
    done = subprocess.run(
        [sys.executable, "-c", FAULTS, how, where], capture_output=True, text=True
    )
    if "unsupported" in done.stderr:
        pytest.skip("This C library cannot be told to keep memory.")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("where", ["main", "thread"])
def test_kept_memory_is_not_asked_for_again(where: str) -> None:
    pages_of_one_round = 48 * (1 << 21) // resource.getpagesize()
    assert faults("keep", where) < pages_of_one_round / 10
