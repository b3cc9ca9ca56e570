"""Which words a command takes, from the annotations of its class: flags, places and their values.

Shell completion and the sentences about a line that cannot be read are made from this. Knows
nothing of what the commands do.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro

from lanista.cli.common.flags import Suggests

_COLLECTIONS = (tuple, list)


@dataclass(frozen=True)
class Argument:
    """A flag, or a place for a word without one."""

    name: str
    """`--matches`, or the word that stands for the place: `GAME`."""
    kind: type
    """What a value is turned into: str, int, float, Path, bool."""
    choices: tuple[str, ...] = ()
    """The values it takes, where those are few."""
    required: bool = False
    many: bool = False
    """Whether several words may follow."""
    suggests: str = ""
    """What its values name: `games` or `recipes`."""

    @property
    def is_flag(self) -> bool:
        return self.name.startswith("-")

    @property
    def takes_value(self) -> bool:
        """Whether a word follows: a switch stands alone."""
        return not self.is_flag or self.kind is not bool


def arguments_of(command: type, prefix: str = "") -> Iterator[Argument]:
    """Yield what a command takes, in the order of its help."""
    hints = get_type_hints(command, include_extras=True)
    for field in fields(command):
        kind, marks = _unwrapped(hints[field.name])
        if tyro.conf.Suppress in marks:
            continue
        if isinstance(kind, type) and is_dataclass(kind):
            inner = prefix if tyro.conf.OmitArgPrefixes in marks else f"{prefix}{field.name}."
            yield from arguments_of(kind, inner)
        else:
            yield _argument(field, kind, marks, prefix)


def _argument(field: Field[Any], kind: Any, marks: tuple[Any, ...], prefix: str) -> Argument:
    name = f"--{prefix}{_marked(marks, 'name') or field.name}".replace("_", "-")
    if tyro.conf.Positional in marks:
        name = str(_marked(marks, "metavar") or field.name.upper()).strip("[]. ")
    many = get_origin(kind) in _COLLECTIONS
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    suggests = next((mark.listing for mark in marks if isinstance(mark, Suggests)), "")
    return Argument(
        name,
        kind if isinstance(kind, type) and not many else str,
        tuple(map(str, choices)),
        required=field.default is MISSING and field.default_factory is MISSING,
        many=many,
        suggests=suggests,
    )


def _marked(marks: tuple[Any, ...], name: str) -> Any:
    """Return what `tyro.conf.arg` was given in an annotation."""
    return next((value for mark in marks if (value := getattr(mark, name, None))), None)


def _unwrapped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without `Annotated` and `| None`, and all marks around it."""
    marks: tuple[Any, ...] = ()
    while True:
        if get_origin(hint) is Annotated:
            inner, *more = get_args(hint)
            hint, marks = inner, (*marks, *more)
        elif get_origin(hint) in (Union, types.UnionType):
            options = [option for option in get_args(hint) if option is not type(None)]
            if len(options) != 1:
                return hint, marks
            hint = options[0]
        else:
            return hint, marks
