"""`lanista solve`: a policy file from a game's tree, and how that file is used."""

import json
import re
from pathlib import Path

import pytest

from lanista.cli.main import main
from lanista.cli.train import solve
from lanista.solving import solver


@pytest.fixture
def solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    output = tmp_path / "leduc.safetensors"
    assert main(["solve", "leduc", "--output", str(output), "--target", "0.05"]) == 0
    capsys.readouterr()
    return output


def test_the_command_has_the_solvers_limit() -> None:
    assert solve.MOST_HISTORIES == solver.MOST_HISTORIES


def test_it_says_what_it_came_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "p"
    assert main(["solve", "kuhn", "--output", str(output), "--target", "0.01"]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == "kuhn: 12 information states, 55 histories"
    words = re.fullmatch(r"NashConv (\S+) after (\d+) iterations; seat 0 earns (\S+)", second)
    assert words is not None
    assert float(words[1]) <= 0.01
    assert float(words[3]) == pytest.approx(-1 / 18, abs=0.01)
    assert third.startswith(f"policy: {output} (")
    assert main(["exact", str(output)]) == 0
    assert f"NashConv {float(words[1]):.4g}"[:13] in capsys.readouterr().out


def test_the_file_is_evaluated_and_played_like_any_other(
    solved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(solved), "--opponents", "random", "--games", "200"]) == 0
    output = capsys.readouterr()
    assert "random" in output.out
    assert "lacks" not in output.err
    assert main(["play", "leduc", "--seats", f"{solved},random", "--matches", "20"]) == 0


@pytest.mark.parametrize("game", ["kuhn", "openspiel:kuhn_poker"])
def test_the_first_seat_of_kuhn_poker_loses_an_eighteenth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], game: str
) -> None:
    if game != "kuhn":
        pytest.importorskip("pyspiel")
    words = ["solve", game, "--output", str(tmp_path / "p"), "--target", "0.0005"]
    assert main(words) == 0
    found = re.search(r"NashConv (\S+) .* seat 0 earns (\S+)", capsys.readouterr().out)
    assert found is not None
    assert float(found[1]) <= 0.0005
    # A seat of such a profile earns what it does at an equilibrium, give or take its NashConv.
    assert float(found[2]) == pytest.approx(-1 / 18, abs=0.0006)


def test_nobody_learns_to_gain_more_from_it_than_its_nash_conv_allows(
    solved: Path, tmp_path: Path
) -> None:
    output = tmp_path / "x.safetensors"
    words = ["--train-steps", "3000", "--games", "400", "--selection-games", "100", "--cpu"]
    assert main(["exploit", str(solved), "--unit", "gain", "--output", str(output), *words]) == 0
    reading = json.loads(Path(f"{output}.json").read_text())["reading"]
    # Of 0.05 at most, half in either seat.
    assert reading["low"] < 0.025
    assert reading["value"] > -5


def test_training_does_not_begin_from_it(
    solved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["rl", "--game", "leduc", "--output", str(tmp_path / "q"), "--iterations", "1"]
    assert main([*words, "--set", f"supervised_checkpoint={solved}"]) == 2
    assert "A table is not trained further" in capsys.readouterr().err


def test_it_goes_on_where_it_is_told_to(solved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["solve", "leduc", "--output", str(solved), "--target", "0.02"]
    assert main(words) == 3
    assert "add --resume to go on" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0
    assert main(["solve", "kuhn", "--output", str(solved), "--resume"]) == 3
    assert "another game" in capsys.readouterr().err


def test_a_policy_that_was_trained_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p").write_text("mine")
    assert main(["solve", "kuhn", "--output", str(tmp_path / "p")]) == 3
    assert (tmp_path / "p").read_text() == "mine"
    assert "is not overwritten" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["arena"], "arena has no exact NashConv"),
        (["beastybar"], "it does not list its deals"),
        (["phantom_ttt", "--most-histories", "1000"], "more than 1,000 histories"),
        (["kuhn", "--target", "-1"], "give a NashConv of 0 or above"),
    ],
)
def test_what_cannot_be_solved_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    assert main(["solve", *words, "--output", str(tmp_path / "p")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert reason in error
    assert list(tmp_path.iterdir()) == []
