"""Brings the simulator: `lanista showdown install`, or this module run by itself.

Runs `npm ci` on our lock file in a folder of the user, once for each lock file, and finds Node.
Knows nothing of battles.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from lanista.errors import LanistaError
from lanista.files import write_bytes, write_text
from lanista.games.contract import GameError
from lanista.lock import holding
from lanista.text import without_controls

PLACE = "LANISTA_SHOWDOWN"
"""An environment variable: the folder in which the simulator is, or shall be, installed."""
OLDEST_NODE = 20
PATIENCE = 600.0
"""How many seconds to wait for another process that is installing."""
COMMAND = "lanista showdown install"
# Without the last two npm would compile databases that only a public server needs.
NPM = ("npm", "ci", "--no-audit", "--no-fund", "--omit=optional", "--ignore-scripts")
LISTS = ("package.json", "package-lock.json")
HERE = Path(__file__).parent


def place() -> Path:
    """Return the folder of the simulator, there or not."""
    custom_folder = os.environ.get(PLACE)
    return (
        Path(custom_folder)
        if custom_folder
        else Path(sys.prefix) / "share" / "lanista" / "showdown"
    )


def find() -> Path:
    """Return the folder of the installed simulator."""
    folder = place()
    if not _is_current(folder):
        raise GameError(f"The Showdown simulator is not in {folder}; run: {COMMAND}")
    return folder


def playing_files() -> tuple[Path, list[Path]]:
    """Return the installed simulator's folder and its files that decide a battle."""
    folder = find() / "node_modules" / "pokemon-showdown" / "dist"
    places = [path for part in ("sim", "data", "lib") for path in (folder / part).rglob("*")]
    return folder, sorted(path for path in places if path.suffix in (".js", ".json"))


def find_node() -> str:
    """Return the path of Node."""
    node = shutil.which("node")
    if node is None:
        raise GameError(_missing("Node.js"))
    return node


def install() -> Path:
    """Install the simulator unless it is there already; return its folder."""
    folder = place()
    if _is_current(folder):
        return folder
    for program, name in (("node", "Node.js"), ("npm", "npm")):
        if shutil.which(program) is None:
            raise GameError(_missing(name))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with holding(folder, "Showdown installation", patience=PATIENCE):
            if not _is_current(folder):
                _fetch(folder)
    except OSError as error:
        raise GameError(
            f"The Showdown simulator cannot be installed in {folder} ({error.strerror}); set "
            f"{PLACE} to a folder that can be written."
        ) from error
    return folder


def _fetch(folder: Path) -> None:
    for name in LISTS:
        write_bytes(folder / name, (HERE / name).read_bytes())
    done = subprocess.run(NPM, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        error_lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        why = error_lines[0].strip() if error_lines else f"exit code {done.returncode}"
        raise GameError(f"npm could not install the Showdown simulator in {folder}: {why}")
    write_text(_stamp(folder), _wanted())


def _is_current(folder: Path) -> bool:
    stamp = _stamp(folder)
    return stamp.is_file() and stamp.read_text() == _wanted()


def _stamp(folder: Path) -> Path:
    # Inside, so that it goes when npm begins by removing what is there.
    return folder / "node_modules" / ".lanista"


def _wanted() -> str:
    return hashlib.sha256((HERE / LISTS[1]).read_bytes()).hexdigest()


def _missing(name: str) -> str:
    return (
        f"{name} is not installed, and Showdown runs on it; install Node.js {OLDEST_NODE} or newer "
        "with npm, on Debian with: apt-get install nodejs npm"
    )


def installed() -> str:
    """Install unless that is done, and return the sentence that says where."""
    return f"The Showdown simulator is in {install()}."


def main() -> int:
    """Install and say where."""
    try:
        print(installed())
    except LanistaError as error:
        print(without_controls(str(error)), file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
