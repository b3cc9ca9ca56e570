"""The one family of errors that reach a user.

Each is one sentence that names the thing, the value and the remedy; the command line prints it
and ends with `exit_code`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LanistaError(Exception):
    """Something the user gave cannot be used as it is."""

    exit_code = 2


class RefusedError(LanistaError):
    """Doing it would lose or endanger something, so nothing was done."""

    exit_code = 3


def nearest(word: str, known: Iterable[str], inside: str = "") -> str:
    """Return a remedy for an unknown `word`: the nearest known one, or all of them.

    `inside` is what the nearest one must be written with, such as `gate.`
    """
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1)
    if close:
        return f"did you mean {inside + close[0]!r}?"
    return f"known: {', '.join(names)}." if names else "none is known."
