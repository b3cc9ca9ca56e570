"""What each command makes of the paths that its user names, and the one check before any of it.

A flag that names something to be written carries a `Writes` in its annotation; before a command
runs, all of them are looked at here: nothing is written over what the command reads, over a file
of another kind, through a link, into a pipe or device, or among files of somebody else. Knows
nothing of what the commands do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from lanista.cli.common.paths import refuse_unreachable
from lanista.errors import LanistaError, RefusedError
from lanista.files import Kind, refuse_other, write_text

MADE_BY = "made_by"
"""The first key of every JSON file that a command writes: which command that was."""


@dataclass(frozen=True)
class Folder:
    """A folder that a command fills."""

    description: str
    signs: tuple[str, ...] = ()
    """Patterns; a folder with something in it is taken if one of them is there. Without any it has
    to be new or empty."""

    def refuse(self, flag: str, path: Path) -> None:
        """Refuse a folder that holds other things than these."""
        if not os.path.lexists(path):
            return
        if not path.is_dir():
            kind = "a file" if path.is_file() else "no folder"
            raise LanistaError(
                f"{flag} cannot write into {str(path)!r}, which is {kind}; name a folder."
            )
        inside = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))
        if inside and not any(True for sign in self.signs for _ in path.glob(sign)):
            reason = (
                f"but not {self.description}" if self.signs else "and a new or empty one is needed"
            )
            raise RefusedError(
                f"{flag} is {str(path)!r}, which holds {inside[0]!r}, {reason}; name a new folder."
            )


@dataclass(frozen=True)
class RunFile:
    """A policy file with its run folder, and perhaps its numbers, beside it."""

    numbers: bool = False
    """Whether FILE.json is written too."""

    def refuse(self, flag: str, path: Path) -> None:
        """Refuse what does not belong to a run that is there."""
        from lanista.nets.files.policy_format import POLICY

        if path.with_name(f"{path.name}.run").is_dir():
            refuse_file(flag, path, POLICY)
            return
        refuse_file(flag, path, Kind("a policy with its run folder beside it"))
        if self.numbers:
            beside = Kind("the numbers of a policy with its run folder beside it")
            refuse_file(flag, path.with_name(f"{path.name}.json"), beside)


@dataclass(frozen=True)
class SolvedFile:
    """A policy file with the state of its solve beside it."""

    def refuse(self, flag: str, path: Path) -> None:
        """Refuse what does not belong to a solve that is there."""
        from lanista.nets.files.policy_format import POLICY
        from lanista.solving.state import STATE, state_path

        state = state_path(path)
        refuse_file(flag, state, STATE)
        solved = state.is_file()
        refuse_file(
            flag, path, POLICY if solved else Kind("a policy with the state of its solve beside it")
        )


@dataclass(frozen=True)
class KeptValues:
    """What `lanista exact` goes on from."""

    def refuse(self, flag: str, path: Path) -> None:
        """Refuse what is something else."""
        from lanista.games.trees.boards.kept_values import KEPT

        refuse_file(flag, path, KEPT)


@dataclass(frozen=True)
class Page:
    """Numbers as JSON with `report.html` beside them."""

    def refuse(self, flag: str, path: Path) -> None:
        """Refuse where either would replace something else."""
        from lanista.report.exports import PAGE, PAGE_KIND, SUMMARY_KIND

        refuse_file(flag, path, SUMMARY_KIND)
        refuse_file(flag, path.parent / PAGE, PAGE_KIND)


Made = Kind | Folder | RunFile | SolvedFile | KeptValues | Page


@dataclass(frozen=True)
class Writes:
    """Stands in the annotation of a flag that names what is written."""

    product: Made | Callable[[Any], Made]
    """What it becomes; where that depends on other flags, a function of the command."""


def numbers_of(command: str) -> Kind:
    """Return the kind of a command's JSON file."""
    mark = rf'^\{{\s*"{MADE_BY}": "lanista {command}"'.encode()
    return Kind(f"the numbers of `lanista {command}`", mark)


def tables_of(command: str) -> Kind:
    """Return the kind of a command's Markdown file."""
    return Kind(f"the tables of `lanista {command}`", b"^" + _remark(command).encode())


def write_json(path: Path, command: str, values: Mapping[str, Any], **how: Any) -> None:
    """Write what a command found, marked as its own so that it may be overwritten."""
    marked = {MADE_BY: f"lanista {command}", **values}
    write_text(path, json.dumps(marked, **{"indent": 2, **how}) + "\n", numbers_of(command))


def write_markdown(path: Path, command: str, text: str) -> None:
    """Write a command's tables, marked likewise by a remark that no page shows."""
    write_text(path, f"{_remark(command)}\n\n{text}", tables_of(command))


