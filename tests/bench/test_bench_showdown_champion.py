"""The shipped Showdown policy is measured on the real path, and what is missing is said by name."""

from __future__ import annotations

from pathlib import Path

import bench.__main__ as every
import pytest
import torch

from bench import showdown_champion
from lanista.games import GameError
from lanista.games.showdown.install import find, find_node
from lanista.games.showdown.scripted.poke_env_bots import is_installed
from lanista.live.showdown.table import Table


def test_it_is_among_the_measurements_of_make_bench() -> None:
    assert showdown_champion.showdown_champion in every.MEASURES


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LANISTA_SHOWDOWN", str(tmp_path))
    (line,) = showdown_champion.showdown_champion()
    assert line["why"].startswith("skipped: ")


def test_batches_and_live_decisions_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        find_node()
        find()
    except GameError as error:
        pytest.skip(f"Showdown cannot be played: {error}")
    if not is_installed():
        pytest.skip("poke-env is not installed")
    monkeypatch.setattr(showdown_champion, "BATCHES", (2,))
    monkeypatch.setattr(showdown_champion, "BATTLES", 2)
    monkeypatch.setattr(showdown_champion, "_DECISIONS", 4)
    hear, threads = Table.hear, torch.get_num_threads()
    try:
        network, live = showdown_champion.showdown_champion()
    finally:
        torch.set_num_threads(threads)
    assert 0 < network["low"] <= network["median"] <= network["high"]
    assert live["decisions"] >= 6
    assert 0 < live["cpu"]["median"] <= live["cpu"]["p99"] <= live["cpu"]["most"]
    assert Table.hear is hear
