"""The Pokémon plan: its example files load, each key does something, and a run comes of it."""

from __future__ import annotations

import re
import shlex
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from pipeline_runs import untrained

sys.path.insert(0, str(Path(__file__).parents[1] / "games" / "showdown"))

from showdown_play import needs_simulator

from lanista.cli import main as cli
from lanista.games.showdown.teams.pool import pool_folder
from lanista.importers.beastybar_plan import BEASTYBAR
from lanista.importers.formats import plan_of
from lanista.importers.key_mapping import Imported, import_plan
from lanista.importers.showdown_plan import SHOWDOWN, UPDATES
from lanista.nets.settings import Network
from lanista.runs.serialise import SettingsError, flat
from lanista.runs.settings import load_settings

FAST, PRODUCTION = (
    Path(__file__).with_name(f"plan_{name}.yaml") for name in ("fast_test", "production")
)
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "showdown-config.md"


def plan(file: Path, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load(file.read_text())
    return values | changes


def read(values: dict[str, Any], done: int = 0) -> Imported:
    return import_plan(values, SHOWDOWN, done=done)


def said_of(imported: Imported, key: str) -> list[str]:
    return [line for line in imported.notices if re.match(rf"{key}[ :]", line)]


def expect(imported: Imported, **wanted: Any) -> None:
    """See that settings, with _ for the dots' places, have these values."""
    found = {key.replace(".", "_"): value for key, value in flat(imported.settings)}
    assert {key: found.get(key) for key in wanted} == wanted


def test_the_minimal_plan_becomes_a_league_of_its_own_past_with_one_reference() -> None:
    imported = read(plan(FAST))
    expect(
        imported,
        game="showdown",
        rollouts_workers=2,
        rollouts_launcher="processes",
        game_settings_mode="cross",
        iterations=10_000,
        supervised_checkpoint="data/models/bc_action_model.pt",
        rollouts_slots=4,
        rollouts_matches=16,
        learning_policy="ppo",
        learning_terms_reference=0.01,
        learning_reference_every=1000,
        learning_precision="bf16",
        learning_max_grad_norm=0.5,
        learning_lr=1e-4,
        checkpoints_save_every=1000,
        league_main_matchmaking_kind="curriculum",
        league_main_snapshot_decisions=1000 * 16 * 10,
        league_exploiter_check_interval=0,
    )
    assert "portfolio" not in imported.settings.learning.terms


def test_the_production_plan_becomes_a_portfolio_and_exploiters_on_its_teams() -> None:
    imported = read(plan(PRODUCTION))
    expect(
        imported,
        rollouts_workers=4,
        rollouts_launcher="processes",
        game_settings_team_pool_path="data/teams/gen9vgc2023regulationc",
        game_settings_format="gen9vgc2023regc",
        iterations=UPDATES,
        rollouts_slots=24,
        rollouts_matches=48,
        learning_terms_portfolio=0.01,
        learning_portfolio_pull="min",
        learning_portfolio_keeps="diverse",
        learning_portfolio_size=5,
        learning_portfolio_every=5000,
        learning_precision="bf16",
        checkpoints_save_every=1000,
        league_exploiter_check_interval=5000,
        league_exploiter_train_steps=50_000,
        league_exploiter_win_threshold=0.6,
        league_exploiter_from="imitation",
    )
    assert "reference" not in imported.settings.learning.terms


NOTICED = {
    "team_pool_path": "gen9vgc2023regc",
    "num_workers": "4: so many processes play",
    "players_per_worker": "24 battles",
    "train_batch_size": "48 whole battles",
    "use_mixed_precision": "bf16",
    "ref_update_interval": "the portfolio takes the reference's place",
    "checkpoint_interval": "480,000 decisions",
    "exploiter_train_steps": "decisions of the exploiter",
    "save_dir": "--output data/models/production/rnad_advanced_v1.safetensors",
    "wandb_run_name": "rnad_advanced_v1",
    "use_wandb": "--wandb elitefurretai-production",
    "wandb_project": "--wandb elitefurretai-production",
    "max_updates": "is left out: 100,000",
}


@pytest.mark.parametrize("key", NOTICED)
def test_a_key_that_is_no_setting_as_it_stands_is_named_with_what_is_done_instead(key: str) -> None:
    (said,) = said_of(read(plan(PRODUCTION)), key)
    assert NOTICED[key] in said


CHANGED = {
    "checkpoint_path": "other.pt",
    "team_pool_path": "teams/gen9vgc2024regg",
    "num_workers": 3,
    "players_per_worker": 5,
    "train_batch_size": 7,
    "max_updates": 8,
    "learning_rate": 0.5,
    "rnad_alpha": 0.7,
    "ref_update_interval": 9,
    "use_portfolio_regularization": True,
    "max_portfolio_size": 2,
    "portfolio_update_strategy": "recent",
    "portfolio_add_interval": 11,
    "use_mixed_precision": False,
    "gradient_clip": 3.0,
    "checkpoint_interval": 12,
    "save_dir": "there",
    "train_exploiters": True,
    "exploiter_check_interval": 13,
    "exploiter_train_steps": 14,
    "exploiter_win_threshold": 0.75,
    "use_wandb": True,
    "wandb_project": "mine",
    "wandb_run_name": "this",
}


@pytest.mark.parametrize("key", SHOWDOWN.keys)
@pytest.mark.parametrize("file", [FAST, PRODUCTION], ids=["fast", "production"])
def test_another_value_of_any_key_changes_a_setting_or_a_notice(file: Path, key: str) -> None:
    values = plan(file)
    if values.get(key) == CHANGED[key]:
        values.pop(key)
    assert read(values) != read(values | {key: CHANGED[key]})


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"num_worker": 2}, "no key 'num_worker'; did you mean 'num_workers'?"),
        ({"num_workers": "two"}, "num_workers is 'two'; give a int"),
        ({"use_wandb": 1}, "use_wandb is 1; give a bool"),
        ({"team_pool_path": "a/gen9vgc2023regulationz"}, "format 'gen9vgc2023regz'; did you mean"),
        (
            {"use_portfolio_regularization": True, "portfolio_update_strategy": "divers"},
            "did you mean 'diverse'?",
        ),
        ({"train_batch_size": 0}, "rollouts.matches is 0"),
        ({"max_updates": 0}, "max_updates is 0 and 0 are done"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_nearest(
    values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        read(values)


def test_where_a_run_lies_and_what_mirrors_it_become_the_flags_of_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    flags = read(plan(PRODUCTION)).flags
    output = "data/models/production/rnad_advanced_v1.safetensors"
    assert flags == {"--output": output, "--wandb": "elitefurretai-production"}
    assert read({}).flags == {"--output": "artifacts/main.safetensors"}
    monkeypatch.chdir(tmp_path)
    assert cli.main(["config", "import", str(PRODUCTION), "--output", "ours.yaml"]) == 0
    (line,) = [row for row in capsys.readouterr().out.splitlines() if row.startswith("next: ")]
    command = cli.parse(shlex.split(line)[2:])
    assert (command.output, command.wandb) == (Path(output), "elitefurretai-production")
    assert f"# Train with: {line.removeprefix('next: ')}" in Path("ours.yaml").read_text()


def test_without_a_policy_to_begin_from_the_network_is_a_transformer() -> None:
    imported = read({})
    assert (imported.settings.network.kind, imported.settings.network.size) == ("transformer", "s")
    (sentence,) = said_of(imported, "checkpoint_path")
    assert "a transformer of size s" in sentence
    # With one it is that policy's.
    assert read(plan(FAST)).settings.network == Network()


def test_keys_of_what_is_switched_off_are_named() -> None:
    imported = read({"max_portfolio_size": 3, "exploiter_train_steps": 9, "wandb_project": "p"})
    assert "without use_portfolio_regularization" in said_of(imported, "max_portfolio_size")[0]
    assert "without train_exploiters" in said_of(imported, "exploiter_train_steps")[0]
    assert "without use_wandb" in said_of(imported, "wandb_project")[0]


def test_a_folder_that_names_no_format_leaves_the_usual_one_and_says_so() -> None:
    imported = read({"team_pool_path": "teams/mine"})
    assert "format" not in imported.settings.game_settings
    assert "names no format" in said_of(imported, "team_pool_path")[0]


def test_a_policy_to_begin_from_that_is_not_there_is_told(tmp_path: Path) -> None:
    file = tmp_path / "clone.pt"
    (said,) = said_of(read(plan(FAST, checkpoint_path=str(file))), "checkpoint_path")
    assert said.startswith(f"checkpoint_path {file}: there is no such file yet; make one with")
    assert "`lanista imitate`" in said
    assert "--supervised-checkpoint" in said
    file.touch()
    assert not said_of(read(plan(FAST, checkpoint_path=str(file))), "checkpoint_path")


def test_the_best_of_a_portfolio_are_found_by_matches_against_bots() -> None:
    values = {"use_portfolio_regularization": True, "portfolio_update_strategy": "best"}
    settings = read(values | {"portfolio_add_interval": 70}).settings
    assert settings.evaluation.every == settings.learning.portfolio_every == 70
    assert settings.evaluation.bots == ("random", "max_power", "heuristic")


def test_updates_done_elsewhere_are_taken_off() -> None:
    assert read(plan(FAST), done=4000).settings.iterations == 6000
    with pytest.raises(SettingsError, match="max_updates is missing"):
        read({}, done=1)


def test_a_file_belongs_to_the_program_that_knows_its_keys() -> None:
    assert plan_of(plan(FAST)) is plan_of(plan(PRODUCTION)) is SHOWDOWN
    assert plan_of({"total_iterations": 3}) is BEASTYBAR


def test_a_plan_given_as_settings_is_refused_with_the_command_that_reads_it(capsys: Any) -> None:
    assert cli.main(["rl", "--config", str(FAST), "--output", "never.safetensors"]) == 2
    assert f"lanista config import {FAST} --output FILE" in capsys.readouterr().err


def test_the_page_names_every_key() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [key for key in SHOWDOWN.keys if f"`{key}`" not in text] == []


# On the real simulator.


SMALL = {"kind": "mlp", "width": 8, "layers": 1}
TINY = [
    "--set", "iterations=2", "rollouts.matches=2", "rollouts.slots=2",
    "league.round=1", "league.main.snapshot_decisions=10", "learning.reference_every=1",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with both plans, and nothing of what they name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "models").mkdir(parents=True)
    (tmp_path / "fast_test.yaml").write_bytes(FAST.read_bytes())
    (tmp_path / "production.yaml").write_bytes(PRODUCTION.read_bytes())
    return tmp_path


def rows(output: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(output.parent / f"{output.name}.run" / "run.db")) as database:
        return list(database.execute(query))


@needs_simulator
def test_the_page_s_commands_turn_the_minimal_plan_into_a_run_that_is_resumed_and_judged(
    folder: Path, capsys: Any
) -> None:
    policy = folder / "data" / "models" / "bc_action_model.pt"
    untrained({"game": "showdown", "network": SMALL}, policy)
    fenced = PAGE.read_text(encoding="utf-8").split("```")[1::2]
    assert yaml.safe_load(fenced[0].partition("\n")[2]) == plan(FAST)
    lines = fenced[1].partition("\n")[2].splitlines()
    small = [[], TINY, ["--iterations", "3"], ["--games", "2"]]
    assert len(lines) == len(small)
    for line, more in zip(lines, small, strict=True):
        assert cli.main([*shlex.split(line)[1:], *more]) == 0, line
    head = (folder / "showdown.yaml").read_text().split("\n\n")[0]
    assert "# num_workers 2: so many processes play" in head
    output = folder / "artifacts" / "showdown" / "main.safetensors"
    assert load_settings(folder / f"{output}.run" / "config.yaml").iterations == 3
    met = {category for (category,) in rows(output, "SELECT category FROM players")}
    assert {"self", "start", "past"} <= met
    names = {name for (name,) in rows(output, "SELECT name FROM metrics")}
    assert {"reference/loss", "policy/loss", "value/loss"} <= names
    assert "max_power" in capsys.readouterr().out


@needs_simulator
@pytest.mark.slow
def test_the_production_plan_keeps_a_portfolio_and_tests_an_exploiter(folder: Path) -> None:
    teams = folder / "data" / "teams" / "gen9vgc2023regulationc"
    teams.mkdir(parents=True)
    # The one of them that has nothing that came after that format.
    (teams / "one.txt").write_bytes((pool_folder("held-out") / "commander.txt").read_bytes())
    given = {"format": "gen9vgc2023regc", "team_pool_path": str(teams)}
    policy = folder / "data" / "models" / "bc_action_model.pt"
    untrained({"game": "showdown", "game_settings": given, "network": SMALL}, policy)
    assert cli.main(["config", "import", "production.yaml", "--output", "p.yaml"]) == 0
    output = folder / "main.safetensors"
    more = [
        "learning.portfolio_every=1", "learning.portfolio_size=2", "iterations=3",
        "league.exploiter_check_interval=2", "league.exploiter_train_steps=60",
        "league.exploiter_games=10",
    ]  # fmt: skip
    assert cli.main(["rl", "--config", "p.yaml", *TINY, *more, "--output", str(output)]) == 0
    ((tested,),) = rows(output, "SELECT COUNT(*) FROM events WHERE kind LIKE 'exploiter_%'")
    assert tested == 1
    assert rows(output, "SELECT 1 FROM metrics WHERE name = 'portfolio/loss'")
