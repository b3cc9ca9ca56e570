"""What choices are about: which tokens of an observation a choice refers to, and in which role.

A game that describes its choices so can be played by a network that scores a choice by its own
tokens, whatever their order. Knows nothing of networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanista.errors import LanistaError

NOTHING = -1
"""The entry of a role that a choice does not have."""


class GameError(LanistaError):
    """A game was asked for something its contract does not allow."""


@dataclass(frozen=True)
class Group:
    """What is true of a group of fields, beside the fields themselves."""

    name: str
    places: tuple[int, ...] = ()
    """For each entry the number of its place, from 0. Entries of one place are interchangeable: a
    network that points at tokens learns one place for all of them. A team is (0, 0, 0), two teams
    one after the other are (0, 0, 0, 1, 1, 1), a line in which order matters is (0, 1, 2), which is
    also what none says."""
    grid: tuple[int, ...] = ()
    """Rows and columns, where the entries are the cells of a grid, row after row. A network that
    looks at grids slides over them."""


@dataclass(frozen=True)
class Role:
    """One thing that choices are about: the card played, the unit that acts, its target."""

    name: str
    """Roles of one name and group have the same weights, in whatever head or part they stand."""
    group: str
    """Of the observation's fields; each of its entries is a token."""
    entries: tuple[int, ...]
    """For each choice the entry of the group that stands in this role; -1: none."""


@dataclass(frozen=True)
class References:
    """What each choice of a head, or of a part of a head, is about.

    A role may stand here twice, as two cards that are thrown away together: their order has no
    meaning then.
    """

    roles: tuple[Role, ...]
    kinds: tuple[str, ...] = ()
    """For each choice what sort of choice it is ("move", "switch", "pass"), to tell apart choices
    that refer to the same tokens. Choices of one kind that refer to the same tokens have the same
    probability; without kinds, all choices are of one."""


def refuse_groups(sizes: Mapping[str, int], groups: Sequence[Group]) -> None:
    """Refuse facts of groups that the fields do not have, or of other sizes."""
    described: set[str] = set()
    for group in groups:
        if group.name in described:
            raise GameError(f"The group {group.name!r:.80} is described twice; describe it once.")
        described.add(group.name)
        size, places = sizes.get(group.name), group.places
        if size is None:
            raise GameError(
                f"The group {group.name!r:.80} is described, and no field is of it; name one of "
                f"{_listed(sizes)}."
            )
        numbered = all(type(place) is int for place in places) and (
            sorted({*places}) == list(range(len({*places})))
        )
        if places and (len(places) != size or not numbered):
            raise GameError(
                f"The group {group.name!r:.80} has {size} entries and the places "
                f"{places!s:.80}; give a number for each entry, counted from 0 without gaps."
            )
        if group.grid:
            _refuse_grid(group, size)


def _refuse_grid(group: Group, size: int) -> None:
    sides = group.grid
    whole = len(sides) == 2 and all(type(side) is int and side > 0 for side in sides)
    if not whole or sides[0] * sides[1] != size:
        raise GameError(
            f"The group {group.name!r:.80} has {size} entries and the grid {sides!s:.80}; give "
            "rows and columns that make all entries."
        )


def refuse_off_grid(
    field: str, size: int, planes: Sequence[int], group: str, groups: Sequence[Group]
) -> None:
    """Refuse a field of a grid that has not an entry for each cell, or is on a board of its own."""
    sides = next((one.grid for one in groups if one.name == group and one.grid), None)
    if sides is not None and (planes or size != sides[0] * sides[1]):
        raise GameError(
            f"The field {field!r:.80} has {size} entries{' and planes' if planes else ''}, and its "
            f"group {group!r:.80} is a grid of {sides[0]} x {sides[1]} cells; give it an entry for "
            "each cell and no planes, or leave the group out."
        )


def refuse_lengths(head: str, sizes: Sequence[int], references: Sequence[References]) -> None:
    """Refuse references that are not about every choice of every part."""
    if references and len(references) != len(sizes):
        raise GameError(
            f"The head {head!r:.80} has {len(references)} references for {len(sizes)} parts; "
            "describe each part once."
        )
    for size, part in zip(sizes, references, strict=False):
        if part.kinds and len(part.kinds) != size:
            raise GameError(
                f"The head {head!r:.80} has kinds for {len(part.kinds)} choices and {size} "
                "choices; give every choice a kind, or none."
            )
        for role in part.roles:
            if len(role.entries) != size:
                raise GameError(
                    f"The role {role.name!r:.80} of the head {head!r:.80} has {len(role.entries)} "
                    f"entries for {size} choices; give one for each, {NOTHING} where there is none."
                )


def refuse_missing_tokens(
    head: str, references: Sequence[References], sizes: Mapping[str, int]
) -> None:
    """Refuse roles whose tokens the observation does not have."""
    for role in (role for part in references for role in part.roles):
        size = sizes.get(role.group)
        if size is None:
            raise GameError(
                f"The role {role.name!r:.80} of the head {head!r:.80} refers to the group "
                f"{role.group!r:.80}, which no field has; name one of {_listed(sizes)}."
            )
        for entry in role.entries:
            if type(entry) is not int or not NOTHING <= entry < size:
                raise GameError(
                    f"The role {role.name!r:.80} of the head {head!r:.80} refers to entry "
                    f"{entry!r:.80} of the group {role.group!r:.80}, which has {size}; give a "
                    f"number below {size}, or {NOTHING} for none."
                )


def _listed(sizes: Mapping[str, int]) -> str:
    return ", ".join(sorted(sizes)) or "no group: give fields one"
