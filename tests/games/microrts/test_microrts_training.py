"""MicroRTS is trained on as a user would: `lanista rl` and `lanista league`, by small recipes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from microrts_matches import needs_engine

from lanista.cli import main as cli
from lanista.nets.files.policy_file import read_header
from lanista.pipeline.recipes import settings_of

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
    asked += ["evaluation.every=2", "evaluation.pool=1"]
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
