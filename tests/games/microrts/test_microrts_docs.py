"""docs/guides/microrts.md: its commands run, its recipes are there, its bots and choices are so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from microrts_matches import needs_engine

from lanista.cli import main as cli
from lanista.games.microrts.engine import VERSION
from lanista.games.microrts.engine_bots import SCRIPTS
from lanista.games.microrts.layout import CHOICES, describe
from lanista.pipeline.recipes import settings_of

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "microrts.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    fenced = PAGE.split("```")[1::2]
    return [text.partition("\n")[2] for text in fenced if text.partition("\n")[0] == kind]


@needs_engine
def test_every_command_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (lines,) = blocks("sh")
    for line in lines.splitlines():
        program, *given = shlex.split(line)
        assert program == "lanista"
        assert cli.main(given) == 0, line


def test_the_page_trains_by_recipes_that_are_there_for_this_game():
    named = re.findall(r"--config (\S+)", "".join(blocks("text")))
    assert {settings_of(name).game for name in named} == {"microrts"}
    for name in named:
        assert settings_of(name).rollouts.shaping_scale == 1.0


def test_the_page_installs_the_engine_that_is_looked_for():
    (text,) = blocks("")
    assert "'.[microrts]'" in text
    assert "/share/lanista/microrts" in text
    assert text.endswith(f"gym-microrts=={VERSION}\n")


def test_the_page_names_every_bot_and_counts_choices():
    table = PAGE[PAGE.index("| bots |") : PAGE.index("Matches of the last two rows")]
    assert {*re.findall(r"`(\w+)`", table)} == {*SCRIPTS}
    assert f"the same {CHOICES} choices" in PAGE
    for side in (8, 16):
        assert f"{describe(side, 10, VERSION).choices:,}" in PAGE
