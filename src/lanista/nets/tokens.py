"""Which entries of an observation make which token of a transformer, and where they are looked up.

Fields of one group describe the same tokens, an entry each. Fields without a group are one more
token together; where no field has a group, each field is a token. Plain arrays, so that torch and
NumPy read one layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import Field, Observation

DEPTH = 32
"""Numbers of a category's embedding, in networks that are not narrower."""


@dataclass(frozen=True)
class Tokens:
    """Tokens of one kind: those of a group, or the one that fields without a group make."""

    count: int
    categories: NDArray[np.int64]
    """`[count, categories]`: the entries that are categories."""
    rows: NDArray[np.int64]
    """`[categories]`: the row of the embedding at which each of them begins to count."""
    numbers: NDArray[np.int64]
    """`[count, numbers]`: the entries that are numbers."""
    scale: NDArray[np.float32]
    """`[numbers]`: what each of them is multiplied by."""

    def inputs(self, depth: int) -> int:
        """Return how many numbers a token is made of, with embeddings of `depth`."""
        return len(self.rows) * depth + len(self.scale)


@dataclass(frozen=True)
class Layout:
    """All tokens of an observation, and the one embedding of all categories."""

    kinds: tuple[Tokens, ...]
    rows: int
    """Rows of the embedding: the tables of all categories, one below the other."""


def depth_of(width: int) -> int:
    """Return the depth of the embeddings in a network so many units wide."""
    return min(DEPTH, width)


def layout_of(observation: Observation) -> Layout:
    """Return the tokens of an observation."""
    starts = np.cumsum([0, *(field.size for field in observation.fields)])
    placed = list(zip(starts.tolist(), observation.fields, strict=False))
    first: dict[str, int] = {}
    rows = 0
    for number, (_, field) in enumerate(placed):
        name = _table(number, field)
        if field.classes and name not in first:
            first[name] = rows
            rows += max(
                other.classes for n, (_, other) in enumerate(placed) if _table(n, other) == name
            )
    rows_of = {
        start: first[_table(number, field)]
        for number, (start, field) in enumerate(placed)
        if field.classes
    }
    return Layout(tuple(_tokens(kind, rows_of) for kind in _kinds(placed)), rows)


def _table(number: int, field: Field) -> str:
    """Return the name of a field's table: a field that names none has one of its own."""
    return field.table or f"#{number}"


def _kinds(placed: Sequence[tuple[int, Field]]) -> list[list[tuple[int, Field, int]]]:
    """Return the kinds of token, each as (start, field, step from token to token)."""
    kinds: dict[str, list[tuple[int, Field, int]]] = {}
    grouped = any(field.group for _, field in placed)
    for start, field in placed:
        if field.group:
            kinds.setdefault(field.group, []).append((start, field, field.size))
    for number, (start, field) in enumerate(placed):
        if not field.group:
            kinds.setdefault("" if grouped else f"#{number}", []).append((start, field, 1))
    return list(kinds.values())


def _tokens(kind: Sequence[tuple[int, Field, int]], rows_of: dict[int, int]) -> Tokens:
    count = kind[0][2]
    entries: dict[bool, list[NDArray[np.int64]]] = {True: [], False: []}
    rows: list[int] = []
    scale: list[float] = []
    for start, field, tokens in kind:
        at = np.arange(start, start + field.size).reshape(tokens, -1)
        entries[field.classes > 0].append(at)
        if field.classes:
            rows += [rows_of[start]] * at.shape[1]
        else:
            scale += [1.0 / field.scale] * at.shape[1]
    nothing = np.zeros((count, 0), np.int64)
    return Tokens(
        count,
        np.concatenate([nothing, *entries[True]], 1),
        np.array(rows, np.int64),
        np.concatenate([nothing, *entries[False]], 1),
        np.array(scale, np.float32),
    )
