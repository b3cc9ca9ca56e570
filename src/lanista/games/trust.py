"""Which Python files may run, and which words a file may not bring in by itself.

Python runs with all rights of whoever starts it. It runs here if the user named the file on the
command line, or ran exactly these bytes before, or says `--trust`. What was allowed is remembered
by SHA-256 in a file of the user's own, outside of every run's folder, so that a folder cannot
vouch for itself. A program that uses this package as a library names files itself; only what comes
out of a folder is checked there. Knows nothing of games and of what the files hold.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lanista.errors import RefusedError
from lanista.foreign import is_digest, read_regular
from lanista.games import driver_files

LIST = "LANISTA_TRUST_FILE"
"""Names the list of what was allowed, in place of the usual one."""
VOUCHED = "LANISTA_VOUCHED"
"""What a command hands to the processes that it starts: `--trust`, and digests."""
MOST_PYTHON = 1 << 22
_MOST_LIST = 1 << 26


@dataclass
class _Guard:
    """What this process may run without asking; `words` are those of its command line."""

    on: bool = False
    trusting: bool = False
    words: tuple[str, ...] = ()
    vouched: set[str] = field(default_factory=set)


def _inherited() -> _Guard:
    inherited = os.environ.get(VOUCHED)
    if inherited is None:
        return _Guard()
    vouched = {word for word in inherited.split() if is_digest(word)}
    return _Guard(True, "--trust" in inherited.split(), (), vouched)


_guard = _inherited()


def inherit() -> None:
    """Take what may run from the environment, in a process that was told of it after its start."""
    global _guard
    _guard = _inherited()


@contextmanager
def guarding(words: Sequence[str], *, trusting: bool = False) -> Iterator[None]:
    """Meanwhile let no Python file run but what the user names in `words`, or allowed before.

    Processes that are started meanwhile are told.
    """
    global _guard
    before, inherited = _guard, os.environ.get(VOUCHED)
    vouched = before.vouched | {sha256(data) for data in _python_named(words)}
    _guard = _Guard(True, trusting or before.trusting, tuple(words), vouched)
    _tell_processes()
    try:
        yield
    finally:
        _guard = before
        if inherited is None:
            os.environ.pop(VOUCHED, None)
        else:
            os.environ[VOUCHED] = inherited


def sha256(data: bytes) -> str:
    """Return the digest by which a Python file is known."""
    return hashlib.sha256(data).hexdigest()


def is_trusting() -> bool:
    """Return whether the user said `--trust`."""
    return _guard.trusting


def refuse_python(path: Path, data: bytes, *, foreign: bool = False) -> None:
    """Refuse Python that is about to run, unless the user allowed it.

    `foreign`: it lies in a folder that may come from elsewhere, so a library asks too.
    """
    driver_files.refuse_other(path, data)
    if not (_guard.on or foreign):
        return
    digest = sha256(data)
    refuse_digest(path, digest)
    if digest in _guard.vouched:
        remember(digest, str(path))
    elif not _listed(digest):
        _say(f"{path}, SHA-256 {digest}, is run as --trust says.")
        remember(digest, str(path))


def refuse_digest(path: Path, digest: str) -> None:
    """Refuse a Python file by the digest that it is recorded with, before it is opened."""
    if not (digest in _guard.vouched or _listed(digest) or _guard.trusting):
        raise RefusedError(
            f"{path} is a Python file, SHA-256 {digest[:12]}, which would run with all your "
            "rights, and you have not run it here before; read it, then name it on the "
            "command line or add --trust."
        )


def refuse_word(word: str, why: str) -> None:
    """Refuse a word out of a file that a command acts on, unless the user typed or allowed it."""
    if _guard.on and not word_allowed(word):
        raise RefusedError(f"{why}; give it yourself on the command line, or add --trust.")


def word_allowed(word: str) -> bool:
    """Return whether the user typed a word, allowed it before, or trusts everything."""
    if any(word in typed for typed in _guard.words):
        remember(_of_word(word), word)
        return True
    if _of_word(word) in _guard.vouched or _listed(_of_word(word)):
        return True
    if _guard.trusting:
        remember(_of_word(word), word)
    return _guard.trusting


def remember_word(word: str) -> None:
    """Allow a word from now on: the user began a run with it."""
    remember(_of_word(word), word)


def remember(digest: str, note: str) -> None:
    """Allow what has this digest from now on, here and in processes started from here."""
    if digest not in _guard.vouched:
        _guard.vouched.add(digest)
        if _guard.on:
            _tell_processes()
    path = list_path()
    try:
        if _listed(digest):
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        plain = re.sub(r"[^\x20-\x7e]", "?", note)[:500]
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write(f"{digest} {plain}\n".encode())  # One write: processes may do so at once.
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        _say(f"{path} cannot be written ({why}), so later commands will ask for --trust.")


_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def list_path() -> Path:
    """Return where the user's list of what was allowed lies."""
    if custom_path := os.environ.get(LIST):
        return Path(custom_path)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "lanista" / "trusted.txt"


def _listed(digest: str) -> bool:
    path = list_path()
    try:
        status = path.stat()
    except OSError:
        return False
    if hasattr(os, "getuid") and (
        status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise RefusedError(
            f"{path} says which Python files may run, and others than you can write it; remove "
            "it, or make it yours alone with chmod 600."
        )
    lines = read_regular(path, _MOST_LIST, "list of trusted files").splitlines()
    return any(line[:64] == digest.encode() and line[64:65] in (b"", b" ") for line in lines)


def _of_word(word: str) -> str:
    return sha256(b"word\0" + word.encode("utf-8", "surrogatepass"))


def _tell_processes() -> None:
    trusting = ["--trust"] if _guard.trusting else []
    os.environ[VOUCHED] = " ".join([*trusting, *sorted(_guard.vouched)])


def _python_named(words: Sequence[str]) -> Iterator[bytes]:
    """Give the bytes of every Python file that words name: alone, in a list, or after `=`."""
    whole = {text for word in words for text in (word, word.partition("=")[2])}
    pieces = {piece for word in words for piece in re.split(r"[,=\[\]{}\"'\s]+", word)}
    for piece in sorted(whole | pieces):
        stem, dot, rest = piece.rpartition(".py")
        if dot and (not rest or rest[0] == ":") and Path(f"{stem}.py").is_file():
            yield read_regular(Path(f"{stem}.py"), MOST_PYTHON, "Python file")


def _say(sentence: str) -> None:
    print(f"lanista: {sentence}", file=sys.stderr, flush=True)
