"""The faults that can be planted in a Cython file, found in its tokens.

Cython has no syntax tree that Python's parser can read, so only what a token says is mutated,
inside the bodies of functions. Runs nothing.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from mutants.operators import Mutation

SWAPPED = {
    "+": ("sign", "-"), "-": ("sign", "+"), "+=": ("sign", "-="), "-=": ("sign", "+="),
    "<": ("compare", "<="), "<=": ("compare", "<"), ">": ("compare", ">="), ">=": ("compare", ">"),
    "==": ("compare", "!="), "!=": ("compare", "=="), "and": ("condition", "or"),
    "or": ("condition", "and"), "True": ("off by one", "False"), "False": ("off by one", "True"),
    "&": ("sign", "|"), "|": ("sign", "&"), "<<": ("sign", ">>"), ">>": ("sign", "<<"),
    "continue": ("lost effect", "break"), "break": ("lost effect", "continue"),
    "not": ("condition", ""),
}  # fmt: skip
_FUNCTION = re.compile(r"^\s*(?:cdef|cpdef|def)\b[^=]*?\b(\w+)\s*\(")
_PASSED_OVER = re.compile(
    r"^\s*(?:raise|assert|import|from|cimport|ctypedef|cdef extern|@|class)\b"
)


def mutations(path: str, text: str) -> list[Mutation]:
    """Return every fault that can be planted in a Cython file, in the order of its lines."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    result = []
    for token, scope in _tokens(text):
        for operator, replacement in _faults(token):
            start = starts[token.start[0] - 1] + token.start[1]
            end = starts[token.end[0] - 1] + token.end[1]
            line = token.start[0]
            result.append(Mutation(path, operator, line, line, start, end, replacement, scope))
    return result


def _faults(token: tokenize.TokenInfo) -> Iterator[tuple[str, str]]:
    if token.string in SWAPPED:
        yield SWAPPED[token.string]
    elif token.type == tokenize.NUMBER and token.string.isdigit():
        yield "off by one", str(int(token.string) + 1)
    elif token.type == tokenize.NAME and token.string in {"seat", "slot"}:
        yield "seat", f"(1 - {token.string})"


def _tokens(text: str) -> Iterator[tuple[tokenize.TokenInfo, str]]:
    """Yield the tokens of statements in functions, each with the function's name."""
    lines, scope, passed_over = text.splitlines(), "", False
    previous = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if previous is None or previous.type in {tokenize.NEWLINE, tokenize.NL}:
            line = lines[token.start[0] - 1] if token.start[0] <= len(lines) else ""
            begins = _FUNCTION.match(line)
            scope = begins[1] if begins else scope
            is_declared = re.match(r"^\s*cdef\b", line) is not None and "=" not in line
            if previous is None or previous.type == tokenize.NEWLINE:
                passed_over = bool(begins or _PASSED_OVER.match(line) or is_declared)
        if scope and not passed_over and not _is_pointer(lines, token):
            yield token, scope
        previous = token


def _is_pointer(lines: list[str], token: tokenize.TokenInfo) -> bool:
    """Return whether a `<` or `>` belongs to a cast such as `<int32_t *>`."""
    if token.string not in {"<", ">"}:
        return False
    return (
        re.search(r"<\s*(?:const\s+)?\w+[\w ]*\*{0,2}\s*>", lines[token.start[0] - 1]) is not None
    )
