"""Text from files and file names, made fit for a terminal.

A name can hold escape sequences that move the cursor, change colours or reverse the line. What
comes from outside passes through here before anyone sees it.
"""

from __future__ import annotations


def printable(value: object, most: int = 120) -> str:
    """Return `value` as text of one line, at most `most` long, without control characters."""
    text = str(value)
    shown = text if text.isprintable() else "".join(_visible(letter) for letter in text[:most])
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def quoted(value: object, most: int = 60) -> str:
    """Return a value read from a file as one would write it in Python, cut to `most`."""
    shown = ascii(value[: most + 1] if isinstance(value, str | list) else value)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _visible(letter: str) -> str:
    if letter.isprintable():
        return letter
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")
