"""What a play showed, as columns, and where two plays differ.

Plays nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]


@dataclass
class Seen:
    """What one play showed: a row per decision by (match, turn, seat), a row per ended match."""

    rows: Columns
    ends: Columns
    too_long: list[int] = field(default_factory=list)
    """Matches left because they asked for more than the game's longest match."""
    trouble: str = ""
    """Why the play stopped before all matches had ended."""

    def only(self, matches: Iterable[int]) -> Seen:
        """Return what was seen of some matches."""
        match_keys = list(matches)
        return Seen(_pick(self.rows, match_keys), _pick(self.ends, match_keys))


def first_difference(one: Seen, other: Seen) -> str:
    """Return where two plays of the same matches differ first, or an empty string."""
    return _difference(one.rows, other.rows, ("match", "turn", "seat")) or _difference(
        one.ends, other.ends, ("match",)
    )


def _difference(one: Columns, other: Columns, keys: tuple[str, ...]) -> str:
    size = min(len(one["match"]), len(other["match"]))
    longer = one if len(one["match"]) > size else other
    first, subject = (size, "course") if len(longer["match"]) > size else (size + 1, "")
    for name in [*keys, *(name for name in one if name in other and name not in keys)]:
        mine, its = _as_bytes(one[name][:size]), _as_bytes(other[name][:size])
        if mine.shape != its.shape:
            return f"another shape or dtype of {name}"
        differ = np.flatnonzero((mine != its).any(1))
        if len(differ) and differ[0] < first:
            first, subject = int(differ[0]), "course" if name in keys else name
    if not subject:
        return ""
    where = ", ".join(f"{key} {longer[key][first]}" for key in keys)
    return f"{where}: another {subject}"


def _as_bytes(column: NDArray[Any]) -> NDArray[np.uint8]:
    if not column.size:
        return np.zeros((len(column), 0), np.uint8)
    return np.ascontiguousarray(column).reshape(len(column), -1).view(np.uint8)


def _pick(table: Columns, matches: list[int]) -> Columns:
    chosen = np.isin(table["match"], matches)
    return {name: column[chosen] for name, column in table.items()}


def joined(tables: Sequence[Columns]) -> Columns:
    """Return tables one below the other, by match, turn and seat."""
    if not tables:
        return {name: np.zeros(0, np.int64) for name in ("match", "turn", "seat")}
    table = {name: np.concatenate([columns[name] for columns in tables]) for name in tables[0]}
    keys = [table[name] for name in ("seat", "turn", "match") if name in table]
    order = np.lexsort(keys)
    return {name: column[order] for name, column in table.items()}
