"""What saving will check is checked before the work: nobody trains for hours for nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.learn.imitation.cloner import Cloner
from lanista.learn.learner import Learner
from lanista.pipeline.recipes import settings_of
from lanista.training.imitate import Task, imitate
from lanista.training.loop import train

SMALL = Path(__file__).parent / "small_kuhn.yaml"


@pytest.fixture(autouse=True)
def _nothing_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    def learned(*_: Any, **__: Any) -> None:
        raise AssertionError("It went to work.")

    monkeypatch.setattr(Cloner, "train_epoch", learned)
    monkeypatch.setattr(Learner, "update", learned)


@pytest.fixture
def replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "data"
    assert main(["play", "kuhn", "--seats", "random,random", "--matches", "20",
                 "--record", str(folder)]) == 0  # fmt: skip
    capsys.readouterr()
    return folder


def test_a_run_whose_policy_could_not_be_saved_does_not_begin(tmp_path: Path) -> None:
    output = tmp_path / "out" / "a\x1b[2J.pt"
    output.parent.mkdir()
    with pytest.raises(LanistaError, match="A policy cannot be saved: its header holds values"):
        train(settings_of(str(SMALL)), output)
    assert not list(output.parent.iterdir())


def test_an_imitation_whose_policy_could_not_be_saved_does_not_begin(
    tmp_path: Path, replays: Path
) -> None:
    task = Task(output=tmp_path / "out" / "a\u202e.pt", data_dir=replays)
    with pytest.raises(LanistaError, match="A policy cannot be saved"):
        imitate(task)
    with pytest.raises(AssertionError, match="It went to work"):
        imitate(replace(task, output=tmp_path / "out" / "a.pt"))


def test_settings_that_no_header_can_hold_are_refused_before_the_first_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lanista.nets.files import policy_format

    monkeypatch.setattr(policy_format, "MOST_HEADER", 200)
    with pytest.raises(LanistaError, match=r"A policy cannot be saved: .*"):
        train(settings_of(str(SMALL)), tmp_path / "out" / "p.pt")


@pytest.mark.parametrize("name", ["a\x1b[2J.pt", "\u202eb.pt", 230 * "x" + ".pt", 80 * "€"])
@pytest.mark.parametrize("command", ["imitate", "rl", "exploit", "export"])
def test_names_that_cannot_be_printed_or_are_too_long_are_refused_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    output = ["--output", str(tmp_path / "out" / name)]
    given = {
        "imitate": ["imitate", "--data-dir", str(tmp_path), *output],
        "rl": ["rl", "--config", str(SMALL), *output],
        "exploit": ["exploit", "random", "--game", "kuhn", *output],
        "export": ["export", "no.pt", "--to", "numpy", *output],
    }
    assert main(given[command]) == 2
    assert "--output ends in" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_where_the_numbers_are_to_lie_is_refused_before_the_imitation(
    tmp_path: Path, replays: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.pt.json").mkdir()
    assert main(["imitate", "--data-dir", str(replays), "--output", str(tmp_path / "p.pt")]) == 2
    assert "p.pt.json', which is a folder" in capsys.readouterr().err
