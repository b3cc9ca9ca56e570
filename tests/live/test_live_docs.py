"""docs/guides/live.md: its code runs, its pointer is one, and its tables name what there is."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from toy import game_of, policy_bytes

from lanista.cli.main import main
from lanista.live.agent.agent import Report
from lanista.live.agent.game_writer import Written
from lanista.live.files.game_file import ARRAYS, read
from lanista.live.files.policy_folder import PolicyFolder
from lanista.nets.files.policy_format import read_header

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "live.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    fenced = PAGE.split("```")[1::2]
    return [text.partition("\n")[2] for text in fenced if text.partition("\n")[0] == kind]


def commands(about: str) -> list[list[str]]:
    """Return the words of every command of the page's block that names something."""
    lines = [line for text in blocks("") if about in text for line in text.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines]


class Match:
    """A match of ten turns in which every third is defended."""

    turn = 0

    @property
    def over(self) -> bool:
        return self.turn == 10

    def observation(self) -> Any:
        return [self.turn % 3, 100 - self.turn, 30, self.turn]

    def must_defend(self) -> bool:
        return self.turn % 3 == 0

    def defence(self) -> int:
        return 0

    def play(self, action: Any) -> float:
        self.turn += 1
        return 1.0

    def result(self) -> float:
        return 1.0


def test_the_code_on_the_page_plays_a_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    play, make = blocks("python")
    exec(make, {})
    assert main(commands("first.safetensors")[0]) == 0
    exec(play, {"match": Match()})
    (path,) = (tmp_path / "spool" / "new").iterdir()
    game = read(path, read_header(tmp_path / "first.safetensors"))
    assert game.header.game_id == "ladder-0017"
    assert game.overruled.tolist() == [turn % 3 == 0 for turn in range(10)]
    assert game.rewards.sum() + game.header.early_reward == 10
    assert "Report(" in capsys.readouterr().out


def test_the_operators_commands_do_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = PolicyFolder("policy")
    first, second = (folder.add(policy_bytes(number)) for number in range(2))
    folder.publish(first)
    folder.publish(second)
    Path("mine.safetensors").write_bytes(policy_bytes(2))
    show, publish, back, back_to = commands("rollback")
    back_to[back_to.index("--to") + 1] = first[:4]
    for words in (show, publish, back, back_to):
        assert main(words) == 0, capsys.readouterr().err
    reasons = [change.reason for change in folder.history()][2:]
    assert reasons == ["trained on the new map", "loses to rushes", "rolled back by hand"]
    assert [change.pointer.stable for change in folder.history()][3:] == [second, first]


def test_the_pointer_on_the_page_has_the_keys_of_one(tmp_path: Path) -> None:
    folder = PolicyFolder(tmp_path)
    folder.publish(folder.add(policy_bytes()))
    (shown,) = blocks("json")
    told = json.loads((tmp_path / "current.json").read_text())
    assert set(json.loads(shown)) == set(told)


def test_the_page_names_every_array_of_a_game() -> None:
    for name in (*ARRAYS, "header"):
        assert f"| `{name}` |" in PAGE
    assert set(ARRAYS) <= set(vars(game_of()))


def test_the_page_names_every_number_of_a_report() -> None:
    table = PAGE[PAGE.index("## The report") : PAGE.index("## Which policy plays")]
    named = set(re.findall(r"`([a-z_.]+)`", table))
    told = {entry.name for entry in fields(Report)} - {"games"}
    told |= {f"games.{entry.name}" for entry in fields(Written)}
    assert told <= named
