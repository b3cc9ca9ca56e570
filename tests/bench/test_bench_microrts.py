"""The MicroRTS benchmark is one of `make bench`, and says in one line what it lacks."""

from __future__ import annotations

import json

import bench.__main__ as every
import pytest

from bench import microrts
from lanista.games import GameError
from lanista.games.microrts.engine import start
from lanista.pipeline.recipes import settings_of
from lanista.runs.settings import apply_overrides


def test_it_is_among_the_measurements_of_make_bench() -> None:
    assert microrts.microrts in every.MEASURES


def test_without_the_engine_it_is_skipped_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise GameError("The MicroRTS engine is not installed; run: pip install it")

    monkeypatch.setattr(microrts, "start", missing)
    (line,) = microrts.microrts()
    assert line["bench"] == "microrts"
    assert line["why"].startswith("skipped: The MicroRTS engine is not installed")


def test_training_is_measured_by_the_recipe_and_its_parts_are_not_more_than_the_whole() -> None:
    try:
        start()
    except GameError as error:
        pytest.skip(f"MicroRTS cannot be played: {error}")
    small = ["rollouts.unrolls=4", "rollouts.unroll_length=8", "network={kind: mlp, width: 16}"]
    settings = apply_overrides(settings_of("microrts"), small)
    line = json.loads(json.dumps(microrts.training(settings, repeats=1)))
    assert 0 < line["low"] <= line["median"] <= line["high"]
    assert {"acting", "bots", "game", "learning"} == {*line["shares"]}
    assert sum(line["shares"].values()) <= 1
