"""Bots in Python files: `file.py`, or `file.py:Class` where a file has several.

A bot's digest is that of its file's bytes and its class. What the file imports or reads is not in
the digest. Knows nothing of runs and seats.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from lanista.errors import LanistaError, nearest
from lanista.games import registry
from lanista.games.bots import Player, PythonBot
from lanista.games.contract import Spec

Kind = type[PythonBot]


def is_bot_file(word: str) -> bool:
    """Return whether `word` is written as a bot in a Python file."""
    return word.endswith(".py") or ".py:" in word


def split_word(word: str) -> tuple[Path, str]:
    """Return the file and the class that `word` names; the class is empty where none is named."""
    stem, _, name = word.rpartition(".py")
    return Path(f"{stem}.py"), name.removeprefix(":")


def bot_from_file(word: str, spec: Spec, seed: int) -> Player:
    """Return the bot in `file.py` or `file.py:Class`; its digest is that of the file's bytes."""
    path, wanted = split_word(word)
    kinds = _kinds(path)
    if not kinds:
        raise LanistaError(f"{path} has no bot; write a class of lanista.games.PythonBot in it.")
    if wanted and wanted not in kinds:
        raise LanistaError(f"{path} has no bot {wanted!r}; {nearest(wanted, kinds)}")
    if not wanted and len(kinds) != 1:
        raise LanistaError(f"{path} has {len(kinds)} classes of PythonBot; name one: {path}:CLASS.")
    kind = kinds[wanted] if wanted else next(iter(kinds.values()))
    return _sealed(kind, _digest(path.read_bytes(), kind))(spec, seed)


def bot_with_digest(path: Path, digest: str, spec: Spec, seed: int, name: str) -> Player | None:
    """Return the bot of a file that has this digest, under `name`; None where there is none."""
    data = path.read_bytes()
    for kind in _kinds(path).values():
        if _digest(data, kind) == digest:
            player = _sealed(kind, digest)(spec, seed)
            player.name = name
            return player
    return None


def _kinds(path: Path) -> dict[str, Kind]:
    """Return the bots written in a file, by class name."""
    if not path.is_file():
        raise LanistaError(f"There is no bot file {str(path)!r}.")
    module = registry.load_file(path)
    return {
        kind.__name__: kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, PythonBot)
        and kind.__module__ == module.__name__
    }


def _digest(data: bytes, kind: Kind) -> str:
    return hashlib.sha256(data + b"\0" + kind.__name__.encode()).hexdigest()


def _sealed(kind: Kind, digest: str) -> Kind:
    # Not `version`: an author who edits a file rarely remembers to move a number in it.
    return type(kind.__name__, (kind,), {"digest": digest, "__module__": kind.__module__})