def _remark(command: str) -> str:
    return f"<!-- Made by lanista {command}. -->"


REPLAYS = Folder("replays", ("*.jsonl.gz", "*/*.jsonl.gz"))
REPORT = Folder("a report", ("report.html",))
EXPERIMENT = Folder("an experiment", ("results.json", "*/seed-*.yaml"))
TUNING = Folder("a search over settings", ("tune.yaml",))
LIVE_FOLDER = Folder(
    "live bots", ("live.json", "demo.json", "first.safetensors", "policy/current.json")
)
PIPELINE = Folder("a pipeline", ("recipe.yaml",))
RUN = Folder("a run", ("config.yaml",))
RESPONSES = Folder("best responses", ("*.run",))
SPOOL = Folder("a spool", ("new",))
POLICIES = Folder("published policies", ("current.json", "policies/*.safetensors"))
EVENTS = Folder("events for TensorBoard", ("events.out.tfevents.*", "*/events.out.tfevents.*"))
SERVERS = Folder("servers", ("server-*",))
BATTLES = Folder("replays of battles", ("* - battle-*.html",))
EMPTY = Folder("")


def refuse_file(flag: str, path: Path, kind: Kind) -> None:
    """Refuse a file that must not be replaced, in the words of the flag that names it."""
    try:
        refuse_other(path, kind)
    except LanistaError as error:
        if path.is_dir() and not path.is_symlink():
            raise LanistaError(
                f"{flag} is {str(path)!r}, which is a folder; name a file."
            ) from None
        raise type(error)(f"{flag}: {error}") from None


def outputs_of(command: object) -> Iterator[tuple[str, Path, Made]]:
    """Yield what a command is asked to write: the flag, the path and what it becomes."""
    for name, mark in marked_fields(type(command)).items():
        if (path := getattr(command, name)) is not None:
            product = mark.product if isinstance(mark.product, Made) else mark.product(command)
            yield flag_of(type(command), name), path, product


def marked_fields(command: type) -> dict[str, Writes]:
    """Return the fields of a command that name what it writes."""
    if not is_dataclass(command):
        return {}
    hints = get_type_hints(command, include_extras=True)
    return {
        field.name: mark
        for field in fields(command)
        for mark in get_args(hints[field.name])[1:]
        if isinstance(mark, Writes)
    }


def flag_of(command: type, name: str) -> str:
    """Return what a field is called on the command line: its flag, or the word for its place."""
    marks = get_args(get_type_hints(command, include_extras=True)[name])[1:]
    if any(str(mark) == "Positional" for mark in marks):
        return str(next(mark.metavar for mark in marks if getattr(mark, "metavar", None)))
    for mark in marks:
        name = getattr(mark, "name", None) or name
    return f"--{name.replace('_', '-')}"


def refuse_unsafe(command: object) -> None:
    """Refuse a command that would write over something, before it does anything."""
    outputs, reads = list(outputs_of(command)), list(_paths_read(command))
    for at, (flag, path, product) in enumerate(outputs):
        for other_flag, other, _ in outputs[:at]:
            if same_place(path, other):
                raise LanistaError(
                    f"{other_flag} and {flag} are both {str(path)!r}; name two files."
                )
        if not isinstance(product, Folder) and not path.is_dir():
            for source in reads:
                if same_place(path, source):
                    raise RefusedError(
                        f"{flag} is {str(path)!r}, which is read too, as {str(source)!r}; name "
                        "another file."
                    )
        if isinstance(product, Kind):
            refuse_file(flag, path, product)
        else:
            product.refuse(flag, path)
        refuse_unreachable(flag, path if isinstance(product, Folder) else path.parent)


def same_place(one: Path, other: Path) -> bool:
    """Whether two paths are one file or will be: under any spelling, through links of any kind."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)


def _paths_read(command: object) -> Iterator[Path]:
    """Yield whatever is there under a name that the command was given and does not write."""
    marked = marked_fields(type(command))
    for field in fields(command) if is_dataclass(command) else ():
        if field.name not in marked:
            for word in _words(getattr(command, field.name)):
                yield from (
                    Path(path_text)
                    for path_text in _parts(word)
                    if path_text and _exists(path_text)
                )


def _exists(word: str) -> bool:
    try:
        return Path(word).exists()
    except (OSError, ValueError):
        return False  # Too long, or with a null character: no name of a file.


def _words(value: object) -> Iterator[str]:
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _words(item)


def _parts(word: str) -> Iterator[str]:
    """Yield the names in a word such as `a.pt+b.pt,bot.py:Bot`, `self,a.pt=2` or `key=a.pt`."""
    yield word
    for name in word.split(","):
        for piece in (name, *name.split("+"), *name.split("=")):
            yield piece
            yield piece.partition(".py:")[0] + ".py" if ".py:" in piece else piece
