"""Reads the command line into a command, and says in one sentence why it cannot be read.

The parser draws boxes of several lines; what they say is put in our own words here. Knows
nothing of what the commands do.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any

import tyro

from lanista.errors import LanistaError, nearest

_LONGEST = 2_000
"""Letters of a complaint that are looked at; words of the command line may be very long."""


class UsageError(LanistaError):
    """The words on the command line cannot be read."""


@dataclass(frozen=True)
class Group:
    """A command that is made of commands: `lanista policy list`."""

    about: str
    commands: Mapping[str, Callable[..., Any]]


Commands = Mapping[str, Callable[..., Any] | Group]


def read(
    commands: Commands,
    arguments: Sequence[str],
    about: str = "",
    program: str = "lanista",
) -> Any:
    """Return the command that `arguments` name, with its settings; `--help` exits with 0."""
    if not arguments:
        raise UsageError(f"No command was given; name one of {', '.join(commands)}.")
    if arguments[0] not in commands and not arguments[0].startswith("-"):
        word = arguments[0]
        raise UsageError(f"There is no command {word!r}; {nearest(word, commands)}")
    group = commands.get(arguments[0])
    if isinstance(group, Group):
        return read(group.commands, arguments[1:], group.about, f"{program} {arguments[0]}")
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            found = _parse(commands, arguments, about, program)
    except SystemExit as end:
        if not end.code:
            raise
        command = arguments[0] if arguments[0] in commands else ""
        problem = _problem(said.getvalue(), lambda: _flags(commands, command))
        where = f"{program} {command}".strip()
        if not problem.endswith("?"):
            problem = f"{problem.rstrip('.')}; see `{where} --help`."
        raise UsageError(problem) from end
    sys.stderr.write(said.getvalue())
    return found


def _parse(
    commands: Commands,
    arguments: Sequence[str],
    about: str = "",
    program: str = "lanista",
) -> Any:
    return tyro.extras.subcommand_cli_from_dict(
        {name: _listed(command) for name, command in commands.items()},
        prog=program,
        description=about,
        args=list(arguments),
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def _listed(command: Callable[..., Any] | Group) -> Callable[..., Any]:
    """Return what stands in the list of commands; a group is known there by what it is about."""
    if not isinstance(command, Group):
        return command

    def group() -> None: ...

    group.__doc__ = command.about
    return group


def _problem(said: str, flags: Callable[[], list[str]]) -> str:
    """Return what the parser complained about, in our words where they are known."""
    message = _first_part(said)[:_LONGEST]
    if found := re.match(r"Unrecognized (?:or misplaced )?options: (\S+?),?(?:\s|$)", message):
        word = found[1]
        if not word.startswith("-"):
            return f"{word!r} is one word too many"
        flag = word.partition("=")[0]
        return f"There is no option {flag} here; {nearest(flag, flags())}"
    if found := re.match(r"Error parsing ([^\s:]+): (.*)", message):
        return _bad_value(found[1], found[2])
    if found := re.match(r"invalid choice '(.*?)' for argument '(\S+?)'\. .*?\((.*?)\)", message):
        word, flag, known = found[1], found[2], _known(found[3])
        name = flag if flag.startswith("-") else flag.upper()
        return f"{name} is {word!r}; give {', '.join(known[:-1])} or {known[-1]}"
    if found := re.match(r"Missing value for argument '([^']+)'", message):
        flag = found[1]
        return f"{flag} needs a value" if flag.startswith("-") else f"{flag.upper()} is missing"
    if found := re.match(r"Missing from [a-z ]+: (\S+)", message):
        return f"{found[1]} is missing"
    return message or "The command line cannot be read"


def _known(said: str) -> list[str]:
    """Return the words that may be given."""
    words: list[str] = re.findall(r"'(.*?)'", said)
    if "None" not in words:
        return words
    # It stands for a flag that is left out, and beside it the others come in any order.
    return sorted(word for word in words if word != "None")


def _bad_value(flag: str, reason: str) -> str:
    value = re.search(r"\['(.*?)'\]", reason) or re.search(r"'([^']*)'\s*$", reason)
    given = f"{flag} is {value[1]!r}" if value else f"{flag} has a value of another kind"
    for sign, kind in (("int", "a whole number"), ("float", "a number")):
        if re.search(rf"\b{sign}\b", reason, re.IGNORECASE):
            return f"{given}; give {kind}"
    return given


def _first_part(said: str) -> str:
    """Return a box's first part as one line: without frame and title, up to the first rule."""
    lines = [line.strip("│|╭╮╰╯+ \t") for line in said.splitlines()]
    words: list[str] = []
    for line in lines[1:]:
        if line and not line.strip("─-"):
            if words:
                break
            continue
        words += line.split()
    return " ".join(words)


def _flags(commands: Commands, command: str) -> list[str]:
    """Return the options of a command as its help lists them."""
    out = io.StringIO()
    with redirect_stdout(out), suppress(SystemExit):
        _parse(commands, [*([command] if command else []), "--help"])
    return [
        *re.findall(r"^\W*(?:-h, )?(--[a-z][a-z-]*)", out.getvalue(), re.MULTILINE),
        "--debug",
        "--trust",
    ]
