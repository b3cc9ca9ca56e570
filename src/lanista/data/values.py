"""Values read from JSON lines, each checked before it is believed.

Every refusal is one sentence without the file's name, which whoever reads the file adds. Knows
nothing of what the values are for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

from lanista.data.lines import ReplayError
from lanista.text import quoted

LARGEST_WORD = 2**63 - 1
_LONGEST_NAME = 200
# More brackets than any line has: refused before a parser makes an object of each.
_MOST_BRACKETS = 1024


def parse_line(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line."""
    if line.count(b"[") + line.count(b"{") > _MOST_BRACKETS:
        raise ReplayError("it nests more lists and objects than a replay or a feedback stream has.")
    try:
        value = json.loads(
            line.decode("utf-8"), object_pairs_hook=_without_repeats, parse_constant=_no_constant
        )
    except UnicodeDecodeError as problem:
        raise ReplayError("it is not UTF-8 text.") from problem
    except RecursionError as problem:
        raise ReplayError("it is nested too deeply.") from problem
    except ValueError as problem:
        # A number of more than 4,300 digits is a plain ValueError.
        fault = "not JSON" if isinstance(problem, json.JSONDecodeError) else "no usable JSON"
        raise ReplayError(f"it is {fault}.") from problem
    if type(value) is not dict:
        raise ReplayError(f"it is {quoted(value)}, not a JSON object.")
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is given twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def wrong(label: str, value: object, expected: str) -> NoReturn:
    """Refuse a value, saying what it must be."""
    raise ReplayError(f"{label} is {quoted(value)}; it must be {expected}.")


def keys(
    label: str, value: dict[str, Any], required: Iterable[str], optional: Iterable[str] = ()
) -> None:
    """Refuse an object that lacks a `required` key, or has one that is not even `optional`."""
    missing = [key for key in required if key not in value]
    unknown = sorted(set(value) - {*required, *optional})
    if missing:
        raise ReplayError(f"{label} has no {missing[0]!r}.")
    if unknown:
        raise ReplayError(f"{label} has an unknown key {quoted(unknown[0])}.")


def whole(label: str, value: Any, high: int = LARGEST_WORD) -> int:
    """Return a whole number from 0 to `high`."""
    if type(value) is not int or not 0 <= value <= high:
        wrong(label, value, f"a whole number from 0 to {high}")
    return value


def text(label: str, value: Any) -> str:
    """Return a text of a name's length."""
    if type(value) is not str or len(value) > _LONGEST_NAME:
        wrong(label, value, f"a text of at most {_LONGEST_NAME} letters")
    return value


def list_of(label: str, value: Any, low: int, high: int) -> list[Any]:
    """Return a list of `low` to `high` entries."""
    if type(value) is not list or not low <= len(value) <= high:
        count = str(low) if low == high else f"{low} to {high}"
        wrong(label, value, f"a list of {count}")
    return value


def settings_of(value: Any) -> dict[str, Any]:
    """Return a game's settings: plain values by name."""
    if type(value) is not dict:
        wrong("settings", value, "an object")
    for name, entry in value.items():
        text("a setting's name", name)
        if type(entry) is str:
            text(f"setting {quoted(name)}", entry)
        elif type(entry) not in (int, float, bool, type(None)):
            wrong(f"setting {quoted(name)}", entry, "a number, a text, true, false or null")
        elif type(entry) in (int, float) and not (
            abs(entry) <= LARGEST_WORD and math.isfinite(entry)
        ):
            wrong(f"setting {quoted(name)}", entry, "a number of 64 bits")
    return value
