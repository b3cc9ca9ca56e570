"""docs/reference/replays.md: its example is a replay, its code runs, its commands exist."""

import gzip
import re
from pathlib import Path

import pytest
import tyro

from lanista.cli.play.watch import Watch
from lanista.cli.tools.data import Data
from lanista.data import read_replays, resimulate

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "replays.md"


def blocks(kind: str) -> list[str]:
    fenced = PAGE.read_text().split("```")[1::2]
    return [text.partition("\n")[2] for text in fenced if text.partition("\n")[0] == kind]


@pytest.fixture
def example(tmp_path):
    (text,) = blocks("json")
    path = tmp_path / "matches.jsonl.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_the_example_on_the_page_is_a_replay_that_plays_as_it_says(example):
    assert resimulate(read_replays(example)).tolist() == [2, 2]


def test_the_code_on_the_page_runs(example, monkeypatch, capsys):
    monkeypatch.chdir(example.parent)
    (code,) = blocks("python")
    exec(code, {})
    assert capsys.readouterr().out == "(4, 11) (4, 2) (4, 1)\n"


def test_the_commands_on_the_page_are_understood():
    lines = [line for text in blocks("") for line in text.splitlines() if line]
    lines = [re.split(r"  +", line)[0] for line in lines]
    assert len(lines) == 7
    for line in lines:
        program, verb, *given = line.split()
        assert program == "lanista"
        tyro.cli({"data": Data, "watch": Watch}[verb], args=given)
