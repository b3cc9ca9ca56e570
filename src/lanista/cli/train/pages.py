"""The pages of `lanista view` beside a run: a process of their own that ends with it.

Nothing that goes wrong here stops the run.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 10.0
"""Seconds that the end of the server is waited for."""
_COMMAND = (
    "import sys; from lanista.pipeline.experiment import leave_with_parent; leave_with_parent(); "
    "from lanista.cli.main import main; sys.exit(main())"
)


@contextmanager
def pages_beside(folder: Path, wanted: bool = True) -> Iterator[None]:
    """Serve a folder while the block runs, and print the address."""
    process = _started(folder) if wanted else None
    try:
        yield
    finally:
        if process is not None:
            _end(process)


def _started(folder: Path) -> subprocess.Popen[str] | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, "view", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
    except OSError as error:
        print(f"There are no pages beside it: {error.strerror or error}.", flush=True)
        return None
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    print(line or "There are no pages beside it: `lanista view` did not start.", flush=True)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    with suppress(OSError):
        process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
