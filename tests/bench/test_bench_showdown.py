"""The Showdown benchmark is one of `make bench`, and says in one line what it lacks."""

from __future__ import annotations

from pathlib import Path

import bench.__main__ as every
import pytest

from bench import showdown
from lanista.games import GameError
from lanista.games.showdown.install import find, find_node


def test_it_is_among_the_measurements_of_make_bench() -> None:
    assert showdown.showdown in every.MEASURES


def test_without_the_simulator_it_is_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LANISTA_SHOWDOWN", str(tmp_path))
    (line,) = showdown.showdown()
    assert line["bench"] == "showdown"
    assert line["why"].startswith("skipped: ")
    assert "Showdown" in line["why"]


def test_whole_play_is_counted_in_battles_and_cpu_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        find_node()
        find()
    except GameError as error:
        pytest.skip(f"Showdown cannot be played: {error}")
    monkeypatch.setattr(showdown, "SLOTS", 4)
    monkeypatch.setattr(showdown, "BATTLES", 2)
    game = showdown._game(showdown.DEFAULT_FORMAT)
    line = showdown.whole(showdown.DEFAULT_FORMAT, game)
    game.close()
    assert 0 < line["low"] <= line["median"] <= line["high"]
    assert 0 < line["share_of_node"] < 1
    assert line["decisions_a_battle"] > 2
