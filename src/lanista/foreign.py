"""What may be opened of files and folders that came from elsewhere, and where a digest may lead.

Asked before anything is read: a pipe would wait for ever, a link can lead anywhere, and a digest
out of a database is a part of a path. Knows nothing of what the files hold.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from lanista.errors import LanistaError, RefusedError

_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_digest(value: object) -> bool:
    """Return whether a value is a SHA-256 as this program writes it: 64 lower-case hex digits."""
    return type(value) is str and _DIGEST.fullmatch(value) is not None


def checked_digest(value: object) -> str:
    """Return a digest that is about to become a file's name; refuse whatever else it is."""
    if type(value) is str and is_digest(value):
        return value
    raise RefusedError(
        f"{value!r:.80} stands where a digest should, which has 64 digits of 0-9 and a-f; what "
        "holds it is damaged or was tampered with: put back a copy."
    )


def read_regular(path: Path, most: int, kind: str = "file") -> bytes:
    """Return the bytes of a regular file of at most `most` bytes."""
    try:
        # Without O_NONBLOCK the opening of a pipe waits for a writer, and what is asked before it
        # may not be what is opened.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise LanistaError(f"There is no {kind} {str(path)!r}.") from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise LanistaError(f"{str(path)!r} is no regular file; name a {kind}.")
        data = file.read(most + 1)
    if len(data) > most:
        raise LanistaError(f"The {kind} {str(path)!r} has more than {most:,} bytes.")
    return data


def refuse_unsafe_folder(folder: Path) -> None:
    """Refuse a folder that holds a link out of itself, a pipe, a socket or a device.

    The folder itself may be named by a link: that is the user's own word. Links to places inside
    are followed.
    """
    if not folder.is_dir():
        return
    home = folder.resolve()
    for place, folders, files in os.walk(home):
        for name in (*folders, *files):
            _refuse_unsafe(Path(place, name), home)


def _refuse_unsafe(path: Path, home: Path) -> None:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            target = path.resolve()
            if not target.is_relative_to(home):
                raise RefusedError(
                    f"{path} is a link that leads out of {home}, to {target}; nothing was read: "
                    "remove the link, or put the file itself there."
                )
        elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise RefusedError(f"{path} is a pipe, a socket or a device, and no file; remove it.")
    except FileNotFoundError:
        return  # Somebody at work in the folder has replaced or removed it.
    except (OSError, RuntimeError) as error:
        if isinstance(error, LanistaError):
            raise
        raise RefusedError(f"{path} cannot be looked at: {error}; remove it.") from error
