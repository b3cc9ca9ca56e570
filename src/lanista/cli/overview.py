"""The overview of commands that `--help` prints, from the table alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from lanista.cli.commands import FAMILIES, Entry, Group, every_command

ABOUT = """Trains agents for competitive games, and measures how strong they are.

With --debug, anywhere on the line, an error shows its trace. With --trust Python files that a
settings file or a folder names are run, which you have not run here before. --version prints the
version."""
WIDTH = 80
"""Columns of the narrowest usual terminal; no line of an overview is longer."""


def overview() -> str:
    """Return the help of `lanista` itself: every command in one line, by family."""
    families = {title: list(every_command(family)) for title, family in FAMILIES.items()}
    width = max(len(name) for entries in families.values() for name, _ in entries)
    lines = ["usage: lanista [-h] COMMAND ...", "", *_wrapped(ABOUT)]
    for title, entries in families.items():
        lines += ["", title, *_listed(entries, width)]
    return "\n".join([*lines, "", "`lanista COMMAND --help` lists a command's options."])


def overview_of(name: str, group: Group) -> str:
    """Return the help of a group of commands."""
    width = max(map(len, group.commands))
    lines = [f"usage: lanista {name} [-h] COMMAND ...", "", *_wrapped(group.summary), ""]
    lines += _listed(group.commands.items(), width)
    return "\n".join([*lines, "", f"`lanista {name} COMMAND --help` lists a command's options."])


def _listed(entries: Iterable[tuple[str, Entry]], width: int) -> list[str]:
    return [f"  {name:<{width}}  {entry.summary}" for name, entry in entries]


def _wrapped(text: str) -> list[str]:
    paragraphs = (textwrap.wrap(paragraph, WIDTH) for paragraph in text.split("\n\n"))
    return [line for paragraph in paragraphs for line in (*paragraph, "")][:-1]
