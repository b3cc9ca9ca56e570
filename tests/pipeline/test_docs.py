"""The pages training.md and runs.md: every command runs, every setting and table is there."""

import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from pipeline_runs import untrained

from lanista.cli import main as cli
from lanista.learn.schedules import SCHEDULES
from lanista.learn.term_table import term_names
from lanista.runs.schema import TABLES
from lanista.runs.serialise import flat
from lanista.runs.settings import RunSettings, load_settings
from lanista.training.loop import train

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page, kind):
    fenced = (DOCS / page).read_text().split("```")[1::2]
    return [text.partition("\n")[2] for text in fenced if text.partition("\n")[0] == kind]


def commands(page):
    return [line for text in blocks(page, "sh") for line in text.splitlines() if line]


def words(line):
    """Return a line's words, its networks and batches made small."""
    found = shlex.split(line)
    if found[:2] == ["lanista", "rl"] and "--config" in found:
        small = ["--set", "network.width=8", "network.layers=1", "rollouts.matches=16"]
        found += [*small, "evaluation.every=0"]
    return found


@pytest.mark.parametrize("page", ["guides/training.md", "reference/runs.md"])
def test_every_command_of_a_page_runs_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "artifacts" / "alphastar").mkdir(parents=True)
    arena = {"game": "arena", "network": {"width": 8, "layers": 1}}
    untrained(arena, tmp_path / "artifacts" / "alphastar" / "pi_sup.pt")
    lines = commands(page)
    assert len(lines) >= 4
    for line in lines:
        program, *given = words(line)
        if program == "lanista":
            assert cli.main(given) == 0, line
        else:
            assert program == "sqlite3"
            file, query = given
            with closing(sqlite3.connect(file)) as database:
                assert len(database.execute(query).fetchall()) == 6


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_settings_on_the_page_train(tmp_path, number):
    text = [*blocks("guides/training.md", "yaml")][number]
    settings = load_settings(yaml.safe_load(text))
    assert train(settings, tmp_path / "p.pt") == 0


def test_the_page_names_every_term_and_schedule():
    text = (DOCS / "guides/training.md").read_text()
    assert all(f"`{name}`" in text for name in term_names())
    (kinds,) = re.findall(r"`kind: ([^`]*)`", text)
    assert [*kinds.split(", ")] == [*SCHEDULES]


def test_the_page_names_only_settings_that_exist():
    known = dict(flat(RunSettings()))
    for page, least in (("guides/training.md", 10), ("reference/runs.md", 1)):
        names = re.findall(
            r"`((?:rollouts|replay|evaluation|checkpoints|learning)\.\w+)\b",
            (DOCS / page).read_text(),
        )
        assert len({*names}) >= least
        assert [name for name in names if name not in known and name != "learning.terms"] == []


def test_the_page_names_every_file_of_a_runs_folder(tmp_path):
    settings = {"game": "kuhn", "iterations": 2, "network": {"width": 8, "layers": 1}}
    settings |= {"rollouts": {"matches": 8}, "checkpoints": {"save_every": 1, "slim": True}}
    assert train(load_settings(settings), tmp_path / "p") == 0
    text = (DOCS / "reference/runs.md").read_text()
    names = {path.name for path in (tmp_path / "p.run").iterdir()}
    assert {"critic.safetensors", "needed.txt"} <= names
    assert [name for name in names if not re.search(rf"^  {name}[ /]", text, re.MULTILINE)] == []


def test_the_page_names_every_table():
    text = (DOCS / "reference/runs.md").read_text()
    assert all(f"| `{table}` |" in text for table in TABLES)
