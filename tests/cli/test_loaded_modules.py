"""What need not be in the core loads only when it is used, seen in the modules of a child."""

import subprocess
import sys

import pytest

from lanista.cli.commands import every_command

OPTIONAL = {
    "plotly", "poke_env", "websockets", "jpype", "onnx", "onnxruntime", "sc2", "watchfiles",
    "lanista.games.showdown", "lanista.games.microrts", "pyspiel", "pettingzoo",
    "lanista.importers", "lanista.profile", "lanista.report.pages", "lanista.live", "optuna",
    "lanista.tuning",
}  # fmt: skip
HEAVY = {"numpy", "torch", "yaml", "openskill", "safetensors"}
# What gives exact answers of small games, where it is installed.
EXACT = {"pyspiel"}


def loaded_by(program, folder):
    """Return which packages a child has loaded when the program has run."""
    code = f"import sys\n{program}\nprint('\\nloaded:', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("loaded: ")[2].split()) & (OPTIONAL | HEAVY)


def after(line, folder):
    words = line.split()
    return loaded_by(f"from lanista.cli.main import main\nassert main({words!r}) == 0", folder)


@pytest.mark.parametrize("family", ["play", "train", "measure", "live", "showdown", "tools"])
def test_the_modules_of_a_family_load_nothing_optional_and_nothing_heavy(family, tmp_path):
    places = {entry.place.partition(":")[0] for _, entry in every_command()}
    chosen = [f"lanista.cli.{place}" for place in places if place.startswith(f"{family}.")]
    assert chosen
    assert loaded_by(f"import {', '.join(chosen)}", tmp_path) == set()


@pytest.mark.parametrize(
    ("line", "loaded"),
    [
        ("play kuhn --seats random,random --matches 2", set()),
        ("config new kuhn-ppo mine.yaml", set()),
        ("games showdown", {"lanista.games.showdown"}),
    ],
)
def test_a_command_loads_what_it_uses(line, loaded, tmp_path):
    assert after(line, tmp_path) & OPTIONAL == loaded


def test_training_loads_neither_plots_nor_formats_of_others(tmp_path):
    small = "--set rollouts.matches=8 evaluation.every=0 --iterations 1"
    assert after(f"rl --config kuhn-ppo --cpu --output a.pt {small}", tmp_path) & OPTIONAL <= EXACT
