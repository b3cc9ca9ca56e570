"""README and docs: every command can be read as written, every link leads somewhere."""

import re
import shlex
from pathlib import Path

import pytest

from lanista.cli.main import parse
from lanista.cli.usage import UsageError

ROOT = Path(__file__).parents[2]
SKETCHED = {"docs/reference/replays.md", "docs/start/runbook.md"}
"""One shows forms, not commands, the other is for two shells; tests of their own check them."""
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
PAGES = ["README.md", *DOCS]


def commands(page):
    """Return the words of every `lanista ...` line in a page's fenced blocks."""
    fenced = (ROOT / page).read_text(encoding="utf-8").split("```")[1::2]
    lines = [line for text in fenced for line in text.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("lanista ")]


@pytest.mark.parametrize("page", [page for page in PAGES if page not in SKETCHED])
def test_every_command_of_a_page_can_be_read(page):
    for words in commands(page):
        parse([word for word in words if word != "--trust"])  # As `main` takes it out.


def test_commands_are_found_at_all():
    assert len(commands("README.md")) > 10


def test_the_index_leads_to_every_page():
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [page.removeprefix("docs/") for page in DOCS if page != "docs/index.md"]
    assert len(pages) > 30
    assert [page for page in pages if f"({page})" not in text] == []


def test_the_readme_names_every_command():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.split("## Commands")[1].split("```")[0]
    with pytest.raises(UsageError, match="name one of") as error:
        parse([])
    names = str(error.value).partition("name one of ")[2].rstrip(".").split(", ")
    assert len(names) > 15
    assert [name for name in names if f"`{name}`" not in table] == []


def links(page):
    """Return the files of the repository that a page links to."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file(page):
    beside = (ROOT / page).parent
    assert [target for target in links(page) if not beside.joinpath(target).is_file()] == []


def test_links_are_found_at_all():
    assert len(links("README.md")) > 10
    assert sum(bool(links(page)) for page in PAGES) > 10
