"""Lays out the folder in which a Showdown server runs.

The installed package is linked, not copied, so a folder costs kilobytes; what a server writes
(settings, logs, chat rooms) is its own. Knows nothing of processes.
"""

from __future__ import annotations

import json
from pathlib import Path

from lanista.errors import RefusedError
from lanista.files import write_text
from lanista.games.showdown.install import find

LINKED = ("dist", "server", "data", "translations", "package.json")
LINKED_DATABASES = ("schemas", "migrations")
OWN = ("logs/repl", "logs/chat", "logs/randbats", "config/chat-plugins", "databases")
ENVIRONMENT = {"NODE_PRESERVE_SYMLINKS": "1", "NODE_PRESERVE_SYMLINKS_MAIN": "1"}
"""With it the server takes the links' folder for its own and writes there."""

_CODE = (".js", ".mjs", ".cjs", ".ts", ".node")
_PROCESSES = ("network", "simulator", "validator")
_NO_PROCESSES = (
    *("verifier", "localartemis", "remoteartemis", "battlesearch", "datasearch", "friends"),
    *("chatdb", "pm", "modlog"),
)
SETTINGS = {
    # The default is every interface.
    "bindaddress": "127.0.0.1",
    # What chat and moderation would have processes for is done in the main one.
    "subprocesses": dict.fromkeys(_PROCESSES, 1) | dict.fromkeys(_NO_PROCESSES, 0),
    # Any name may be taken without a password, and nobody is slowed down.
    "noguestsecurity": True,
    "nothrottle": True,
    "noipchecks": True,
    # Nobody is asked about accounts; the default is a public address.
    "loginserver": "http://127.0.0.1:9/",
    "backdoor": False,
    "repl": False,
    "usesqlite": False,
    "watchconfig": False,
    "logchat": False,
}


def lay_out(folder: Path, *, keep_battles: bool = False) -> None:
    """Make `folder` ready for a server, whatever an earlier one left there.

    With `keep_battles` the server writes each challenge that ends, with all that was chosen, to
    `logs/YYYY-MM/FORMAT/YYYY-MM-DD/`.
    """
    installed = find().resolve() / "node_modules"
    package = installed / "pokemon-showdown"
    _refuse_foreign(folder)
    for own in OWN:
        (folder / own).mkdir(parents=True, exist_ok=True)
    _link(folder / "node_modules", installed)
    for name in LINKED:
        _link(folder / name, package / name)
    for name in LINKED_DATABASES:
        _link(folder / "databases" / name, package / "databases" / name)
    settings = {**SETTINGS, "logchallenges": keep_battles}
    lines = [f"exports.{name} = {json.dumps(value)};\n" for name, value in settings.items()]
    write_text(folder / "config" / "config.js", "".join(lines))
    (folder / "port").unlink(missing_ok=True)


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder in which a server would run what others left there, or write elsewhere."""
    for own in (*OWN, "logs", "config"):
        if (folder / own).is_symlink():
            raise RefusedError(
                f"{folder / own} is a link; a server's folder has its own: remove it."
            )
    for path in (folder / "config").rglob("*"):
        own_settings = path == folder / "config" / "config.js" and not path.is_symlink()
        if path.suffix.lower() in _CODE and not own_settings:
            raise RefusedError(
                f"{path} is code that the server would run, and none of ours; remove it, or name "
                "another --folder."
            )


def _link(link: Path, target: Path) -> None:
    """Make a link, in the place of one that an earlier installation left."""
    if link.is_symlink():
        link.unlink()
    link.symlink_to(target)
