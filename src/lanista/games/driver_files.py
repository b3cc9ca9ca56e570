"""Python files of games and bots, where a machine works for another one: their bytes must be equal.

Who sends work says which files ran there and with which digests; whoever does it compares before
such a file runs. Knows nothing of games and of how the work is sent.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path

from lanista.errors import UnfitMachineError

FILES = "LANISTA_PYTHON_FILES"
"""What processes that work for a driver are told: by path, the digests of the files that ran."""
_ran: dict[str, str] = {}


def note(path: Path, data: bytes) -> None:
    """Remember what ran in this process."""
    _ran[str(path)] = _digest(data)


def environment_for(files: Mapping[str, str]) -> dict[str, str]:
    """Return what tells other processes of files, by path with their digests."""
    return {FILES: json.dumps(dict(files))}


def ran_here() -> dict[str, str]:
    """Return the files that ran here, and those that this process itself was told of."""
    return {**_told(os.environ), **_ran}


def existing(paths: Iterable[Path]) -> dict[str, str]:
    """Return those of the files that are there, with their digests."""
    return {str(path): _digest(path.read_bytes()) for path in paths if path.is_file()}


def refuse_other(path: Path, data: bytes | None) -> None:
    """Refuse to run a file that is another one than the driver's; `data` None: it is missing."""
    if sentence := _unlike(path, data, _told(os.environ).get(str(path))):
        raise UnfitMachineError(sentence)


def first_unlike(folder: Path, environment: Mapping[str, str]) -> str:
    """Return why this machine may not work in a folder with these files; nothing: it may."""
    for name, wanted in _told(environment).items():
        path = folder / name
        data = path.read_bytes() if path.is_file() else None
        if sentence := _unlike(Path(name), data, wanted):
            return sentence
    return ""


def _unlike(path: Path, data: bytes | None, wanted: str | None) -> str:
    here = f"Machine {platform.node()} is refused: "
    if wanted is None:
        return ""
    if data is None:
        return f"{here}it has no file {path.absolute()}, which the driver has; copy it there."
    if (digest := _digest(data)) == wanted:
        return ""
    return (
        f"{here}its {path} has the SHA-256 {digest[:12]}, and the driver's {wanted[:12]}; copy "
        "the driver's there."
    )


def _told(environment: Mapping[str, str]) -> dict[str, str]:
    files: dict[str, str] = json.loads(environment.get(FILES, "{}"))
    return files


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
