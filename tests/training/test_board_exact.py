"""Board games of hidden moves: a run that is told to measures exactly how far it is from play
that nobody gains against."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lanista.evaluation import evaluator
from lanista.evaluation.evaluator import probabilities
from lanista.games.trees.exact import exact_nash_conv
from lanista.nets.files.policy_file import load_policy
from lanista.runs.folder import folder_of
from lanista.runs.reader import RunReader
from lanista.runs.settings import RunSettings, load_settings
from lanista.training.loop import train
from lanista.training.observers import Observer

DARK_HEX = "openspiel:dark_hex(board_size=2)"


PSRO = {
    "round": 1,
    "main": {
        "snapshot_decisions": 20,
        "matchmaking": {"kind": "psro", "matrix_games": 20, "matrix_unit": "gain"},
    },
}


class Sentences(Observer):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def message(self, sentence: str) -> None:
        self.said.append(sentence)


def settings_of(game: str, learning: dict[str, Any], **more: Any) -> RunSettings:
    return load_settings(
        {
            "game": game,
            "iterations": 2,
            "network": {"width": 8, "layers": 1},
            "learning": learning,
            "rollouts": {"matches": 16, "unroll_length": 17},
            "evaluation": {"every": 2, "exact": "always", "keep_best": False},
            "device": "cpu",
            **more,
        }
    )


def run(output: Path, game: str, **learning: Any) -> dict[str, list[float]]:
    """Return the exact measures of a tiny run, in the order of its evaluations."""
    assert train(settings_of(game, learning), output) == 0
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


@pytest.mark.parametrize("game", [DARK_HEX, pytest.param("phantom_ttt", marks=pytest.mark.slow)])
def test_a_psro_league_on_a_board_with_hidden_marks_measures_the_mixture_that_it_trains_against(
    tmp_path: Path, game: str
) -> None:
    if game == DARK_HEX:
        pytest.importorskip("pyspiel")
    output = tmp_path / "x.safetensors"
    assert train(settings_of(game, {"lr": 0.05}, league=PSRO, seed=1), output) == 0
    with closing(RunReader(folder_of(output) / "run.db")) as reader:
        (players,), (found,), (uniform,) = (
            [row.value for row in reader.metric(name)]
            for name in (
                "meta_strategy/players",
                "meta_strategy/nash_conv",
                "uniform/nash_conv",
            )
        )
    assert players >= 1
    assert 0 < found < 2
    assert abs(found - uniform) < 0.5


def test_a_run_says_how_far_an_exact_measure_is_that_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspiel")
    settings, output = settings_of(DARK_HEX, {}), tmp_path / "x.safetensors"
    quiet, told = Sentences(), Sentences()
    assert train(settings, output, observers=[quiet]) == 0
    monkeypatch.setattr(evaluator, "_TELL_EVERY", 0.0)
    assert train(settings, tmp_path / "y.safetensors", observers=[told]) == 0
    begins = "NashConv, policy of seat 1, information states: "
    assert not [sentence for sentence in quiet.said if sentence.startswith("NashConv, ")]
    last = [sentence for sentence in told.said if sentence.startswith(begins)][-1]
    done, total = last.removeprefix(begins).removesuffix(".").split(" of ")
    assert done == total


@pytest.mark.slow
def test_a_run_on_phantom_tic_tac_toe_that_learns_nothing_is_measured_as_uniform_play(
    tmp_path: Path,
) -> None:
    found = run(tmp_path / "x.safetensors", "phantom_ttt", lr=0.0)
    assert found["exact/nash_conv"] == [pytest.approx(1.577464, abs=1e-5)]
    assert found["uniform/nash_conv"] == found["exact/nash_conv"]
