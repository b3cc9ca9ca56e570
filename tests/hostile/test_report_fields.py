"""Script in any text of a run's folder is shown by the report as text, or the run is refused."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch

from lanista.cli.main import main
from lanista.runs.settings import load_settings
from lanista.training.loop import train

MARKUP = '</script></pre><img src=x onerror="alert(1)"><script>alert(1)</script>'
LEAGUE = {
    "game": "kuhn",
    "iterations": 2,
    "network": {"width": 8, "layers": 1},
    "rollouts": {"matches": 8, "opponents": ["self", "random"]},
    "evaluation": {"every": 1, "exact": "never", "bots": ["random"], "matches": 4},
    "league": {"round": 1, "main": {"snapshot_decisions": 1}},
}


class Tags(HTMLParser):
    """The tags of a page, and every attribute that a browser would run."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.handlers: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("league") / "run"
    assert train(load_settings(LEAGUE), folder / "main.safetensors", folder=folder) == 0
    return folder


def texts(folder: Path) -> list[tuple[str, str]]:
    """Return every table and column of the run's database that holds text."""
    with closing(sqlite3.connect(folder / "run.db")) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
        return [
            (table, column[1])
            for table in tables
            for column in database.execute(f"PRAGMA table_info({table})")
            if "TEXT" in column[2].upper()
        ]


def poisoned(value: Any) -> Any:
    """Return a value with markup behind every text in it."""
    if isinstance(value, dict):
        return {f"{key}": poisoned(each) for key, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each) for each in value]
    return value + MARKUP if isinstance(value, str) else value


def poisoned_text(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return text + MARKUP
    return json.dumps(poisoned(value)) if isinstance(value, dict | list) else text + MARKUP


def report(folder: Path) -> Tags | None:
    """Return the page of a run; None where the run is refused with a sentence."""
    output = folder / "report"
    code = main(["report", str(folder), "--output-dir", str(output)])
    assert code in (0, 2, 3)
    return Tags((output / "report.html").read_text(encoding="utf-8")) if code == 0 else None


def test_markup_in_every_text_of_the_database_stays_text(league, tmp_path, capsys):
    sound = report(shutil.copytree(league, tmp_path / "sound"))
    assert sound is not None
    columns, shown = texts(league), 0
    assert len(columns) > 10
    for number, (table, column) in enumerate(columns):
        folder = shutil.copytree(league, tmp_path / str(number))
        with closing(sqlite3.connect(folder / "run.db")) as database, database:
            database.create_function("poison", 1, lambda text: text and poisoned_text(text))
            database.execute(f"UPDATE OR IGNORE {table} SET {column} = poison({column})")
        page = report(folder)
        assert "Traceback" not in capsys.readouterr().err
        if page is not None:
            shown += 1
            assert page.names.count("script") == sound.names.count("script"), (table, column)
            assert page.names.count("img") == sound.names.count("img"), (table, column)
            assert page.handlers == sound.handlers, (table, column)
    assert shown >= 8


def test_markup_in_the_settings_and_the_folders_name_stays_text(league, tmp_path):
    sound = report(shutil.copytree(league, tmp_path / "sound"))
    folder = shutil.copytree(league, tmp_path / MARKUP.replace("/", "∕"))
    with (folder / "config.yaml").open("a", encoding="utf-8") as file:
        file.write(f"# {MARKUP}\n")
    page = report(folder)
    assert page is not None
    assert sound is not None
    assert page.names.count("script") == sound.names.count("script")
    assert page.handlers == sound.handlers
