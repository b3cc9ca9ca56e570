"""The websocket stack is measured beside the contract, and what it lacks is said by name."""

from __future__ import annotations

import os
import time
from pathlib import Path

import bench.__main__ as every
import pytest

from bench import showdown, showdown_server
from lanista.games import GameError
from lanista.games.showdown.install import find, find_node
from lanista.games.showdown.scripted.poke_env_bots import is_installed


def test_it_is_among_the_measurements_of_make_bench() -> None:
    assert showdown_server.showdown_server in every.MEASURES


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LANISTA_SHOWDOWN", str(tmp_path))
    (line,) = showdown_server.showdown_server()
    assert line["why"].startswith("skipped: ")
    monkeypatch.setattr(showdown_server, "is_installed", lambda: False)
    (line,) = showdown_server.showdown_server()
    assert line["why"].startswith("skipped: poke-env is not installed")


def test_cpu_seconds_of_a_group_are_those_of_its_processes() -> None:
    group, before = os.getpgid(0), time.process_time()
    counted = showdown_server.group_cpu_seconds(group)
    assert counted >= before - 0.1


def test_both_ways_are_measured_in_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        find_node()
        find()
    except GameError as error:
        pytest.skip(f"Showdown cannot be played: {error}")
    if not is_installed():
        pytest.skip("poke-env is not installed")
    for module in (showdown, showdown_server):
        monkeypatch.setattr(module, "BATTLES", 2)
        monkeypatch.setattr(module, "REPEATS", 2)
    monkeypatch.setattr(showdown, "SLOTS", 4)
    sockets, ours, quotient = showdown_server.showdown_server()
    assert 0 < sockets["low"] <= sockets["median"] <= sockets["high"]
    assert ours["unit"] == sockets["unit"] == "battles per CPU second"
    assert quotient["median"] == pytest.approx(ours["median"] / sockets["median"], abs=0.01)
