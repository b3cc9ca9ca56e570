"""Says in one sentence why words on the command line cannot be read.

Asked after the parser has refused them; looks at the words and at what the command takes, not at
what the parser printed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanista.cli.arguments import Argument
from lanista.errors import nearest

EVERYWHERE = ("--help", "--debug", "--trust")
"""Flags that every command takes."""
_NUMBERS = {int: "a whole number", float: "a number"}


def reason(words: Sequence[str], arguments: Sequence[Argument]) -> str:
    """Return what is wrong with `words`, without a full stop; nothing where all seems well."""
    flags = {argument.name: argument for argument in arguments if argument.is_flag}
    places = [argument for argument in arguments if not argument.is_flag]
    rest, named = list(words), set[str]()
    while rest:
        word = rest.pop(0)
        if _is_flag(word):
            name, equals, value = word.partition("=")
            taker = flags.get(name.replace("_", "-"))
            if taker is None:
                return f"There is no option {name} here; {nearest(name, [*flags, *EVERYWHERE])}"
            values = [value] if equals else _following(taker, rest)
        elif places:
            taker, values = places[0], [word]
            places = places if taker.many else places[1:]
        else:
            return f"{word!r} is one word too many"
        named.add(taker.name)
        if wrong := _wrong_values(taker, values):
            return wrong
    missing = (one.name for one in arguments if one.required and one.name not in named)
    return next((f"{name} is missing" for name in missing), "")


def _following(flag: Argument, rest: list[str]) -> list[str]:
    """Take the values of a flag from the words after it."""
    most = len(rest) if flag.many else int(flag.takes_value)
    values: list[str] = []
    while rest and len(values) < most and not _is_flag(rest[0]):
        values.append(rest.pop(0))
    return values


def _wrong_values(argument: Argument, values: Sequence[str]) -> str:
    if values and not argument.takes_value:
        return f"{argument.name} takes no value, and was given {values[0]!r}"
    if not values and argument.takes_value and not argument.many:
        return f"{argument.name} needs a value"
    return next(filter(None, (_wrong_value(argument, value) for value in values)), "")


def _wrong_value(argument: Argument, value: str) -> str:
    if argument.choices and value not in argument.choices:
        *first, last = argument.choices
        choices = f"{', '.join(first)} or {last}" if first else last
        return f"{argument.name} is {value!r}; give {choices}"
    if argument.kind in _NUMBERS:
        try:
            argument.kind(value)
        except ValueError:
            return f"{argument.name} is {value!r}; give {_NUMBERS[argument.kind]}"
    return ""


def _is_flag(word: str) -> bool:
    """Return whether a word is written like a flag; a negative number is not."""
    return re.match(r"--?[^\W\d]", word) is not None
