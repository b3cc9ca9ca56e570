"""The installed package works where there is no repository, in spawned workers too."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lanista

REPOSITORY = Path(__file__).parents[2]

# A worker started by spawn imports everything anew, with nothing from its parent but the path.
WORKERS = """
import multiprocessing
import lanista

def play_some(first):
    from lanista.games import make, make_bot
    from lanista.rollout import Table, play, rotations
    game = make("kuhn", slots=8, seed=1)
    bot = make_bot("kuhn", "random", game.spec, 1)
    results = play([Table(game, (bot, bot))], rotations(2, 50, first_match=first))
    return lanista.__file__, results.returns.tolist()

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        played = pool.map(play_some, [0, 50])
    assert played == [play_some(0), play_some(50)]
    print(played[0][0])
"""


def run(site, folder, *arguments):
    # PYTHONPATH puts this copy before the one under test; dependencies stay where they are.
    environment = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def prove(site, folder):
    (folder / "workers.py").write_text(WORKERS)
    assert run(site, folder, "-c", "import lanista; print(lanista.__file__)").startswith(str(site))
    playing = ("play", "kuhn", "--seats", "random,random", "--matches", "100", "--threads", "2")
    text = run(site, folder, "-m", "lanista.cli.main", *playing, "--record", "replays")
    assert "100 matches" in text
    assert "kuhn" in run(site, folder, "-m", "lanista", "games")
    assert list(folder.glob("replays/*.jsonl.gz"))
    assert run(site, folder, "workers.py").startswith(str(site))


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "elsewhere"
    made.mkdir()
    return made


def test_a_copy_of_the_package_alone_plays_in_an_empty_folder_and_in_spawned_workers(
    tmp_path, folder
):
    site = tmp_path / "site"
    built = shutil.ignore_patterns("*.pyx", "*.pxd", "*.c", "__pycache__")
    shutil.copytree(Path(lanista.__file__).parent, site / "lanista", ignore=built)
    prove(site, folder)


@pytest.mark.slow
def test_the_package_as_pip_installs_it_plays_in_an_empty_folder_and_in_spawned_workers(
    tmp_path, folder
):
    copy, site = tmp_path / "copy", tmp_path / "site"
    sources = shutil.ignore_patterns("*.so", "*.c", "__pycache__", "*.egg-info")
    shutil.copytree(REPOSITORY / "src", copy / "src", ignore=sources)
    for name in ("artifacts", "recipes"):
        shutil.copytree(REPOSITORY / name, copy / name)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, copy / name)
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation",
         "--target", str(site), "."],
        cwd=copy, check=True, capture_output=True,
    )  # fmt: skip
    shutil.rmtree(copy)
    prove(site, folder)
    against = ("--opponents", "random", "--games", "2")
    text = run(site, folder, "-m", "lanista", "evaluate", "champion:beastybar", *against)
    assert "champion:beastybar (682d9f33ebf2)" in text
