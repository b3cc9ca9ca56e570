"""Run folders that are damaged or swapped in ways that hashes of single files do not show."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from lanista.cli import main as cli
from lanista.evaluation.evaluator import FIRST_MATCH

DEEP = "[" * 100_000
RESUME = ["rl", "--output", "k.pt", "--resume", "--iterations", "6"]
READERS = {
    "report": ["report", "k.pt.run"],
    "doctor": ["doctor", "k.pt.run"],
    "replay": ["replay", "k.pt.run", str(FIRST_MATCH)],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    small = ["network.width=8", "network.layers=1", "rollouts.matches=8", "evaluation.every=2",
             "evaluation.bots=[random]", "evaluation.matches=4"]  # fmt: skip
    words = ["rl", "--config", "kuhn-ppo", "--iterations", "4", "--save-every", "2", "--output"]
    assert cli.main([*words, str(folder / "k.pt"), "--set", *small]) == 0
    return folder


@pytest.fixture
def run(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here" / "k.pt.run"


def changed(run, *statements):
    with closing(sqlite3.connect(run / "run.db")) as database, database:
        for statement in statements:
            database.execute(statement)


def refused(words, code, sentence, capsys):
    capsys.readouterr()
    assert cli.main(words) == code
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert sentence in last
    assert "--debug" not in last


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("DROP TABLE matches", "its table matches is missing or another one"),
        ("ALTER TABLE players DROP COLUMN body", "its table players is missing or another one"),
        ("UPDATE players SET body = '[[['", "is damaged: "),
        (f"UPDATE players SET body = '{DEEP}'", "is damaged: maximum recursion depth"),
        (f"UPDATE lineups SET names = '{DEEP}'", "is damaged: maximum recursion depth"),
    ],
)
def test_tables_that_a_resumed_run_cannot_read_are_refused(statement, sentence, run, capsys):
    changed(run, statement)
    before = sorted(path.name for path in (run / "checkpoints").iterdir())
    refused(RESUME, 3, sentence, capsys)
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == before


@pytest.mark.parametrize("command", sorted(READERS))
def test_rows_nested_without_end_are_a_sentence(command, run, capsys):
    changed(run, f"UPDATE lineups SET names = '{DEEP}'")
    refused(READERS[command], 3 if command == "replay" else 2, "run.db is damaged: ", capsys)


def test_a_run_goes_on_where_rows_of_matches_are_lost(run, capsys):
    """Ids of matches are not given twice, though the rows that had them are gone."""
    changed(run, "DELETE FROM matches")
    assert cli.main(RESUME) == 0
    assert "some of its numbers are damaged or missing" in capsys.readouterr().err


def test_the_database_of_something_else_is_refused_and_not_written_to(run, capsys):
    (run / "run.db").unlink()
    changed(run, "CREATE TABLE theirs (x)")
    before = (run / "run.db").read_bytes()
    refused(RESUME, 3, "it is the database of something else", capsys)
    with closing(sqlite3.connect(run / "run.db")) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    assert len((run / "run.db").read_bytes()) == len(before)


def test_a_renamed_checkpoint_is_refused_with_its_true_number(run, capsys):
    (run / "checkpoints" / "000004").rename(run / "checkpoints" / "000005")
    refused(RESUME, 3, "holds iteration 4, so the folder was renamed; rename it to 000004", capsys)


def test_swapped_checkpoints_are_refused(run, capsys):
    folder = run / "checkpoints"
    (folder / "000004").rename(folder / "x")
    (folder / "000002").rename(folder / "000004")
    (folder / "x").rename(folder / "000002")
    refused(RESUME, 3, "000004 holds iteration 2", capsys)
    named = ["rl", "--output", "k.pt", "--checkpoint", "k.pt.run/checkpoints/000002"]
    refused(named, 3, "000002 holds iteration 4", capsys)


@pytest.mark.parametrize("text", [DEEP, "null", "[1, 2]", '{"files": 3}'])
def test_a_manifest_that_is_none_costs_that_checkpoint_alone(text, run, capsys):
    (run / "checkpoints" / "000004" / "manifest.json").write_text(text)
    assert cli.main(RESUME) == 0
    assert "An earlier one is used" in capsys.readouterr().err
