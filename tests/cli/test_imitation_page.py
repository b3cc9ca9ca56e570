"""docs/guides/imitation.md: its commands and its recipe do what it says, made small."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from lanista.cli.main import main
from lanista.learn.imitation.settings import Dagger
from lanista.nets.files.policy_file import load_policy
from lanista.pipeline.recipe import load_recipe, with_overrides
from lanista.pipeline.resolve_recipe import settled
from lanista.pipeline.runner import conduct

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "imitation.md").read_text()
SMALL = {
    "--dagger-rounds": "1",
    "--dagger-matches": "6",
    "--network.width": "16",
    "--network.layers": "1",
}


def dagger_commands() -> list[list[str]]:
    lines = [line for text in PAGE.split("```")[1::2] for line in text.splitlines()]
    return [shlex.split(line) for line in lines if "--dagger-rounds" in line]


def small(words: list[str]) -> list[str]:
    """Return a command with the numbers that cost time made small."""
    for flag, value in SMALL.items():
        if flag in words:
            words[words.index(flag) + 1] = value
    return [*words, "--evaluation-matches", "4"]


def test_a_clone_comes_of_a_teacher_with_and_without_a_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    record = "play beastybar --seats outcome,outcome --matches 8 --record data/processed"
    assert main(record.split()) == 0
    commands = dagger_commands()
    assert len(commands) == 2
    for number, (program, *words) in enumerate(commands):
        assert program == "lanista"
        words[words.index("--output") + 1] = f"clone{number}"
        assert main(small(words)) == 0
        assert "round 1 of 1:" in capsys.readouterr().out
    assert load_policy(Path("clone0")).policy.network.symmetry == 8


def test_the_recipe_runs(tmp_path: Path) -> None:
    (text,) = (text for text in PAGE.split("```")[1::2] if text.startswith("yaml"))
    values: dict[str, Any] = yaml.safe_load(text.partition("\n")[2])
    smaller = with_overrides(
        values,
        ["stages.imitate.network.width=16", "stages.imitate.imitation.dagger.rounds=1",
         "stages.imitate.imitation.dagger.matches=6", "game_settings.duration=4.0",
         "stages.imitate.evaluation_matches=4"],
    )  # fmt: skip
    conduct(settled(load_recipe(smaller)), tmp_path / "run")
    assert (tmp_path / "run" / "imitation.safetensors").is_file()


def test_the_page_names_every_setting_of_dagger() -> None:
    flags = {"teacher": "--teacher"}
    for name in vars(Dagger()):
        assert f"`{flags.get(name, f'--dagger-{name}')}" in PAGE
