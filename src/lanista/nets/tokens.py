"""Which entries of an observation make which token of a transformer, and where they are looked up.

Fields of one group describe the same tokens, an entry each. Fields without a group are one more
token together; where no field has a group, each field is a token. Plain arrays, so that torch and
NumPy read one layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games.contract import Field, Observation

DEPTH = 32
"""Numbers of a category's embedding, in networks that are not narrower."""
FEW = 64
"""A category of a table with more values than this is an id: a species or a move, not a type."""
MOST_PAIRS = 1 << 28
"""The most scores that one attention may have for one decision: tokens × tokens × heads."""


@dataclass(frozen=True)
class Tokens:
    """Tokens of one kind: those of a group, or the one that fields without a group make."""

    count: int
    categories: NDArray[np.int64]
    """`[count, categories]`: the entries that are categories."""
    rows: NDArray[np.int64]
    """`[categories]`: the row of the embedding at which each of them begins to count."""
    ids: NDArray[np.bool_]
    """`[categories]`: which of them say which one of many something is."""
    numbers: NDArray[np.int64]
    """`[count, numbers]`: the entries that are numbers."""
    scale: NDArray[np.float32]
    """`[numbers]`: what each of them is multiplied by."""
    places: NDArray[np.int64]
    """`[count]`: the place of each token; tokens of one place are interchangeable."""

    @property
    def distinct_places(self) -> int:
        return int(self.places.max()) + 1

    def inputs(self, depth: int) -> int:
        """Return how many numbers a token is made of, with embeddings of `depth`."""
        return len(self.rows) * depth + len(self.scale)


@dataclass(frozen=True)
class Layout:
    """All tokens of an observation, and the one embedding of all categories."""

    kinds: tuple[Tokens, ...]
    rows: int
    """Rows of the embedding: the tables of all categories, one below the other."""


def depth_of(width: int, embedding: int | None) -> int:
    """Return the depth of the embeddings in a network so many units wide, unless it is given."""
    return embedding or min(DEPTH, width)


def token_sizes(
    observation: Observation, depth: int, readout: str | None = None
) -> tuple[int, list[tuple[int, int]]]:
    """Return the rows of the embedding, and of each kind how many places and how many inputs.

    What `layout_of` comes to, in whole numbers alone: nothing is allocated for it.
    """
    placed = _placed(observation)
    _, rows = _tables(placed)
    shared = _shared_places(observation, readout)
    return rows, [
        (
            len({*shared[name]}) if name in shared else kind[0][2],
            sum(field.size // n * (depth if field.classes else 1) for _, field, n in kind),
        )
        for name, kind in _kinds(placed).items()
    ]


def token_counts_of(observation: Observation) -> dict[str, int]:
    """Return how many tokens there are of each kind, by its group, in their order."""
    return {name: kind[0][2] for name, kind in _kinds(_placed(observation)).items()}


def token_count(observation: Observation) -> int:
    """Return how many tokens an observation has."""
    return sum(token_counts_of(observation).values())


def _shared_places(observation: Observation, readout: str | None) -> dict[str, tuple[int, ...]]:
    """Return the places of each group that has its own; networks that do not point have none."""
    if readout != "pointer":
        return {}
    return {group.name: group.places for group in observation.groups if group.places}


def refuse_attention(tokens: int, heads: int) -> None:
    """Refuse more tokens than one row's attention has memory for."""
    if tokens * tokens * heads > MOST_PAIRS:
        raise LanistaError(
            f"A transformer of {tokens:,} tokens and {heads:,} attention heads would compare "
            f"{tokens * tokens * heads:,} pairs a decision, and {MOST_PAIRS:,} are the most; take "
            "another kind of network, or an observation of fewer tokens."
        )


def layout_of(observation: Observation, readout: str | None = None) -> Layout:
    """Return the tokens of an observation, for a network with such a readout."""
    placed = _placed(observation)
    first, rows = _tables(placed)
    rows_of = {
        start: first[_table(number, field)]
        for number, (start, field) in enumerate(placed)
        if field.classes
    }
    shared = _shared_places(observation, readout)
    kinds = _kinds(placed).items()
    return Layout(tuple(_tokens(kind, rows_of, shared.get(name)) for name, kind in kinds), rows)


def _placed(observation: Observation) -> list[tuple[int, Field]]:
    """Return each field with the entry at which it starts."""
    starts = accumulate((field.size for field in observation.fields), initial=0)
    return list(zip(starts, observation.fields, strict=False))


def _tables(placed: Sequence[tuple[int, Field]]) -> tuple[dict[str, int], int]:
    """Return the first row of each table of the embedding, and the rows of all of them."""
    sizes: dict[str, int] = {}
    for number, (_, field) in enumerate(placed):
        if field.classes:
            name = _table(number, field)
            sizes[name] = max(sizes.get(name, 0), field.classes)
    starts = accumulate(sizes.values(), initial=0)
    return dict(zip(sizes, starts, strict=False)), sum(sizes.values())


def _table(number: int, field: Field) -> str:
    """Return the name of a field's table: a field that names none has one of its own."""
    return field.table or f"#{number}"


def _kinds(placed: Sequence[tuple[int, Field]]) -> dict[str, list[tuple[int, Field, int]]]:
    """Return the kinds of token, each as (start, field, how many tokens)."""
    kinds: dict[str, list[tuple[int, Field, int]]] = {}
    grouped = any(field.group for _, field in placed)
    for start, field in placed:
        if field.group:
            kind = kinds.setdefault(field.group, [])
            kind.append((start, field, field.size))
            if not field.size or field.size != kind[0][2]:
                raise LanistaError(
                    f"The field {field.name!r:.80} has {field.size} entries in the group "
                    f"{field.group!r:.80}; a group's fields have one size, of at least 1."
                )
    for number, (start, field) in enumerate(placed):
        if not field.group:
            kinds.setdefault("" if grouped else f"#{number}", []).append((start, field, 1))
    return kinds


def _tokens(
    kind: Sequence[tuple[int, Field, int]], rows_of: dict[int, int], places: Sequence[int] | None
) -> Tokens:
    count = kind[0][2]
    entries: dict[bool, list[NDArray[np.int64]]] = {True: [], False: []}
    rows: list[int] = []
    scale: list[float] = []
    ids: list[bool] = []
    for start, field, tokens in kind:
        at = np.arange(start, start + field.size).reshape(tokens, -1)
        entries[field.classes > 0].append(at)
        if field.classes:
            rows += [rows_of[start]] * at.shape[1]
            ids += [bool(field.table) and field.classes > FEW] * at.shape[1]
        else:
            scale += [1.0 / field.scale] * at.shape[1]
    nothing = np.zeros((count, 0), np.int64)
    return Tokens(
        count,
        np.concatenate([nothing, *entries[True]], 1),
        np.array(rows, np.int64),
        np.array(ids, np.bool_),
        np.concatenate([nothing, *entries[False]], 1),
        np.array(scale, np.float32),
        np.arange(count) if places is None else np.array(places, np.int64),
    )
