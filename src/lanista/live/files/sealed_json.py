"""Small JSON files that vouch for themselves: a changed bit is refused, never believed.

Format 2 holds a SHA-256 of all the rest; format 1, which did not, is still read. Knows nothing of
what the files say.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError

FORMAT = 2
_WITHOUT_CHECK = 1
MOST_BYTES = 1 << 16


class SealError(LanistaError):
    """A file is not what was written; says why, not which file."""


def sealed(value: dict[str, Any]) -> str:
    """Return a JSON object as the text of a file that vouches for itself."""
    body = value | {"format": FORMAT}
    return json.dumps(body | {"check": _check(body)}, sort_keys=True) + "\n"


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the object in a file; refuse one that is not what was written.

    `FileNotFoundError` where there is none.
    """
    try:
        return parse_sealed(_bytes(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SealError("it cannot be read, or is not JSON") from error


def parse_sealed(data: bytes) -> dict[str, Any]:
    """Return the object in the bytes of a file; refuse those that are not what was written."""
    if len(data) > MOST_BYTES:
        raise SealError("it is not a small JSON object")
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SealError("it cannot be read, or is not JSON") from error
    if not isinstance(value, dict):
        raise SealError("it is not a small JSON object")
    form, check = value.get("format"), value.pop("check", None)
    if type(form) is not int or form not in (FORMAT, _WITHOUT_CHECK):
        raise SealError(f"it is of no format that is read, which are 1 to {FORMAT}")
    if check != (_check(value) if form == FORMAT else None):
        raise SealError("it is damaged, or was changed by hand: its check does not fit")
    del value["format"]
    return value


def _check(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _bytes(path: Path) -> bytes:
    # Without waiting for the writer of a pipe that somebody put there.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise SealError("it is not a file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
    finally:
        os.close(handle)
    return data
