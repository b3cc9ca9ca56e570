"""The scripts that set everything up: what they run, in what order, and what they refuse."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
BOOTSTRAP = {"bash": "bootstrap.sh", "pwsh": "bootstrap.ps1"}
FAKE = """#!/bin/sh
[ "$1" = -c ] && exit {old}
[ "$1" = --version ] && echo Python 3.9.2 && exit 0
echo "$(basename "$0") $*" >> "{log}"
[ "$2" = venv ] && mkdir -p .venv/bin && cp "$0" .venv/bin/python && cp "$0" .venv/bin/lanista
exit 0
"""


def bootstrapped(shell: str, folder: Path, old: int) -> subprocess.CompletedProcess[str]:
    """Run a script in a copy of the tree's top, with a Python that only notes what it is to do."""
    if shutil.which(shell) is None or os.name == "nt":
        pytest.skip(f"there is no {shell} here")
    (folder / "tree" / "scripts").mkdir(parents=True)
    script = folder / "tree" / "scripts" / BOOTSTRAP[shell]
    shutil.copy(SCRIPTS / BOOTSTRAP[shell], script)
    python = folder / "snake"
    python.write_text(FAKE.format(old=old, log=folder / "log"))
    python.chmod(0o755)
    words = [shell, str(script)] + (["-Python", str(python)] if shell == "pwsh" else [])
    environment = {**os.environ, "PYTHON": str(python)}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("shell", BOOTSTRAP)
def test_it_makes_an_environment_installs_and_shows_the_games(shell: str, tmp_path: Path) -> None:
    done = bootstrapped(shell, tmp_path, old=0)
    assert done.returncode == 0, done.stderr
    steps = (tmp_path / "log").read_text().splitlines()
    assert steps == ["snake -m venv .venv", "python -m pip install .", "lanista games"]
    assert "Ready." in done.stdout


@pytest.mark.parametrize("shell", BOOTSTRAP)
def test_an_old_python_is_refused_before_anything_is_made(shell: str, tmp_path: Path) -> None:
    done = bootstrapped(shell, tmp_path, old=1)
    assert done.returncode != 0
    assert "Python 3.9.2 is too old; Lanista needs 3.11 or newer" in done.stderr
    assert not (tmp_path / "log").exists()


def test_both_scripts_run_the_same_commands() -> None:
    shell, power = ((SCRIPTS / name).read_text(encoding="utf-8") for name in BOOTSTRAP.values())
    steps = [" ".join(re.findall(r'"([^"]+)"', line)) for line in re.findall(r"@\((.+)\)", power)]
    assert steps == ["-m venv .venv", "-m pip install .", "games"]
    positions = [shell.index(step) for step in steps]
    assert positions == sorted(positions)
    check = re.search(r"import sys; sys.exit\(sys.version_info < \(3, 11\)\)", shell)
    assert check is not None
    assert check[0] in power
