"""MicroRTS is trained on as a user would: `lanista rl` and `lanista league`, by small recipes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from microrts_matches import needs_engine

from lanista.cli import main as cli
from lanista.learn.schedules import parse_schedule
from lanista.nets.files.policy_file import read_header
from lanista.pipeline.recipes import find, load_recipe, read_recipe, settings_of

SMALL = [
    *("--cpu", "--seed", "3"),
    *("--set", "game_settings={side: 8, longest: 60}", "network={kind: mlp, width: 16}"),
    *("rollouts.unrolls=8", "rollouts.unroll_length=8", "evaluation.matches=2"),
    "evaluation.bots=[passive]",
]


def metrics(database: Path) -> dict[str, float]:
    """Return the last of each number of a run."""
    with closing(sqlite3.connect(database)) as rows:
        found = rows.execute("SELECT name, value FROM metrics ORDER BY update_number").fetchall()
    return dict(found)


@needs_engine
def test_a_few_updates_run_and_going_on_from_a_checkpoint_ends_in_the_same_policy(tmp_path):
    output = tmp_path / "rts.pt"
    asked = [
        "--config",
        "microrts",
        *SMALL,
        "iterations=3",
        "evaluation.every=3",
        "checkpoints.save_every=1",
    ]
    assert cli.main(["rl", "--output", str(output), *asked]) == 0
    header, policy = read_header(output), output.read_bytes()
    assert (header.game, header.step) == ("microrts", 3)
    found = metrics(tmp_path / "rts.pt.run" / "run.db")
    # A match lasts 60 ticks and bots of the engine sat in it, so both are told of.
    assert found["decisions"] > 3 * 8 * 8 / 2
    assert {"policy/loss", "value/loss", "score/passive"} <= found.keys()
    assert any(name.startswith("return/") for name in found)
    first = tmp_path / "rts.pt.run" / "checkpoints" / "000001"
    assert cli.main(["rl", "--output", str(output), "--checkpoint", str(first)]) == 0
    assert (first.parent / "000003.aside").is_dir()
    assert output.read_bytes() == policy


@needs_engine
def test_a_league_of_three_learners_plays_two_rounds_and_takes_a_snapshot(tmp_path):
    folder = tmp_path / "league"
    asked = ["--config", "microrts-league", *SMALL, "league.main.snapshot_decisions=1"]
    asked += ["evaluation.every=2", "evaluation.pool=3"]  # The snapshot and two of exploiters.
    rounds = ["--rounds", "2", "--rl-iterations-per-round", "1"]
    assert cli.main(["league", "--output-dir", str(folder), *rounds, *asked]) == 0
    assert read_header(folder / "main.safetensors").game == "microrts"
    with closing(sqlite3.connect(folder / "run.db")) as rows:
        learners = {name for (name,) in rows.execute("SELECT DISTINCT learner FROM matchmaking")}
    assert learners == {"main", "main_exploiter_1", "league_exploiter_1"}
    summary = json.loads((folder / "summary.json").read_text())
    met = {player["name"]: player["category"] for player in summary["players"]}
    assert met["passive"] == "bot"
    assert "past" in met.values()


def test_the_recipe_trains_on_weaker_bots_and_is_judged_by_one_it_never_met():
    settings = settings_of("microrts")
    met = {opponent.player for opponent in settings.rollouts.opponents}
    assert {"passive", "random_biased", "worker_rush"} <= met
    assert {*settings.evaluation.bots} - met == {"light_rush"}


def test_the_recipe_against_coac_clones_it_and_meets_it_in_a_quarter_of_the_matches():
    recipe = load_recipe(read_recipe(find("microrts-coac")))
    imitate, settings = recipe.stages.imitate, settings_of("microrts-coac")
    assert imitate.players == ("coac",)
    assert imitate.imitation.heads == "mean"
    assert imitate.imitation.gamma == settings.learning.gamma
    assert (imitate.network.kind, imitate.network.readout) == ("unet", "cells")
    weights = {opponent.player: opponent.weight for opponent in settings.rollouts.opponents}
    assert weights["coac"] >= 0.25 * sum(weights.values())
    shaping = parse_schedule(settings.rollouts.shaping_scale)
    assert shaping(0, settings.updates) == 1.0
    assert shaping(settings.updates, settings.updates) == pytest.approx(0.1)


@needs_engine
def test_a_small_run_of_the_recipe_against_coac_ends_in_a_policy_that_reads_cells(tmp_path):
    asked = [
        "game_settings={side: 8, longest: 60}",
        "stages.record={seats: ['coac,worker_rush'], matches: 4, threads: 1}",
        "stages.imitate.network.width=32",
        "stages.imitate.imitation.epochs=1",
        "stages.imitate.imitation.hold_out=0.4",
        "stages.imitate.evaluation_matches=0",
        "stages.rl.iterations=2",
        "stages.rl.rollouts={mode: stream, unrolls: 4, unroll_length: 8, opponents: [self, coac]}",
        "stages.rl.evaluation={every: 0}",
        "stages.evaluate={opponents: [passive], games: 2}",
    ]
    folder = tmp_path / "run"
    words = ["run", "microrts-coac", "--cpu", "--output-dir", str(folder)]
    assert cli.main([*words, *(word for one in asked for word in ("--set", one))]) == 0
    header = read_header(folder / "rl.safetensors")
    assert (header.game, header.step) == ("microrts", 2)
    assert (header.network.kind, header.network.readout) == ("unet", "cells")
