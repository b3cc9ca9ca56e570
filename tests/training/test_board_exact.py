"""Board games of hidden moves: a run that is told to measures exactly how far it is from play
that nobody gains against."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lanista.evaluation.evaluator import probabilities
from lanista.games.trees.exact import exact_nash_conv
from lanista.nets.files.policy_file import load_policy
from lanista.runs.folder import folder_of
from lanista.runs.reader import RunReader
from lanista.runs.settings import load_settings
from lanista.training.loop import train

DARK_HEX = "openspiel:dark_hex(board_size=2)"


def run(output: Path, game: str, **learning: Any) -> dict[str, list[float]]:
    """Return the exact measures of a tiny run, in the order of its evaluations."""
    settings = load_settings(
        {
            "game": game,
            "iterations": 2,
            "network": {"width": 8, "layers": 1},
            "learning": learning,
            "rollouts": {"matches": 16, "unroll_length": 17},
            "evaluation": {"every": 2, "exact": "always", "keep_best": False},
            "device": "cpu",
        }
    )
    assert train(settings, output) == 0
    with closing(RunReader(folder_of(output) / "run.db")) as reader:
        names = ("exact/nash_conv", "uniform/nash_conv")
        return {name: [row.value for row in reader.metric(name)] for name in names}


def test_a_run_on_dark_hex_says_what_the_policy_that_it_hands_over_loses_at_most(
    tmp_path: Path,
) -> None:
    pytest.importorskip("pyspiel")
    output = tmp_path / "x.safetensors"
    found = run(output, DARK_HEX, lr=0.05)
    policy = probabilities(load_policy(output).policy)
    assert found["exact/nash_conv"] == [pytest.approx(exact_nash_conv(DARK_HEX, policy))]
    (uniform,) = found["uniform/nash_conv"]
    assert abs(found["exact/nash_conv"][0] - uniform) > 1e-3


@pytest.mark.slow
def test_a_run_on_phantom_tic_tac_toe_that_learns_nothing_is_measured_as_uniform_play(
    tmp_path: Path,
) -> None:
    found = run(tmp_path / "x.safetensors", "phantom_ttt", lr=0.0)
    assert found["exact/nash_conv"] == [pytest.approx(1.577464, abs=1e-5)]
    assert found["uniform/nash_conv"] == found["exact/nash_conv"]
