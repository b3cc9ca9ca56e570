"""Which rows a network that points at tokens adds up for each choice, worked out from references.

Such a network has a table of rows for each decision: every token as each role sees it, a row for
each role that a choice may lack, one for each kind of choice, and one for the whole. A choice is
the sum of its rows. Plain arrays, so that torch and NumPy read one layout; knows nothing of either
network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games.contract import Head, Observation, References
from lanista.nets.tokens import token_counts_of

RANK = 16
"""Numbers with which an order of one part answers those of another, each way."""
MOST_ENTRIES = 1 << 22
"""The most rows that all choices together may add up."""
_DENSE = 32
"""Adding up by one product is faster than by looking up, to so many rows for each one added."""
_MOST_COUNTS = 1 << 20


@dataclass(frozen=True)
class Sizes:
    """How many vectors of each sort are learned."""

    roles: int
    absent: int
    """Roles that a choice lacks somewhere."""
    kinds: int
    has_pairs: bool
    """Whether a described head has parts, whose choices answer each other."""


@dataclass(frozen=True)
class Pointers:
    """The rows of the table, and those that each choice adds up."""

    token_kinds: tuple[int, ...]
    """How many tokens of each kind there are, in their order."""
    role_kinds: tuple[int, ...]
    """For each role the kind of token that it sees."""
    sizes: Sizes
    index: NDArray[np.int64]
    """`[choices, columns]`: the rows of each choice of each part of each described head. Columns
    that a choice does not need name the row after the last."""

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        counts = sum(self.token_kinds[kind] for kind in self.role_kinds)
        return counts + self.sizes.absent + self.sizes.kinds + 1

    @cached_property
    def counts(self) -> NDArray[np.float32] | None:
        """`[choices, rows]`: how often each choice adds each row; none: look them up instead."""
        choices, columns = self.index.shape
        if self.rows > _DENSE * columns or self.rows * choices > _MOST_COUNTS:
            return None
        counts = np.zeros((len(self.index), self.rows + 1), np.float32)
        np.add.at(counts, (np.arange(len(self.index))[:, None], self.index), 1)
        return np.ascontiguousarray(counts[:, :-1])


def pointer_sizes(heads: Sequence[Head]) -> Sizes:
    """Return what is learned for such heads, in whole numbers alone."""
    has_pairs = any(head.references and len(head.parts) > 1 for head in heads)
    return Sizes(len(_roles(heads)), len(_lacked(heads)), len(_kinds(heads)), has_pairs)


def undescribed(heads: Sequence[Head]) -> tuple[Head, ...]:
    """Return the heads whose choices refer to nothing: they are read by number."""
    return tuple(head for head in heads if not head.references)


def refuse_undescribed(heads: Sequence[Head]) -> None:
    """Refuse heads of which none says what its choices are about, and too many rows."""
    if not _roles(heads):
        raise LanistaError(
            "network.readout is 'pointer', and no head of this game has references that say what "
            "its choices are about; leave it out, or describe them."
        )
    parts = list(_parts(heads))
    choices = sum(sum(part_sizes(head)) for head in heads if head.references)
    columns = 2 + max(len(part.roles) for part in parts)
    if choices * columns > MOST_ENTRIES:
        raise LanistaError(
            f"A network would add up {choices:,} choices of {columns:,} rows a decision, and "
            f"{MOST_ENTRIES:,} rows are the most; describe fewer choices, or parts of them."
        )


def pointers_of(observation: Observation, heads: Sequence[Head]) -> Pointers:
    """Return the table's layout and the rows of every choice."""
    refuse_undescribed(heads)
    sizes, roles, kinds = pointer_sizes(heads), _roles(heads), _kinds(heads)
    token_counts = token_counts_of(observation)
    role_kinds = tuple(list(token_counts).index(group) for _, group in roles)
    starts = np.cumsum([0, *(token_counts[group] for _, group in roles)])
    lacked = _lacked(heads)
    absent_keys = [key for key in roles if key in lacked]
    absent = {key: at for at, key in enumerate(absent_keys, int(starts[-1]))}
    kind_rows = {kind: at for at, kind in enumerate(kinds, int(starts[-1]) + len(absent))}
    first = {key: int(start) for key, start in zip(roles, starts, strict=False)}
    described = [
        _part_rows(part, size, first, absent, kind_rows)
        for head in heads
        for part, size in zip(head.references, part_sizes(head), strict=False)
    ]
    index = _stacked(described, int(starts[-1]) + len(absent) + len(kinds))
    return Pointers(tuple(token_counts.values()), role_kinds, sizes, index)


def _stacked(described: Sequence[NDArray[np.int64]], whole: int) -> NDArray[np.int64]:
    """Return all choices' rows below each other, the row of the whole in front of each."""
    columns = 1 + max(rows.shape[1] for rows in described)
    index = np.full((sum(map(len, described)), columns), whole + 1, np.int64)
    index[:, 0] = whole
    at = 0
    for rows in described:
        index[at : at + len(rows), 1 : 1 + rows.shape[1]] = rows
        at += len(rows)
    return index


_Key = tuple[str, str]


def _part_rows(
    part: References,
    size: int,
    first: dict[_Key, int],
    absent: dict[_Key, int],
    kinds: dict[str, int],
) -> NDArray[np.int64]:
    """Return `[choices, 1 + roles]`: the row of each choice's kind and of each of its roles."""
    rows = [np.array([kinds[kind] for kind in _kinds_of(part, size)], np.int64)]
    for role in part.roles:
        key = (role.name, role.group)
        entries = np.array(role.entries, np.int64)
        rows.append(np.where(entries < 0, absent.get(key, 0), first[key] + entries))
    return np.stack(rows, 1)


def _parts(heads: Sequence[Head]) -> list[References]:
    return [part for head in heads for part in head.references]


def _roles(heads: Sequence[Head]) -> list[_Key]:
    """Return each role once, by name and group, in the order they are first met."""
    return list(
        dict.fromkeys((role.name, role.group) for part in _parts(heads) for role in part.roles)
    )


def _lacked(heads: Sequence[Head]) -> set[_Key]:
    """Return the roles that some choice does not have."""
    return {
        (role.name, role.group)
        for part in _parts(heads)
        for role in part.roles
        if any(entry < 0 for entry in role.entries)
    }


def _kinds(heads: Sequence[Head]) -> list[str]:
    """Return each kind of choice once, in the order they are first met."""
    return list(dict.fromkeys(kind for part in _parts(heads) for kind in part.kinds or ("",)))


def _kinds_of(part: References, size: int) -> Sequence[str]:
    return part.kinds or ("",) * size


def part_sizes(head: Head) -> tuple[int, ...]:
    """Return how many choices each part of a head has; a head without parts is its own."""
    return head.parts or (head.size,)
