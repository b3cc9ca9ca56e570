"""`lanista replay`: both results are printed, and the exit code says whether they are equal."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from lanista.cli.main import main
from lanista.evaluation.gauntlet import FIRST_MATCH
from lanista.runs.settings import load_settings
from lanista.training.loop import train

SETTINGS = {
    "game": "kuhn",
    "iterations": 1,
    "network": {"width": 16, "layers": 1},
    "rollouts": {"matches": 8},
    "evaluation": {"every": 1, "exact": "never", "bots": ["random"], "matches": 4},
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    output = tmp_path_factory.mktemp("run") / "kuhn.pt"
    train(load_settings(SETTINGS), output)
    return output


@pytest.fixture
def output(finished, tmp_path):
    shutil.copytree(f"{finished}.run", tmp_path / "kuhn.pt.run")
    return shutil.copy(finished, tmp_path / "kuhn.pt")


def replay(run, match=FIRST_MATCH, *more):
    return main(["replay", str(run), str(match), *more])


def test_a_run_is_named_by_its_folder_or_its_policy(output, capsys):
    for run in (output, output.parent / "kuhn.pt.run", output.parent):
        assert replay(run) == 0
        text = capsys.readouterr().out
        assert f"kuhn, match {FIRST_MATCH}, deal {FIRST_MATCH}, seed 0; evaluation" in text
        assert "main" in text
        assert "random" in text
        assert text.endswith("the same result\n")


def test_watching_shows_the_match_turn_by_turn(output, capsys):
    assert replay(output, FIRST_MATCH + 1, "--watch") == 0
    text = capsys.readouterr().out
    assert "turn 1" in text
    assert "the end" in text
    assert text.endswith("the same result\n")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("places = '[1, 1]'", "its places are"),
        ("returns = '[7.0, -7.0]'", "its returns are"),
        ("cut_off = 1", "it does not break off this time"),
    ],
)
def test_a_result_that_differs_exits_with_1_and_one_sentence(output, capsys, change, sentence):
    with closing(sqlite3.connect(f"{output}.run/run.db")) as database, database:
        database.execute(f"UPDATE matches SET {change} WHERE match = ?", (FIRST_MATCH,))
    assert replay(output) == 1
    said = capsys.readouterr()
    assert "the same result" not in said.out
    assert f"Match {FIRST_MATCH} does not come out as recorded" in said.err
    assert sentence in said.err
    assert said.err.count("\n") == 1


def test_another_rules_version_is_refused_with_3(output, capsys):
    with closing(sqlite3.connect(f"{output}.run/run.db")) as database, database:
        database.execute("UPDATE lineups SET rules_version = '2'")
    assert replay(output) == 3
    assert "rules version 2 of kuhn, and this program has 1" in capsys.readouterr().err


def test_a_training_game_and_a_missing_run_get_a_sentence(output, capsys, tmp_path):
    assert replay(output, 3) == 2
    assert "was a training game" in capsys.readouterr().err
    assert replay(tmp_path / "nothing") == 2
    assert "There is no run at" in capsys.readouterr().err
