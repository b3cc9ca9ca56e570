"""Whether a path that the user named can serve, asked before the work is done."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lanista.errors import LanistaError
from lanista.text import quoted

_LONGEST_NAME = 220
"""In bytes: what lies beside a file, FILE.run or FILE.json and their unfinished selves, has a
longer name, and 255 are the most that file systems take."""


def refuse_unwritable(flag: str, file: Path) -> None:
    """Refuse a file that cannot be written; its folder is made if it is not there."""
    if file.is_dir():
        raise LanistaError(f"{flag} is {str(file)!r}, which is a folder; name a file.")
    if len(os.fsencode(file.name)) > _LONGEST_NAME or not file.name.isprintable():
        raise LanistaError(
            f"{flag} ends in {quoted(file.name)}; give a name of {_LONGEST_NAME} bytes at most "
            "that can be printed."
        )
    refuse_unwritable_folder(flag, file.parent)


def refuse_unwritable_folder(flag: str, folder: Path) -> None:
    """Refuse a folder that nothing can be written into; it is made if it is not there."""
    with _refusing(flag, folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass


def refuse_unreachable(flag: str, folder: Path) -> None:
    """Refuse a folder that cannot be made or written into; nothing is made yet."""
    nearest = folder.absolute()
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    with _refusing(flag, folder), tempfile.TemporaryFile(dir=nearest):
        pass


@contextmanager
def _refusing(flag: str, folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower().rstrip(".")
        raise LanistaError(
            f"{flag} cannot write into {str(folder)!r}: {why}; choose another folder."
        ) from error


def refuse_file(folder: Path) -> None:
    """Refuse a file where a policy folder is meant; what is not there yet is let pass."""
    if folder.exists() and not folder.is_dir():
        raise LanistaError(f"{str(folder)!r} is a file, and no folder; name a policy folder.")
