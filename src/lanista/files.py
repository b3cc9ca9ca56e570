"""The one way to write a file, and a folder that is whole or not there.

A reader sees the old file or the new one, never a part: the bytes go to a temporary name in the
same folder, reach the disk, and take the final name in one step. Where a user named the path, the
writer says of what kind the file is, and nothing is replaced but an earlier file of that kind.
Knows nothing of formats.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lanista.errors import LanistaError, RefusedError

UNFINISHED = ".part"
"""What the names of unfinished files and folders end in; whoever reads folders passes them over."""
# Ends so that no reader's `*.suffix` pattern matches it, and names its writer, so that only what a
# dead writer left behind is ever removed. The number alone would not do: in a container a process
# has the same one after every restart.
_TEMPORARY = re.compile(r"^\.tmp-(\d+)-([0-9a-f]{8})[0-9a-f]{8}\.part$")
_RUN = secrets.token_hex(4)


@dataclass(frozen=True)
class Kind:
    """What a command makes of a path that its user names."""

    description: str
    """In words, as in "the numbers of `lanista play`"."""
    mark: bytes | None = None
    """A pattern that every such file holds near its start; None: no file is ever replaced."""
    within: int = 4096
    """How many bytes are searched for the mark."""

    def made(self, path: Path) -> bool:
        """Whether a regular file is of this kind."""
        if self.mark is None:
            return False
        with path.open("rb") as file:
            return re.search(self.mark, file.read(self.within)) is not None


def refuse_other(path: str | Path, kind: Kind) -> None:
    """Refuse a path at which something stands that must not be replaced by a file of this kind."""
    path = Path(path)
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISDIR(mode):
        raise LanistaError(f"{str(path)!r} is a folder; name a file.")
    if stat.S_ISLNK(mode):
        raise RefusedError(
            f"{str(path)!r} is a link to {str(path.readlink())!r}, and nothing is written through "
            "links; name another file."
        )
    if not stat.S_ISREG(mode):
        raise RefusedError(f"{str(path)!r} is {_odd(mode)}, not a regular file; name another file.")
    if not kind.made(path):
        other = "" if kind.mark is None else f" and is not {kind.description}"
        raise RefusedError(
            f"{str(path)!r} exists{other}, so it is not overwritten; name another file, or move it "
            "away."
        )


def _odd(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


@contextmanager
def replacing(path: str | Path, kind: Kind | None = None) -> Iterator[BinaryIO]:
    """Open a file that takes the name `path` when the block ends well, and vanishes otherwise.

    With a `kind`, only a file of that kind is replaced, and none that appears meanwhile.
    """
    path = Path(path)
    if kind is not None:
        refuse_other(path, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _take_name(temporary, path, kind)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _take_name(temporary: Path, path: Path, kind: Kind | None) -> None:
    if kind is not None:
        refuse_other(path, kind)
        if not os.path.lexists(path):
            try:
                os.link(temporary, path)  # Fails where somebody took the name since the look.
            except FileExistsError:
                refuse_other(path, kind)
            except OSError:
                pass  # A file system without hard links: the look must do.
            else:
                temporary.unlink()
                return
    temporary.replace(path)


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


def write_bytes(path: str | Path, data: bytes, kind: Kind | None = None) -> None:
    """Write `data` to `path`, whole or not at all."""
    with replacing(path, kind) as file:
        file.write(data)


def write_text(path: str | Path, text: str, kind: Kind | None = None) -> None:
    """Write `text` to `path` as UTF-8, whole or not at all."""
    write_bytes(path, text.encode("utf-8"), kind)


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
