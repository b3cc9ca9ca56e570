"""Reads the command line into a command, and says in one sentence why it cannot be read.

Loads the one command that is named, and no other. Knows nothing of what the commands do.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from typing import Any

from lanista.cli.commands import COMMANDS, Commands, Entry, Group
from lanista.errors import LanistaError, nearest

HELP = ("-h", "--help")
_FLAGS = (*HELP[1:], "--version", "--debug", "--trust")
_LONGEST = 300
"""Letters of the parser's own complaint that are shown where we have no words for it."""


class UsageError(LanistaError):
    """The words on the command line cannot be read."""


def read(arguments: Sequence[str], commands: Commands = COMMANDS, program: str = "lanista") -> Any:
    """Return the command that `arguments` name, with its settings; `--help` exits with 0."""
    if not arguments:
        raise UsageError(f"No command was given; name one of {', '.join(commands)}.")
    word, *rest = arguments
    if word in HELP:
        _print_overview(program)
    if word.startswith("-"):
        remedy = nearest(word, _FLAGS)
        raise UsageError(f"There is no option {word} here; {remedy} See `{program} --help`.")
    if word not in commands:
        raise UsageError(f"There is no command {word!r}; {nearest(word, commands)}")
    entry = commands[word]
    if isinstance(entry, Group):
        return read(rest, entry.commands, f"{program} {word}")
    return _parse(entry, rest, f"{program} {word}")


def _print_overview(program: str) -> None:
    from lanista.cli.overview import overview, overview_of

    name = program.partition(" ")[2]
    group = COMMANDS.get(name)
    # Flushed here, so that a closed pipe is noticed where it can be dealt with.
    print(overview_of(name, group) if isinstance(group, Group) else overview(), flush=True)
    raise SystemExit(0)


def _parse(entry: Entry, words: Sequence[str], program: str) -> Any:
    import tyro

    printed = io.StringIO()
    try:
        with redirect_stderr(printed):
            command = tyro.cli(
                entry.load(),
                prog=program,
                args=list(words),
                config=(tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as end:
        if not end.code:
            raise
        raise UsageError(_sentence(entry, words, program, printed.getvalue())) from end
    sys.stderr.write(printed.getvalue())
    return command


def _sentence(entry: Entry, words: Sequence[str], program: str, printed: str) -> str:
    from lanista.cli.arguments import arguments_of
    from lanista.cli.unreadable import reason

    problem = reason(words, list(arguments_of(entry.load())))
    if not problem:  # The parser is stricter than we know: its own words, without their frame.
        words_only = (word for word in printed[:_LONGEST].split() if any(map(str.isalnum, word)))
        problem = " ".join(words_only) or "The command line cannot be read"
    return problem if problem.endswith("?") else f"{problem.rstrip('.')}; see `{program} --help`."
