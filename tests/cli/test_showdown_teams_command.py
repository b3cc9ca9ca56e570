"""`lanista showdown teams`: what it writes, and what it refuses before any work is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanista.cli.main import main
from lanista.games.contract import GameError
from lanista.games.showdown.install import find, find_node


def missing() -> str:
    try:
        find_node()
        find()
    except GameError as error:
        return str(error)
    return ""


def make(folder: Path, *words: str) -> int:
    return main(["showdown", "teams", "--output", str(folder), *words])


@pytest.mark.skipif(bool(missing()), reason=missing() or "it is there")
def test_the_same_seed_writes_the_same_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one", tmp_path / "new" / "other"
    assert make(one, "--number", "3", "--seed", "4") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{one}: 3 teams legal in gen9vgc2025regi\n")
    assert " species, " in said
    assert make(other, "--number", "3", "--seed", "4") == 0
    names = ["team-0001.txt", "team-0002.txt", "team-0003.txt"]
    assert sorted(path.name for path in one.iterdir()) == names
    assert [(one / name).read_bytes() for name in names] == [
        (other / name).read_bytes() for name in names
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--number", "0"], "--number is 0; give 1 or more."),
        (
            ["--number", "1", "--format", "gen9randomdoublesbattle"],
            "Nobody brings a team to gen9randomdoublesbattle; make teams for one of "
            "gen9vgc2025regi, gen9vgc2024regg, gen9vgc2023regd, gen9vgc2023regc.",
        ),
        (["--number", "1", "--format", "gen9vgc2025regh"], "did you mean 'gen9vgc2025regi'"),
    ],
)
def test_nonsense_is_refused_in_one_sentence_and_nothing_is_made(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(tmp_path / "teams", *words) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert not (tmp_path / "teams").exists()


def test_a_folder_with_something_in_it_and_a_file_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    assert make(tmp_path, "--number", "1") == 3
    assert (
        "holds 'mine.txt', and a new or empty one is needed; name a new folder."
        in capsys.readouterr().err
    )
    assert make(mine, "--number", "1") == 2
    assert "--output cannot write into" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert mine.read_text() == "mine"
