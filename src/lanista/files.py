"""The one way to write a file, and a folder that is whole or not there.

A reader sees the old file or the new one, never a part: the bytes go to a temporary name in the
same folder, reach the disk, and take the final name in one step. Knows nothing of formats.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

UNFINISHED = ".part"
"""What the names of unfinished files and folders end in; whoever reads folders passes them over."""
# Ends so that no reader's `*.suffix` pattern matches it, and names its writer, so that only what a
# dead writer left behind is ever removed. The number alone would not do: in a container a process
# has the same one after every restart.
_TEMPORARY = re.compile(r"^\.tmp-(\d+)-([0-9a-f]{8})[0-9a-f]{8}\.part$")
_RUN = secrets.token_hex(4)


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file that takes the name `path` when the block ends well, and vanishes otherwise."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


@contextmanager
def filling(folder: str | Path) -> Iterator[Path]:
    """Give a folder to fill; what is in it takes the name `folder` when the block ends well.

    `folder` must not be there, or be empty. Where the block fails, or leaves nothing in it, nothing
    is there either.
    """
    folder = Path(folder).absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder.parent)
    temporary = _temporary(folder)
    temporary.mkdir()
    try:
        yield temporary
        if any(temporary.iterdir()):
            temporary.replace(folder)
            _sync_folder(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _temporary(path: Path) -> Path:
    return path.parent / f".tmp-{os.getpid()}-{_RUN}{secrets.token_hex(4)}{UNFINISHED}"


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write `data` to `path`, whole or not at all."""
    with replacing(path) as file:
        file.write(data)


def write_text(path: str | Path, text: str) -> None:
    """Write `text` to `path` as UTF-8, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def remove_leftovers(folder: str | Path) -> int:
    """Remove what writers that run no longer left unfinished in `folder`; return how much."""
    removed = 0
    for path in Path(folder).glob(".tmp-*.part"):
        match = _TEMPORARY.match(path.name)
        if match and not _writing(int(match[1]), match[2]):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            removed += 1
    return removed


def _writing(process: int, run: str) -> bool:
    return run == _RUN if process == os.getpid() else _running(process)


def _running(process: int) -> bool:
    if os.name == "nt":
        return True  # Asking would signal the process there; leave the file alone.
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # It runs, and belongs to somebody else.
    return True


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot open a folder, and makes a rename durable by itself.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
