"""The page of promises: every test, command, flag, setting and file that it names exists."""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import fields
from functools import cache
from pathlib import Path

from lanista.cli.commands import every_command
from lanista.cli.common.outputs import flag_of
from lanista.cli.main import parse
from lanista.runs.serialise import build, flat
from lanista.runs.settings import RunSettings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "seeds.md"
SECTIONS = ("network", "learning", "rollouts", "league", "evaluation", "checkpoints", "replay")


def rows() -> list[tuple[str, str, str]]:
    """Return promise, what does it here, and the test, of every row of the page's tables."""
    cells = [
        tuple(cell.strip() for cell in line.strip().strip("|").split(" | "))
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and not line.startswith("| promise ")
    ]
    assert all(len(row) == 3 for row in cells), [row for row in cells if len(row) != 3]
    return cells  # type: ignore[return-value]


ROWS = rows()


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


HERE = [word for _, here, _ in ROWS for word in quoted(here)]


@cache
def functions(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def flags_of(name: str) -> set[str]:
    """Return the flags of a command, by its words."""
    command = dict(every_command())[name].load()
    return {flag_of(command, field.name) for field in fields(command)}


def test_there_are_rows_at_all() -> None:
    assert len(ROWS) > 50
    assert all(promise and here and test for promise, here, test in ROWS)


def test_every_row_names_a_test_that_exists() -> None:
    wrong = []
    for promise, _, cell in ROWS:
        names = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", cell)
        missing = [name for file, name in names if name not in functions(ROOT / file)]
        if not names or missing:
            wrong.append((promise, cell))
    assert wrong == []


def test_every_command_of_the_page_can_be_read() -> None:
    lines = [word for word in HERE if word.startswith("lanista ")]
    assert len(lines) >= 5
    names = {name for name, _ in every_command()}
    for line in lines:
        words = shlex.split(line)[1:]
        flags = [word for word in words if word.startswith("--")]
        name = " ".join(words[:2]) if " ".join(words[:2]) in names else words[0]
        if len(words) > len(name.split()) + len(flags):  # With arguments: the line as it stands.
            parse(words)
            continue
        assert name in names, line
        assert set(flags) <= flags_of(name), line


def test_every_flag_of_the_page_exists() -> None:
    flags = {word.split()[0] for word in HERE if word.startswith("--")}
    existing = {flag for name, _ in every_command() for flag in flags_of(name)}
    assert flags
    assert flags <= existing


def test_every_setting_of_the_page_exists() -> None:
    settings = build(RunSettings, {"game": "beastybar", "league": {}, "replay": {"size": 8}})
    keys = {key for key, _ in flat(settings)}
    named = {word for word in HERE if word.partition(".")[0] in SECTIONS and "." in word}
    assert len(named) > 20
    terms = {word for word in named if word.startswith("learning.terms.")}
    assert sorted(named - keys - terms) == []
    for word in terms:
        build(RunSettings, {"game": "kuhn", "learning": {"terms": {word.split(".")[2]: 1.0}}})


def test_every_script_and_recipe_of_the_page_exists() -> None:
    files = [word for word in HERE if word.startswith(("tests/", "recipes/", "examples/"))]
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_make_test_checks_types_lint_and_tests() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = dict(re.findall(r"^(\w+):(.*(?:\n\t.*)*)", text, re.MULTILINE))
    assert "check" in rules["test"]
    assert "pytest" in rules["test"]
    for tool in ("ruff check", "ruff format --check", "mypy", "lint-imports"):
        assert tool in rules["check"]
