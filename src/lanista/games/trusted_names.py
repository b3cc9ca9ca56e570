"""The one allow-list of games that a file may name: a policy, a replay, a record of live games.

Such a file is data. Its word may pick a game that is installed, and nothing that needs code from
elsewhere, a path or a parameter. Knows nothing of the files.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from lanista.errors import RefusedError
from lanista.games import registry, trust
from lanista.games.contract import GameError
from lanista.text import quoted

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,100}")
# Without parameters: they can name files, or ask for boards larger than the memory. Other
# families are not let in, since their word can be a module to import.
_OPENSPIEL = re.compile(r"openspiel:[a-z0-9_]{1,100}")


def installed_name(name: str, source: str = "a file") -> str:
    """Return the name of a game in `source` if it is one that needs no code from elsewhere."""
    if _PLAIN.fullmatch(name):
        if name not in registry.names():
            raise GameError(
                f"its game {quoted(name)} is not installed; install it, or name its file with "
                "--game, as my_game.py."
            )
        return name
    if _OPENSPIEL.fullmatch(name):
        return name
    # Whoever trained on it here has typed it, and is not asked again.
    if ":" in name and not registry.is_python_file(name) and trust.word_allowed(name):
        return name
    raise GameError(
        f"its game {quoted(name)} is not plainly an installed one, and {source} is not believed "
        "about code to load; give the game yourself with --game, or add --trust."
    )


def policy_game(name: str, python: str, digest: str, folder: Path) -> str:
    """Return the game of a policy in `folder`; `python` is the file that the game came from.

    That file is looked for where it was, and then beside the policy. Unless these bytes ran before,
    it is not even opened.
    """
    if not registry.is_python_file(python):
        return installed_name(name, "a policy")
    trust.refuse_digest(registry.python_path(python), digest)
    for word in (python, str(folder / Path(python).name)):
        path = registry.python_path(word)
        if path.is_file():
            trust.refuse_python(path, registry.python_bytes(path), foreign=True)
            return word
    raise GameError(
        f"its game {quoted(name)} came from the Python file {quoted(python, 120)}, which is not "
        "there; give that file with --game."
    )


def refuse_settings(
    name: str,
    settings: Mapping[str, Any],
    chosen_by_user: Container[str] = (),
    *,
    remedy: str = "--set",
) -> None:
    """Refuse settings out of a file that name a path or ask for processes.

    Those `chosen_by_user`, and those of a run that the user began here, are let through.
    """
    declared = registry.entry(name).settings
    for key, value in settings.items():
        allowed = declared[key].in_files if key in declared else None
        if allowed is None or key in chosen_by_user or value in allowed:
            continue
        if not trust.word_allowed(setting_word(name, key, value)):
            raise GameError(
                f"its setting {key} is {quoted(value, 120)}, which a file may not choose; give it "
                f"yourself with {remedy} {key}=VALUE, or add --trust."
            )


def refuse_foreign(name: str, recorded_digest: str | None, where: object) -> None:
    """Refuse the game that a run's folder names, unless it is the user's own or trusted.

    `recorded_digest` is that of the game's Python file when the run began; None: none was recorded.
    """
    if not registry.is_python_file(name):
        return
    path = registry.python_path(name)
    data = registry.python_bytes(path)
    digest = trust.sha256(data)
    if recorded_digest is not None and digest != recorded_digest:
        raise RefusedError(
            f"{where} was begun with a game file of the SHA-256 {recorded_digest[:12]}, and {path} "
            f"has {digest[:12]}; put that file back."
        )
    trust.refuse_python(path, data, foreign=True)


def setting_word(game: str, key: str, value: object) -> str:
    """Return the word under which a setting of a run is remembered."""
    return f"{game} with {key}={value}"


def remember_run(name: str, settings: Mapping[str, Any]) -> None:
    """Allow from now on what a run that begins depends on: its game's file, word and settings."""
    if digest := registry.file_digest(name):
        trust.remember(digest, name)
        return
    if ":" in name and not _OPENSPIEL.fullmatch(name):
        trust.remember_word(name)
    declared = registry.entry(name).settings
    for key, value in settings.items():
        allowed = declared[key].in_files if key in declared else None
        if allowed is not None and value not in allowed:
            trust.remember_word(setting_word(name, key, value))
