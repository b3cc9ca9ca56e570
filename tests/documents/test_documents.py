"""The documents' own commands, as scripts of ours with small sizes: every line works."""

from __future__ import annotations

import importlib.util
import json
import shlex
import shutil
import sys
from contextlib import closing
from pathlib import Path

import pytest
import torch
import yaml
from live_sessions import on_linux, players
from pipeline_runs import untrained

sys.path.insert(0, str(Path(__file__).parents[1] / "games" / "showdown"))

from showdown_play import needs_simulator

from lanista.cli.main import main
from lanista.games import registry
from lanista.nets.files.policy_file import read_header
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.runs.database import RunDatabase
from lanista.runs.folder import saved_settings
from lanista.runs.schema import MatchmakingRow, MetricRow

needs_poke_env = pytest.mark.skipif(
    importlib.util.find_spec("poke_env") is None, reason="poke-env is not installed"
)
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SMALL = Network("transformer", width=16, layers=1, attention_heads=2, embedding=4, dropout=0.1)


def lines_of(script: str) -> list[list[str]]:
    text = (HERE / script).read_text(encoding="utf-8")
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("lanista ")]


@pytest.fixture
def beastybar(tmp_path: Path) -> Path:
    """Return a folder with what the plan's program has left behind."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "checkpoints" / "v4").mkdir(parents=True)
    shutil.copy(
        ROOT / "tests" / "importers" / "plan_iter600.yaml",
        tmp_path / "configs" / "iter600_to_1000.yaml",
    )
    shutil.copy(ROOT / "examples" / "state_bot.py", tmp_path / "greedy.py")
    torch.manual_seed(1)
    theirs = Policy(registry.spec_of("beastybar"), SMALL)
    optimiser = torch.optim.Adam(theirs.parameters())
    state = {"model_state_dict": theirs.state_dict(), "optimizer": optimiser.state_dict()}
    torch.save({**state, "iteration": 600}, tmp_path / "checkpoints" / "v4" / "final.pt")
    mapping = {
        "game": "beastybar",
        "prefix": "model_state_dict",
        "network": {"kind": "transformer", "width": 16, "layers": 1, "attention_heads": 2,
                    "embedding": 4, "dropout": 0.1},
        "tensors": {name: name for name in theirs.state_dict()},
    }  # fmt: skip
    (tmp_path / "map.yaml").write_text(yaml.safe_dump(mapping))
    return tmp_path


def run_script(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for words in lines_of(script):
        assert main(words) == 0, " ".join(words)


def test_the_plan_for_beasty_bar_runs_from_a_foreign_checkpoint_to_a_report(
    beastybar: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_script("beastybar.sh", beastybar, monkeypatch)
    output = capsys.readouterr().out
    assert "model_state_dict.head.weight" in output
    assert "distilled_outcome" in output
    with closing(RunDatabase(beastybar / "runs" / "iter1000.safetensors.run" / "run.db")) as book:
        temperatures = [row.value for row in book.rows(MetricRow) if row.name == "temperature"]
        first = {row.opponent: row.weight for row in book.rows(MatchmakingRow) if row.update == 1}
        names = {row.name for row in book.rows(MetricRow)}
    assert len(temperatures) == 4
    assert temperatures == sorted(temperatures, reverse=True)
    assert (temperatures[0], first["main"]) == (1.0, pytest.approx(0.5))
    assert {"gradient_norm/policy", "gradient_norm_clipped/policy", "lag/mean"} <= names
    assert any(name.startswith("score/distilled_outcome") for name in names)


def test_the_runbook_for_the_arena_runs_from_recordings_of_two_minutes_to_a_league(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_script("arena.sh", tmp_path, monkeypatch)
    output = capsys.readouterr().out
    for folder in ("reports/feedback_training", "reports/live"):
        assert f"Nothing comes from {folder}: it does not exist." in output
    alphastar = tmp_path / "artifacts" / "alphastar"
    for name in ("pi_sup.pt", "pi_rl_smoke_test.pt", "pi_rl.pt"):
        assert read_header(alphastar / name).settings["duration"] == 120.0
    league = tmp_path / "reports" / "league"
    assert saved_settings(league).game_settings["duration"] == 120.0
    summary = json.loads((league / "summary.json").read_text())
    past = [row["player"] for row in summary["players"] if row["category"] == "past"]
    assert past == ["main/000003"]
    assert [*summary["exploitability_proxy"]] == ["main", "main_exploiter_1", "league_exploiter_1"]
    for row in summary["exploitability_proxy"].values():
        assert (row["opponent"], row["n"]) == ("main/000003", 2)
    ratings = [row["player"] for row in summary["bradley_terry"]["ratings"]]
    assert [*summary["elo"]["ratings"]] == ratings


@needs_simulator
@needs_poke_env
def test_the_guide_for_showdown_runs_from_a_configuration_to_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "tests" / "importers" / "plan_fast_test.yaml", tmp_path / "fast_test.yaml")
    cloned = tmp_path / "data" / "models" / "bc_action_model.pt"
    cloned.parent.mkdir(parents=True)
    network = {"kind": "mlp", "width": 8, "layers": 1}
    untrained({"game": "showdown", "network": network}, cloned)
    run_script("showdown.sh", tmp_path, monkeypatch)
    output = capsys.readouterr().out
    assert "next: lanista rl --config fast.yaml --output artifacts/main.safetensors" in output
    assert "real server" in output
    assert (tmp_path / "runs" / "vgc" / "report" / "report.html").is_file()
    settings = saved_settings(tmp_path / "artifacts" / "main.safetensors.run")
    assert settings.iterations == 3
    assert json.loads((tmp_path / "results.json").read_text())["made_by"] == "lanista profile"


@on_linux
def test_background_training_runs_in_one_command_and_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sc2", reason="burnysc2 is not installed")
    run_script("background.sh", tmp_path, monkeypatch)
    output = capsys.readouterr().out
    assert output.count("took effect.") >= 2
    assert "active workers 0/1" in output
    assert players(tmp_path / "sc2") == []
    assert (tmp_path / "report" / "report.html").is_file()


def test_lines_are_found_at_all() -> None:
    assert len(lines_of("showdown.sh")) == 9
    assert len(lines_of("background.sh")) == 6
    assert len(lines_of("beastybar.sh")) == 9
    assert len(lines_of("arena.sh")) == 8


@pytest.mark.parametrize("script", sorted(path.name for path in HERE.glob("*.sh")))
def test_every_script_is_run_by_a_test_here(script: str) -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert f'run_script("{script}"' in text
