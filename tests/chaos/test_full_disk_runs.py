"""Training on a full disk ends with one sentence, and goes on from there when there is room."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from disks import small_disk

from lanista.cli.main import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a tmpfs is a Unix thing")
SHORT = ("--rounds", "1", "--rl-iterations-per-round", "2", "--actor-rollouts", "8", "--cpu")


@pytest.mark.parametrize("room", [0, 150_000])
@pytest.mark.parametrize("command", ["rl", "league"])
def test_a_run_on_a_full_disk_ends_with_a_sentence_and_can_be_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, room: int
) -> None:
    with small_disk(tmp_path / "disk", 16 << 20) as disk:
        words = {
            "rl": ["rl", "--output", str(disk.path / "p.safetensors")],
            "league": ["league", "--output-dir", str(disk.path / "league")],
        }[command]
        more = {
            "rl": ["--config", "kuhn-ppo", "--iterations", "2", "--save-every", "1"],
            "league": ["--game", "kuhn", *SHORT],
        }[command]
        disk.fill(room)
        assert main([*words, *more]) == 1
        said = capsys.readouterr().err
        assert "Traceback" not in said
        assert "no space left on device" in said.splitlines()[-1].lower()
        disk.clear()
        began = any(path.name.endswith((".run", "league")) for path in disk.path.iterdir())
        assert main([*words, *(["--resume"] if began else more)]) == 0
