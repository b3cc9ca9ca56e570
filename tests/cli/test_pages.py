"""README and docs: every command can be read as written, every link leads somewhere."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from lanista.cli.commands import FAMILIES
from lanista.cli.main import parse

ROOT = Path(__file__).parents[2]
SKETCHED = {"docs/reference/replays.md", "docs/start/runbook.md"}
"""One shows forms, not commands, the other is for two shells; tests of their own check them."""
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *DOCS]
INDEX = "docs/index.md"
FOLDERS = {"start", "guides", "reference", "explanation", "results"}


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def commands(page):
    """Return the words of every `lanista ...` line in a page's fenced blocks."""
    fenced = text_of(page).split("```")[1::2]
    lines = [line for text in fenced for line in text.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("lanista ")]


@pytest.mark.parametrize("page", [page for page in PAGES if page not in SKETCHED])
def test_every_command_of_a_page_can_be_read(page):
    for words in commands(page):
        parse([word for word in words if word != "--trust"])  # As `main` takes it out.


def test_commands_are_found_at_all():
    assert len(commands("README.md")) >= 6
    assert len(commands("docs/start/first-steps.md")) > 10


def test_pages_lie_in_five_folders_and_the_index_leads_to_each():
    pages = [page.removeprefix("docs/") for page in DOCS if page != INDEX]
    assert {page.partition("/")[0] for page in pages} == FOLDERS
    assert [page for page in pages if f"({page})" not in text_of(INDEX)] == []
    assert f"({INDEX})" in text_of("README.md")


def listed(entry):
    """Yield the pages of an entry of the site's navigation."""
    for value in entry.values() if isinstance(entry, dict) else [entry]:
        if isinstance(value, list):
            for inner in value:
                yield from listed(inner)
        else:
            yield value


def test_the_navigation_of_the_site_has_every_page_once():
    navigation = yaml.safe_load(text_of("mkdocs.yml"))["nav"]
    pages = [f"docs/{page}" for entry in navigation for page in listed(entry)]
    assert sorted(pages) == DOCS


def test_the_readme_fits_two_screens():
    assert len(text_of("README.md").splitlines()) <= 80


def test_a_page_names_every_command_in_its_family():
    page = re.split(r"^## (.+)$", text_of("docs/reference/commands.md"), flags=re.MULTILINE)
    shown = {
        family: re.findall(r"^\| `([^`]+)`", rows, re.MULTILINE)
        for family, rows in zip(page[1::2], page[2::2], strict=True)
    }
    assert shown == {family: [*commands] for family, commands in FAMILIES.items()}


def plain(page):
    """Return a page without its fenced blocks and code, which hold no links and headings."""
    return "".join(text_of(page).split("```")[::2])


def links(page):
    """Return what a page links to within the repository, as (file, anchor)."""
    targets = re.findall(r"\]\(([^)\s]+)\)", plain(page))
    return [target.partition("#")[::2] for target in targets if "://" not in target]


def anchors(path):
    """Return the anchors of a page's headings that are the same on GitHub and on the site."""
    headings = re.findall(r"^#+ (.+)$", plain(path), re.MULTILINE)
    shown = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    kept = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in shown]
    return {re.sub(r"\s", "-", heading) for heading in kept if heading.isascii()}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page):
    missing = []
    for file, anchor in links(page):
        target = (ROOT / page).parent.joinpath(file).resolve() if file else ROOT / page
        if not target.is_file() or (anchor and anchor not in anchors(target.relative_to(ROOT))):
            missing.append(f"{file}#{anchor}")
    assert missing == []


def test_pages_link_only_to_what_the_site_holds():
    held = [
        path.resolve() for folder in ("docs", "examples") for path in (ROOT / folder).rglob("*")
    ]
    for page in DOCS:
        targets = {(ROOT / page).parent.joinpath(file).resolve() for file, _ in links(page) if file}
        assert targets <= {*held}, page


def test_links_and_anchors_are_found_at_all():
    assert len(links("README.md")) > 10
    assert sum(bool(links(page)) for page in PAGES) > 10
    assert sum(bool(anchor) for page in PAGES for _, anchor in links(page)) > 10
    assert "one-gpu" in anchors("docs/results/measurements.md")


def test_results_stand_in_one_table_with_the_newest_first():
    text = text_of("docs/results/results.md")
    dates = re.findall(r"^\| (\d{4}-\d\d-\d\d) \|", text, re.MULTILINE)
    assert len(dates) > 20
    assert dates == sorted(dates, reverse=True)
    assert len(re.findall(r"^\|---", text, re.MULTILINE)) == 1
    # `make test-slow` writes its outcome between these.
    marks = re.findall(r'"(<!-- test-slow: \w+ -->)"', text_of("tests/record_slow.py"))
    assert [text.count(mark) for mark in marks] == [1, 1]
