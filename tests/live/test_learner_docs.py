"""docs/guides/learner.md: its commands do what it says, and what it names is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from practice import Bench
from toy import agent_of, view

from lanista.cli.main import main
from lanista.live.files.spool import FOLDERS
from lanista.live.learner.ledger import TABLES, reading
from lanista.live.learner.settings import Gate, LiveSettings
from lanista.runs.serialise import flat

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "learner.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    fenced = [text for text in PAGE.split("```")[1::2] if text.startswith("\n")]
    lines = [line for text in fenced for line in text.splitlines() if line.startswith("lanista")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def test_the_commands_of_the_page_do_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    bench = Bench(tmp_path)
    found = commands()
    assert len(found) == 11
    for words in found:
        bench.play(1, -1)
        if words[0] == "learn":
            words = [*words, "--once"] if "--once" not in words else words
            words = [*words, "--nice", "0"]
        capsys.readouterr()
        code = main(words)
        told = capsys.readouterr()
        # A doctor that has found something says so; one that cannot look at all says 2.
        assert code in ((0, 1) if words[0] == "doctor" else (0,)), told.err
        if "--show-settings" in words:
            Path("learn.yaml").write_text(told.out)
    assert "gate.every=500" in " ".join(found[5])
    assert "every: 500" in Path("policy/learner/settings.yaml").read_text()
    with reading(Path("policy/learner/learn.db")) as ledger:
        assert ledger.count() == 2 * len(found)  # The last command learns from all that waits.
    assert f"`{'`, `'.join(TABLES)}`" in PAGE


def test_the_page_names_every_folder_and_every_kind_of_gate() -> None:
    for name in FOLDERS:
        assert f"| `spool`: `{name}/` |" in PAGE
    kinds = get_args(get_type_hints(Gate)["kind"])
    assert {"live", "simulator", "open"} <= set(kinds)
    for kind in kinds:
        assert f"| `{kind}` |" in PAGE


def test_the_statistics_on_the_page_have_the_words_of_real_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(tmp_path)
    with agent_of(tmp_path) as agent, agent.game("one") as game:
        game.act(view())
        game.end(1)
    where = ["--spool", str(bench.spool.folder), "--policy", str(bench.folder.folder)]
    assert main(["learn", *where, "--once", "--nice", "0"]) == 0
    (shown,) = [text for text in PAGE.split("```")[1::2] if text.startswith("text\n")]
    words = [re.sub(r"\b[0-9a-f]{12}\b|-?[\d.,]+", "#", text).split() for text in (
        shown.removeprefix("text\n"), capsys.readouterr().out,
    )]  # fmt: skip
    assert words[0] == words[1]


def test_the_advice_names_settings_that_there_are() -> None:
    advice = PAGE[PAGE.index("### Which settings") : PAGE.index("## What it says")]
    known = dict(flat(LiveSettings()))
    rows = [line.split("|")[1] for line in advice.splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`([a-z_.]+)`", row)]
    assert {"gate.refresh", "gate.patience", "least_games", "learning.lr"} <= set(named)
    assert set(named) <= set(known)
