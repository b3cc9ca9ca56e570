"""Regular expressions of the package stay linear on text that was made to slow them down."""

from __future__ import annotations

import ast
import json
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "lanista"
LENGTH = 200_000
"""Letters of a hostile text: a quadratic pattern takes more than 10^10 steps on so many."""
CPU_SECONDS = 60
"""Ends a hang; a linear pattern takes hundredths of a second."""
USES = frozenset(("match", "search", "fullmatch", "sub", "split", "findall", "finditer"))
METHODS = ("compile", *sorted(USES))
_CALL = rf"re\.({'|'.join(METHODS)})"
_USE = r"(?:_[A-Z_]+|shape|pattern|shown)\.(\w+)\("
"""How a module uses the patterns that it has compiled."""
FLAGS = {"DOTALL": re.DOTALL, "IGNORECASE": re.IGNORECASE, "MULTILINE": re.MULTILINE}


@dataclass(frozen=True)
class Pattern:
    """A pattern and how it is used."""

    module: str
    text: str
    flags: int
    methods: frozenset[str]


def patterns() -> list[Pattern]:
    """Return every pattern in the sources."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and re.fullmatch(_CALL, ast.unparse(node.func)):
                names = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
                flags = sum(int(flag) for name, flag in FLAGS.items() if name in names)
                module = path.relative_to(SOURCE).as_posix()
                if (text := literal(node.args[0])) is not None:
                    methods = frozenset(names & USES) or frozenset(re.findall(_USE, source))
                    found.append(Pattern(module, text, flags, methods & USES))
    return found


def literal(node: ast.expr) -> str | None:
    """Return a pattern's text, `x` in the place of values; None where a name stands for it."""
    if isinstance(node, ast.Constant):
        return node.value.decode() if isinstance(node.value, bytes) else str(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = (each.value if isinstance(each, ast.Constant) else "x" for each in node.values)
        return "".join(str(part) for part in parts)
    if isinstance(node, ast.BinOp):
        return (literal(node.left) or "x") + (literal(node.right) or "x")
    return None


def sample(tokens: Any) -> str:
    """Return a text that parsed tokens match, repeats as often as they must and once more."""
    return "".join(piece for code, value in tokens for piece in one(code, value))


def one(code: Any, value: Any) -> list[str]:
    if code is codes.LITERAL:
        return [chr(value)]
    if code is codes.NOT_LITERAL:
        return ["a" if value != ord("a") else "b"]
    if code is codes.ANY:
        return ["a"]
    if code is codes.IN:
        return [member(value)]
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        least, most, inner = value
        return [sample(inner) * min(least + 1, int(most))]
    if code is codes.SUBPATTERN:
        return [sample(value[3])]
    if code is codes.BRANCH:
        return [sample(value[1][0])]
    return []


def member(choices: Any) -> str:
    """Return a letter of a set."""
    letters = ["a", "1", *map(chr, range(32, 127)), *map(chr, range(32))]
    return next(letter for letter in letters if belongs(letter, choices))


def belongs(letter: str, choices: Any) -> bool:
    negated = choices[0][0] is codes.NEGATE
    inside = False
    for code, value in choices:
        if code is codes.LITERAL:
            inside |= ord(letter) == value
        elif code is codes.RANGE:
            inside |= value[0] <= ord(letter) <= value[1]
        elif code is codes.CATEGORY:
            inside |= {
                codes.CATEGORY_DIGIT: letter.isdigit(),
                codes.CATEGORY_SPACE: letter.isspace(),
                codes.CATEGORY_NOT_SPACE: not letter.isspace(),
                codes.CATEGORY_WORD: letter.isalnum() or letter == "_",
                codes.CATEGORY_NOT_WORD: not (letter.isalnum() or letter == "_"),
            }[value]
    return inside != negated


def pumps(text: str, flags: int, length: int) -> list[str]:
    """Return hostile texts: each repeat pumped up behind what leads to it, each start repeated."""
    pieces = set()
    for tokens in flat(parser.parse(text, flags)):
        for at, (code, value) in enumerate(tokens):
            before = sample(tokens[:at])
            unit = sample(value[2]) if code in (codes.MAX_REPEAT, codes.MIN_REPEAT) else ""
            unit = unit or sample([(code, value)])
            pieces |= {(before, piece) for piece in (unit, before + unit) if piece}
    return [
        before + piece * (length // len(piece)) + end
        for before, piece in sorted(pieces)
        for end in ("", "\0")
    ]


def flat(tokens: Any) -> list[list[Any]]:
    """Return tokens without groups, once for each way through their branches."""
    ways: list[list[Any]] = [[]]
    for code, value in tokens:
        inner = [[(code, value)]]
        if code is codes.SUBPATTERN:
            inner = flat(value[3])
        elif code is codes.BRANCH:
            inner = [way for branch in value[1] for way in flat(branch)]
        ways = [way + more for way in ways for more in inner]
    return ways


CHILD = """
import json, re, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]),) * 2)
for text, flags, methods, hostile in json.load(sys.stdin):
    pattern = re.compile(text, flags)
    for each in hostile:
        for method in methods:
            getattr(pattern, method)(*(('', each) if method == 'sub' else (each,)))
    print('done', flush=True)
"""


def unsurvived(work: list[Pattern], cpu: int = CPU_SECONDS) -> list[str]:
    """Return the patterns from the first one that does not come to an end."""
    told = [
        (each.text, each.flags, sorted(each.methods), pumps(each.text, each.flags, LENGTH))
        for each in work
    ]
    command = [sys.executable, "-c", CHILD, str(cpu)]
    ran = subprocess.run(
        command, input=json.dumps(told), capture_output=True, text=True, check=False
    )
    assert ran.returncode in (0, -signal.SIGXCPU, -signal.SIGKILL), ran.stderr
    return [each.text for each in work][ran.stdout.count("\n") :]


@pytest.mark.parametrize(
    ("text", "method"),
    [
        # What `showdown import-logs` and the settings once had.
        (r'<script\b[^>]*\bclass="[^"]*\bdata\b[^"]*"[^>]*>(.*?)</script>', "search"),
        (r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", "fullmatch"),
    ],
)
def test_the_hostile_texts_catch_a_quadratic_pattern(text: str, method: str) -> None:
    assert unsurvived([Pattern("", text, 0, frozenset((method,)))], cpu=2) == [text]


def test_all_patterns_are_found() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py")))
    written = len(re.findall(rf"\bre\.(?:{'|'.join(METHODS)})\(", text))
    # Built of escaped words by replays.py and record.py, and a kind's mark in files.py.
    named = {"pattern", "name", "mark"}
    assert written - len(patterns()) == len(named)


def test_every_pattern_is_linear_on_hostile_text() -> None:
    assert unsurvived(patterns()) == []
