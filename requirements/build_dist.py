"""Builds wheel and source archive, installs each into an empty environment and tries it there.

Run by `make dist`. What is tried is what a new user does first: look, play, train, measure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
COMMANDS = (
    ("--version",),
    ("games",),
    ("play", "leduc", "--seats", "random,random", "--matches", "200"),
    ("rl", "--config", "kuhn-ppo", "--output", "kuhn.safetensors", "--cpu",
     "--set", "iterations=2"),
    ("evaluate", "champion:beastybar", "--opponents", "random", "--games", "20"),
)  # fmt: skip


def build() -> list[Path]:
    """Return a fresh wheel and a fresh source archive."""
    shutil.rmtree(DIST, ignore_errors=True)
    # Nothing compiled for this tree goes into either: the archive has no C, the wheel its own.
    with tempfile.TemporaryDirectory(prefix="lanista-dist-") as folder:
        copy = Path(folder) / "lanista"
        tracked = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
        for name in filter(None, tracked.split("\0")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
        run([sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(DIST)], copy)
        wheel = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        run([sys.executable, *wheel, "--wheel-dir", str(DIST), "."], copy)
    return sorted(DIST.iterdir())


def run(command: list[str], folder: Path) -> None:
    """Run a command; where it fails, its own words are the last thing to be seen."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment, check=False, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}\nended with {done.returncode}.")


def prove(archive: Path) -> None:
    """Install an archive where nothing is, and do what a new user does first."""
    with tempfile.TemporaryDirectory(prefix="lanista-prove-") as folder:
        place = Path(folder) / "environment"
        venv.create(place, with_pip=True)
        binary = place / ("Scripts" if os.name == "nt" else "bin")
        torch = str(ROOT / "requirements" / "torch.txt")
        install = [str(binary / "python"), "-m", "pip", "install", "--quiet", "--constraint", torch]
        run([*install, str(archive)], Path(folder))
        empty = Path(folder) / "empty"
        empty.mkdir()
        for words in COMMANDS:
            run([str(binary / "lanista"), *words], empty)
            print(f"{archive.name}: lanista {' '.join(words)}", flush=True)


if __name__ == "__main__":
    for archive in build():
        prove(archive)
        print(f"{archive.name} works from an empty environment.", flush=True)
