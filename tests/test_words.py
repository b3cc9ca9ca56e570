"""Words: the glossary has the vocabulary, and pages, help, log lines and names keep to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
_LISTED = (
    "game, match, seat, decision, observation, privileged observation, legal mask, action head, "
    "policy, critic, player, bot, agent, snapshot, exploiter, best response, opponent mix, "
    "matchmaking, payoff, rating, rollout, unroll, trajectory, bootstrap, truncation, "
    "reward shaping, entropy bonus, reference KL, magnet, R-NaD reward regularisation, update, "
    "iteration, policy lag, cluster, driver, shard, task, staleness, throughput, bottleneck, "
    "recipe, stage, run, checkpoint, "
    "resume, promotion, gate, rollback, spool, game file, meta-strategy, payoff matrix, damping, "
    "action values over both seats, finished policy"
)
VOCABULARY = _LISTED.split(", ")
BANNED = re.compile(
    r"open mind|\bbent\b|\bthe wall\b(?!.(time|clock))|\bin vain\b|\bhand(ed|s|ing)? out\b"
    r"|\b(takes?|taken|took|taking) ((it|them) )?up\b(?! to\b)|\banew\b"
    r"|\bwho (is|was|are) met\b|\bwho me(e)?ts? whom\b|\bwhom [^.;]{1,20}meets?\b"
    r"|\bknows? not\b",
    re.IGNORECASE,
)
EMPTY_NAMES = {"found", "told", "said", "each", "known", "taken", "asked"}
"""A verb form or a pronoun does not say what a value is."""
KEYS_OF_FILES = {("live/promotion/acceptance.py", "found"), ("data/battle_logs.py", "known")}
"""Fields that are written under their own name: by `policy ready` and by an import of logs."""
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SETTINGS = [*sorted((ROOT / "recipes").rglob("*.yaml"))]
SOURCES = [
    path
    for folder in ("src", "examples", "bench")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "node_modules" not in path.parts
]


def banned(text: str) -> list[str]:
    """Return the banned phrases in a text, whatever its line breaks."""
    return [found[0] for found in BANNED.finditer(re.sub(r"\s+", " ", text))]


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every string of a module, docstrings too, joined with the f-string it is part of."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            pieces = [v.value if isinstance(v, ast.Constant) else "…" for v in node.values]
            yield node.lineno, "".join(map(str, pieces))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every variable, field and parameter of a module where it gets its value."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield node.lineno, name
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield node.lineno, name


def test_each_word_of_the_vocabulary_has_one_sentence_in_the_glossary() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    meanings = [(word, meaning) for word, meaning in rows if word not in ("word", "---")]
    assert sorted(word for word, _ in meanings) == sorted(VOCABULARY)
    sentence = re.compile(r"([^.`]|`[^`]*`)+\.")  # A name in backquotes may have a dot.
    assert [word for word, meaning in meanings if not sentence.fullmatch(meaning)] == []


@pytest.mark.parametrize("path", PAGES + SETTINGS, ids=lambda path: path.name)
def test_pages_and_recipes_use_the_words_of_the_field(path: Path) -> None:
    assert banned(path.read_text(encoding="utf-8")) == []


def test_help_and_log_lines_use_the_words_of_the_field() -> None:
    assert len(SOURCES) > 300
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {phrase}"
        for path in SOURCES
        for line, text in strings(path)
        for phrase in banned(text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    ["rewards an open mind", "The wall: learning", "begins\nanew", "not taken up", "take them up",
     "Whom it meets, with commas", "who meets whom", "Who is met"],
)  # fmt: skip
def test_banned_phrases_are_noticed(text: str) -> None:
    assert banned(text)


@pytest.mark.parametrize("text", ["the wall time", "takes up to 5 games", "who beats whom"])
def test_other_phrases_are_not(text: str) -> None:
    assert banned(text) == []


def test_variables_and_parameters_say_what_they_hold() -> None:
    package = ROOT / "src" / "lanista"
    modules = sorted(package.rglob("*.py"))
    assert len(modules) > 300
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in modules
        for line, name in bound_names(ast.parse(path.read_text(encoding="utf-8")))
        if name in EMPTY_NAMES and (path.relative_to(package).as_posix(), name) not in KEYS_OF_FILES
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    ["found = 1", "found: int", "for found in ():\n    pass", "[1 for found in ()]",
     "(found := 1)", "with open(p) as found:\n    pass", "a, (*found, b) = c",
     "def f(found): pass", "def f(*found): pass", "def f(*, found=1): pass", "lambda found: 1",
     "try:\n    pass\nexcept E as found:\n    pass",
     "match a:\n    case [found]:\n        pass", "match a:\n    case [*found]:\n        pass",
     "match a:\n    case {**found}:\n        pass"],
)  # fmt: skip
def test_a_name_is_noticed_wherever_it_gets_its_value(text: str) -> None:
    assert "found" in [name for _, name in bound_names(ast.parse(text))]


@pytest.mark.parametrize("text", ["a.found()", "def found(): pass", "f(found=1)", "a = found"])
def test_methods_keywords_and_reads_are_no_new_names(text: str) -> None:
    assert "found" not in [name for _, name in bound_names(ast.parse(text))]
