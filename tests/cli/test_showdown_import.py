"""`lanista showdown import-logs`, and `lanista imitate` on what it made."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lanista.cli.main import main
from lanista.games.contract import GameError
from lanista.games.showdown.install import find, find_node

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from battle_log_files import write_logs


def missing() -> str:
    try:
        find_node()
        find()
    except GameError as error:
        return str(error)
    return ""


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "it is there")


def test_logs_are_imported_and_imitated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs, data = write_logs(tmp_path / "logs.jsonl", 40), tmp_path / "data"
    with logs.open("a") as file:
        file.write("not a log\n")
    assert main(["showdown", "import-logs", str(logs), "--output", str(data)]) == 0
    said = capsys.readouterr().out
    assert "logs: 41 read, 40 used, 1 left out" in said
    assert "1 holds no protocol lines" in said
    assert "decisions: 480 known (85.7%), 0 known in part, 80 unknown" in said
    policy = tmp_path / "clone.safetensors"
    folders = ["--feedback-dir", str(data), "--reports-live-dir", str(data)]
    learning = ["--epochs", "3", "--batch-size", "32", "--lr", "1e-2", "--network.width", "16"]
    quick = ["--evaluation-matches", "0", "--cpu", "--threads", "1", "--network.kind", "mlp"]
    assert main(["imitate", *folders, "--output", str(policy), *learning, *quick]) == 0
    told = json.loads(policy.with_name(f"{policy.name}.json").read_text())
    assert told["data"]["sources"] == ["spectator"]
    # One side draws one of four moves, the other always uses the same: 1/4 and 1 at best.
    accuracy = told["held_out"]["heads"][0]["accuracy"]
    assert accuracy > 0.5


def test_nothing_to_learn_from_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "x.log"
    log.write_text("nothing")
    assert main(["showdown", "import-logs", str(log), "--output", str(tmp_path / "d")]) == 2
    assert "nothing was written" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()
