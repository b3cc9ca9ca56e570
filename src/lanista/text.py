"""Text from files, servers and file names, made fit for a terminal.

A name can hold escape sequences that move the cursor, change colours or reverse the line. What
comes from outside passes through here before anyone sees it; whatever slips by is caught at the
exits (terminal.py). Knows nothing of where text comes from and goes to.
"""

from __future__ import annotations

import re

_COLOUR = re.compile("\x1b\\[[0-9;]*m")
# C0 without tab and line feed, DEL and C1, marks and overrides of direction, line separators, and
# halves of letters, which cannot be written at all.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(value: object, most: int = 120) -> str:
    """Return `value` as text of one line, at most `most` long, without control characters."""
    text = str(value)
    shown = text if text.isprintable() else "".join(_visible(letter) for letter in text[:most])
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def quoted(value: object, most: int = 60) -> str:
    """Return a value read from a file as one would write it in Python, cut to `most`."""
    shown = ascii(value[: most + 1] if isinstance(value, str | list) else value)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def without_controls(text: str) -> str:
    """Return text of any lines and length in which control characters are written out.

    Colours are left out: libraries of others bring their own.
    """
    if not _UNFIT.search(text):
        return text
    return _UNFIT.sub(lambda match: _escaped(match[0]), _COLOUR.sub("", text))


def markdown_cell(value: object, most: int = 300) -> str:
    """Return text as a cell of a Markdown table shows it letter by letter."""
    shown = "".join(f"\\{sign}" if sign in "\\`*|" else sign for sign in printable(value, most))
    # An interval's brackets stay as they are: only with this after them they would make a link.
    return shown.replace("](", "]\\(").replace("&", "&amp;").replace("<", "&lt;")


def _visible(letter: str) -> str:
    return letter if letter.isprintable() else _escaped(letter)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")
