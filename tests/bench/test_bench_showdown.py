"""The Showdown benchmark is one of `make bench`, and says in one line what it lacks."""

from __future__ import annotations

from pathlib import Path

import bench.__main__ as every
import pytest

from bench import showdown
from lanista.games import GameError
from lanista.games.showdown.install import find, find_node
from lanista.profile.machine import Use


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


def test_beside_a_ratio_stand_the_cores_and_what_a_battle_cost() -> None:
    one, two = Use(4.0, 4.0, 0.0), Use(5.0, 9.0, 0.1)
    line = showdown._held_against("x", [(one, two)] * 3 + [(one, Use(9.0, 9.0, 0.5))], 2)
    assert (line["median"], line["rounds"], line["cores"]) == (1.6, 3, [1.0, 1.8])
    each = 1000 / showdown.BATTLES
    assert line["cpu_milliseconds_a_battle"] == [round(4 * each, 2), round(4.5 * each, 2)]


def test_where_others_used_the_cores_there_is_no_ratio() -> None:
    one, two = Use(4.0, 4.0, 0.0), Use(5.0, 9.0, 0.5)
    line = showdown._held_against("x", [(one, two)] * 3, 2)
    assert line["median"] is None
    assert line["why"] == "not measurable: others used the cores in 3 of 3 rounds"
