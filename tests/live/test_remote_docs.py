"""docs/guides/live-remote.md: its code plays and sends a game, its tables name what there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from served import TOKEN, served

from lanista.live.agent.courier import Sent
from lanista.live.server.limits import Limits

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "live-remote.md").read_text("utf-8")


class Match:
    """A match of three turns."""

    turn = 0

    @property
    def over(self) -> bool:
        return self.turn == 3

    def observation(self) -> Any:
        return [self.turn % 3, 1.0, 2.0, 3.0, 4.0, 5.0]

    def play(self, action: Any) -> float:
        self.turn += 1
        return 1.0

    def result(self) -> float:
        return 1.0


def test_the_code_on_the_page_plays_and_sends_a_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = (text.removeprefix("python\n") for text in PAGE.split("```") if text[:6] == "python")
    with served(tmp_path / "there") as server:
        exec(code, {"SERVER": server.address, "TOKEN": TOKEN, "match": Match()})
        assert len(server.spool.waiting()) == 1
    assert "Sent(sent=1," in capsys.readouterr().out


def test_the_page_names_every_number_of_what_was_sent() -> None:
    table = PAGE[PAGE.index("| `agent.report().server`") : PAGE.index("## When something fails")]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == {
        field.name for field in fields(Sent)
    }


def test_the_bounds_on_the_page_are_those_of_the_server() -> None:
    limits = Limits()
    for bound in (
        f"{limits.waiting_bytes >> 30} GiB waiting", f"{limits.free_bytes >> 30} GiB left",
        f"{limits.uploads} at once", f"{limits.upload_bytes >> 20} MiB together",
        f"{limits.game_bytes >> 20} MiB each",
    ):  # fmt: skip
        assert bound in PAGE
