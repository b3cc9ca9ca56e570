"""Bots in Python files: `file.py`, or `file.py:Class` where a file has several.

A bot's digest is that of its file's bytes and its class. What the file imports or reads is not in
the digest. Whether a file may run is trust.py's business. Knows nothing of runs and seats.
"""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

from lanista.errors import LanistaError, nearest
from lanista.foreign import read_regular
from lanista.games import driver_files, registry, trust
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
    return kept_bot(word, spec, seed)[0]


def kept_bot(word: str, spec: Spec, seed: int) -> tuple[Player, bytes]:
    """Return the bot in `file.py` or `file.py:Class`, and the bytes it was made of."""
    path, class_name = split_word(word)
    data = _python(path)
    kinds = _kinds(path, data)
    if not kinds:
        raise LanistaError(f"{path} has no bot; write a class of lanista.games.PythonBot in it.")
    if class_name and class_name not in kinds:
        raise LanistaError(f"{path} has no bot {class_name!r}; {nearest(class_name, kinds)}")
    if not class_name and len(kinds) != 1:
        raise LanistaError(f"{path} has {len(kinds)} classes of PythonBot; name one: {path}:CLASS.")
    name = class_name or next(iter(kinds))
    return _sealed(kinds[name], _digest(data, name))(spec, seed), data


def bot_with_digest(path: Path, digest: str, spec: Spec, seed: int, name: str) -> Player | None:
    """Return the bot of a kept file that has this digest, under `name`; None where there is none.

    The file may come from elsewhere, so nothing of it runs before its digest and the user's leave
    are known, and then exactly the bytes that were looked at.
    """
    data = _python(path)
    own = next((word for word in _class_names(data) if _digest(data, word) == digest), None)
    if own is None:
        return None
    kind = _kinds(path, data, foreign=True).get(own)
    if kind is None:
        return None
    player = _sealed(kind, digest)(spec, seed)
    player.name = name
    return player


def _python(path: Path) -> bytes:
    if not path.is_file():
        driver_files.refuse_other(path, None)
        raise LanistaError(f"There is no bot file {str(path)!r}.")
    return read_regular(path, trust.MOST_PYTHON, "bot file")


def _class_names(data: bytes) -> list[str]:
    """Return what may be a class's name in Python source, without running it."""
    try:
        nodes = list(ast.walk(ast.parse(data)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    classes = [node.name for node in nodes if isinstance(node, ast.ClassDef)]
    # As in `type("Name", ...)`.
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [*classes, *(text for text in texts if isinstance(text, str) and text.isidentifier())]


def _kinds(path: Path, data: bytes, *, foreign: bool = False) -> dict[str, Kind]:
    """Return the bots written in a file, by class name."""
    module = registry.run_python(path, data, foreign=foreign)
    return {
        kind.__name__: kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, PythonBot)
        and kind.__module__ == module.__name__
    }


def _digest(data: bytes, name: str) -> str:
    return hashlib.sha256(data + b"\0" + name.encode()).hexdigest()


def _sealed(kind: Kind, digest: str) -> Kind:
    # Not `version`: an author who edits a file rarely remembers to move a number in it.
    return type(kind.__name__, (kind,), {"digest": digest, "__module__": kind.__module__})
