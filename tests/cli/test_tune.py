"""`lanista tune` on a real recipe: what it leaves, the page's commands, and its refusals."""

from __future__ import annotations

import csv
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import warm_python
import yaml

from lanista.cli.main import main
from lanista.cli.train.tune import Tune
from lanista.pipeline import job_processes
from lanista.runs.settings import load_settings
from lanista.tuning.space import parse_space, read_space

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "tune.md"
SMALL = {
    "game": "kuhn",
    "iterations": 40,
    "network": {"width": 8, "layers": 1},
    "learning": {"lr": 0.01, "average_share": 0.2},
    "rollouts": {"matches": 64},
    "checkpoints": {"save_every": 20},
    "device": "cpu",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small recipe, in which runs are forked from a process that has torch."""

    def begin(command: list[str], pass_fds: object, **how: Any) -> subprocess.Popen[bytes]:
        return warm_python.Popen(command, **how)

    stand_in = SimpleNamespace(Popen=begin, PIPE=subprocess.PIPE, STDOUT=subprocess.STDOUT)
    monkeypatch.setattr(job_processes, "subprocess", stand_in)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    return tmp_path


def test_a_recipes_own_mark_is_noted_as_the_flag_would_be() -> None:
    recipe = load_settings({**SMALL, "mark": "nash_conv <= 0.50"})
    assert Tune._marked({"recipe": recipe})["mark"] == "nash_conv<=0.5"
    given = {"recipe": recipe, "mark": "nash_conv<=0.4"}
    assert Tune._marked(given)["mark"] == "nash_conv<=0.4"


def rows(file: Path) -> list[dict[str, str]]:
    with file.open() as text:
        return list(csv.DictReader(text))


def tune(*words: str) -> int:
    return main(["tune", "--output", "out", "--jobs", "1", *words])


def test_a_search_ends_with_a_sentence_and_settings_that_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    search = ["--search", "learning.lr=log:1e-3..1e-1", "learning.epochs=int:1..2"]
    counts = ["--trials", "2", "--seeds", "1", "--budget", "1s"]
    assert tune("small.yaml", "--mark", "nash_conv<=0.9", *counts, *search) == 0
    shown = capsys.readouterr()
    assert "Searching learning.lr log:0.001..0.1, learning.epochs int:1..2." in shown.err
    assert "trial 0: " in shown.err
    assert " left" in shown.err
    assert "median CPU s" in shown.out
    assert shown.out.splitlines()[-2].startswith(("Yes: ", "No: "))
    trials = rows(folder / "out" / "trials.csv")
    assert [(row["trial"], row["learning.lr"]) for row in trials[:1]] == [("0", "0.01")]
    assert trials[0]["state"] == "done"
    fresh = rows(folder / "out" / "confirmation.csv")
    assert [row["seed"] for row in fresh if row["settings"] == "defaults"] == ["2", "3", "4"]
    winner = load_settings(folder / "out" / "winner.yaml")
    assert (winner.iterations, winner.evaluation.every) == (40, 0)
    assert main(["rl", "--config", "out/winner.yaml", "--output", "p.safetensors"]) == 0
    # The same command again would be another search in the same folder.
    assert tune("small.yaml", "--mark", "nash_conv<=0.9") == 3
    assert "add --resume" in capsys.readouterr().err
    assert tune("--resume", "--mark", "nash_conv<=0.8") == 3
    assert "was begun with --mark 'nash_conv<=0.9'" in capsys.readouterr().err


def commands() -> list[list[str]]:
    blocks = [block for block in PAGE.read_text().split("```")[1::2] if block.startswith("sh\n")]
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()[1:]]


def small(words: list[str]) -> list[str]:
    """Return a command of the page with a small recipe, few trials and a mark that is near."""
    if words[0] != "tune":
        return words
    smaller = {"--budget": "1s", "--trials": "1", "--confirm": "3", "--mark": "nash_conv<=0.9"}
    pairs = zip(["", *words], words, strict=False)
    changed = [smaller.get(before, "small.yaml" if w == "kuhn-ppo" else w) for before, w in pairs]
    return [*changed, "--jobs", "1"]


def test_every_command_of_the_page_runs_in_order(folder: Path) -> None:
    assert len(commands()) == 4
    for words in commands():
        assert main(small(words)) == 0, words


def test_the_space_of_the_page_can_be_read() -> None:
    (block,) = [block for block in PAGE.read_text().split("```")[1::2] if block[:5] == "yaml\n"]
    assert len(read_space(yaml.safe_load(block[5:]), "page")) == 3
    table = [line.split("`")[1::2] for line in PAGE.read_text().splitlines() if "..4`" in line]
    assert parse_space({"learning.epochs": table[0][0]})


MARK = ["--mark", "nash_conv<=0.5"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["small.yaml"], "tune needs --mark"),
        (MARK, "tune needs a recipe, or --game GAME"),
        (["nowhere", *MARK], "'nowhere' is neither a settings file"),
        (["small.yaml", "--game", "kuhn", *MARK], "leave one out"),
        (["small.yaml", "--mark", "elo>=3"], "write it as nash_conv<=0.05"),
        (["small.yaml", "--mark", "nash_conv<=0.95"], "uniform play has a NashConv of 0.9167"),
        (["small.yaml", "--mark", "score:kitr>=0.6"], "'kitr' is neither a bot of kuhn"),
        (["small.yaml", "--mark", "score>=0.6"], "is evaluated against nobody"),
        (
            ["small.yaml", "--mark", "score:random>=0.99", "--set", "evaluation.matches=20"],
            "with evaluation.matches 20 the lower bound",
        ),
        (["small.yaml", *MARK, "--budget", "soon"], "--budget is 'soon'"),
        (["small.yaml", *MARK, "--trials", "0"], "--trials is 0"),
        (["small.yaml", *MARK, "--seeds", "0"], "--seeds is 0"),
        (["small.yaml", *MARK, "--confirm", "2"], "with fewer no difference can be shown"),
        (["small.yaml", *MARK, "--search", "learning.lrr=int:1..2"], "did you mean 'learning.lr'?"),
        (["small.yaml", *MARK, "--search", "learning.lr=1..2"], "write it as log:"),
        (["small.yaml", *MARK, "--search", "learning.epochs=int:0..2"], "epochs is 0"),
        (["small.yaml", *MARK, "--search", "seed=int:0..2"], "seed cannot be searched"),
        (["small.yaml", *MARK, "--space", "nowhere.yaml"], "nowhere.yaml"),
        (["arena.yaml", *MARK], "arena has no exact NashConv"),
        (["clone.yaml", *MARK], "a pipeline of record, imitate has no rl stage"),
        (["league.yaml", *MARK], "trains a league"),
        (["--resume"], "holds no search to go on with"),
        ([*MARK, "--cpu"], "--cpu changes a recipe, and none was given"),
    ],
)
def test_what_cannot_be_searched_is_refused_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    small = {"network": {"width": 8, "layers": 1}, "rollouts": {"matches": 2}}
    (folder / "arena.yaml").write_text(yaml.safe_dump({"game": "arena", **small}))
    (folder / "league.yaml").write_text(yaml.safe_dump({**SMALL, "league": {}}))
    stages = {"record": {"seats": ["random,random"]}, "imitate": {}}
    (folder / "clone.yaml").write_text(yaml.safe_dump({"game": "kuhn", "stages": stages}))
    assert tune(*words) == 2
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert line.startswith("lanista: ")
    assert sentence in line
    assert not (folder / "out").exists()


def test_without_optuna_the_extra_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert tune("small.yaml", *MARK) == 2
    assert "pip install 'lanista[tune]'" in capsys.readouterr().err
