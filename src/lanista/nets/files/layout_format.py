"""Observation and heads as the plain values of a policy file's header, and back.

What a game does not use is left out, so that files from before it keep their digests. Knows nothing
of bytes and of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lanista.games.contract import Field, Group, Head, Observation, References, Role
from lanista.nets.files.header_checks import MOST_DIMENSIONS, PolicyFileError
from lanista.text import quoted


def observation_as_json(observation: Observation) -> dict[str, Any]:
    """Return an observation's layout as plain values."""
    groups = [
        [group.name, list(group.places), *([list(group.grid)] if group.grid else [])]
        for group in observation.groups
    ]
    return {
        "dtype": observation.dtype,
        "fields": [_field_as_json(field) for field in observation.fields],
    } | ({"groups": groups} if groups else {})


def observation_from(layout: Any) -> Observation:
    """Return an observation from such values."""
    entries = tuple(_field(*entry) for entry in layout["fields"])
    groups = tuple(_group(*entry) for entry in layout.get("groups", ()))
    return Observation(entries, layout["dtype"], groups)


def head_as_json(head: Head) -> list[Any]:
    """Return a head as plain values."""
    if head.references:
        references = [_references_as_json(part) for part in head.references]
        return [head.name, head.size, list(head.parts), references]
    return [head.name, head.size, *([list(head.parts)] if head.parts else [])]


def head_from(
    name: str, size: int, sizes: Sequence[int] = (), references: Sequence[Any] = ()
) -> Head:
    """Return a head from such values."""
    # Before they are multiplied, which takes long where there are thousands.
    if len(sizes) > MOST_DIMENSIONS:
        raise PolicyFileError(
            f"its head {quoted(name)} has {len(sizes):,} parts, and {MOST_DIMENSIONS} are the most"
        )
    described = tuple(_references(*entry) for entry in references)
    return Head(name, size, parts=tuple(sizes), references=described)


def _group(name: str, places: Sequence[int], grid: Sequence[int] = ()) -> Group:
    return Group(name, tuple(places), tuple(grid))


def _field_as_json(field: Field) -> list[Any]:
    entries = [field.name, field.size, field.classes, field.scale, field.group]
    if field.planes:
        return [*entries, field.table, list(field.planes)]
    return [*entries, field.table] if field.table else entries


def _field(*entry: Any) -> Field:
    # Planes, where there are any, come after six plain values.
    return Field(*entry[:6], planes=tuple(entry[6])) if len(entry) == 7 else Field(*entry)


def _references_as_json(part: References) -> list[Any]:
    """Return roles, and kinds as each name once and its number for every choice."""
    roles = [[role.name, role.group, list(role.entries)] for role in part.roles]
    names = {name: number for number, name in enumerate(dict.fromkeys(part.kinds))}
    return [roles, list(names), [names[kind] for kind in part.kinds]]


def _references(roles: Any, names: Sequence[str], kinds: Sequence[int]) -> References:
    for number in kinds:
        if type(number) is not int or not 0 <= number < len(names):
            raise PolicyFileError(
                f"a choice is of kind {quoted(number)}, and {len(names)} kinds are named"
            )
    return References(
        tuple(Role(name, group, tuple(entries)) for name, group, entries in roles),
        tuple(names[number] for number in kinds),
    )
