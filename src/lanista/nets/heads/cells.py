"""Which output of a network of cells is which choice's logit, worked out from references.

Such a network has an output for every cell and every kind of choice there, one for each choice that
has no cell, and one for each choice of heads that the game does not describe. Plain arrays, so that
torch and NumPy read one layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games.contract import Head, Observation, Role
from lanista.nets.grids import grid_groups, grid_of

MOST_OUTPUTS = 1 << 22
"""The most outputs that all cells together may have, most of which nobody may read."""


@dataclass(frozen=True)
class CellSizes:
    """How many outputs of each sort there are."""

    kinds: int
    """Of every cell: kinds of choice in a role."""
    apart: int
    """Choices of described heads that have no cell."""


def cell_sizes(observation: Observation, heads: Sequence[Head]) -> CellSizes:
    """Return how many outputs are learned, in whole numbers alone."""
    refuse_without_cells(observation, heads)
    kinds, apart = _kinds(observation, heads), 0
    _, rows, columns = grid_of(observation)
    if (outputs := rows * columns * len(kinds)) > MOST_OUTPUTS:
        raise LanistaError(
            f"A network would have {outputs:,} outputs a decision, one for each cell and kind of "
            f"choice, and {MOST_OUTPUTS:,} are the most; describe fewer kinds."
        )
    for _, role, _ in _described(observation, heads):
        apart += sum(entry < 0 for entry in role.entries)
    return CellSizes(len(kinds), apart)


def by_number(observation: Observation, heads: Sequence[Head]) -> tuple[Head, ...]:
    """Return the heads whose choices are not about cells, or are made of parts."""
    return tuple(head for head in heads if cells_role(observation, head) is None)


def refuse_without_cells(observation: Observation, heads: Sequence[Head]) -> None:
    """Refuse a game in which no head's choices are about cells."""
    if not any(cells_role(observation, head) for head in heads):
        raise LanistaError(
            "network.readout is 'cells', and no head of this game has references, in one part, to "
            "the cells of a grid; leave it out, or describe them."
        )


def logits_at(observation: Observation, heads: Sequence[Head]) -> NDArray[np.int64] | None:
    """Return for each choice of all heads the output that is its logit; none: they are in order.

    Outputs are those of cells (kinds counting fastest), then of choices apart, then by number.
    """
    sizes, numbers = cell_sizes(observation, heads), _kinds(observation, heads)
    _, rows, columns = grid_of(observation)
    apart = rows * columns * sizes.kinds
    numbered = apart + sizes.apart
    described = {id(head): (role, kinds) for head, role, kinds in _described(observation, heads)}
    index: list[int] = []
    for head in heads:
        if id(head) not in described:
            index += range(numbered, numbered + head.size)
            numbered += head.size
            continue
        role, kinds = described[id(head)]
        outputs = []
        for entry, kind in zip(role.entries, kinds, strict=True):
            if entry < 0:
                outputs.append(apart)
                apart += 1
            else:
                outputs.append(entry * sizes.kinds + numbers[role.group, role.name, kind])
        _refuse_alike(head, outputs)
        index += outputs
    places = np.array(index, np.int64)
    # What is by number has been counted to the last output.
    in_order = len(places) == numbered and np.array_equal(places, np.arange(numbered))
    return None if in_order else places


def _refuse_alike(head: Head, outputs: Sequence[int]) -> None:
    """Refuse choices that are about different things and would always be equally likely."""
    about = zip(*(role.entries for role in head.references[0].roles), strict=True)
    first: dict[int, tuple[int, ...]] = {}
    for choice, (output, entries) in enumerate(zip(outputs, about, strict=True)):
        if first.setdefault(output, entries) != entries:
            raise LanistaError(
                f"network.readout is 'cells', and choice {choice} of the head {head.name!r:.80} "
                "has the cell and the kind of an earlier one, though it is about something else; "
                "give its references kinds that tell them apart, or take another readout."
            )


def cells_role(observation: Observation, head: Head) -> Role | None:
    """Return the role in which a head's choices name cells: the first of a group that is a grid."""
    if len(head.references) != 1:
        return None
    groups = grid_groups(observation)
    return next((role for role in head.references[0].roles if role.group in groups), None)


def _described(
    observation: Observation, heads: Sequence[Head]
) -> Iterator[tuple[Head, Role, Sequence[str]]]:
    """Yield each head whose choices name cells, with its role and the kind of each choice."""
    for head in heads:
        role = cells_role(observation, head)
        if role is not None:
            yield head, role, head.references[0].kinds or ("",) * head.size


def _kinds(observation: Observation, heads: Sequence[Head]) -> dict[tuple[str, str, str], int]:
    """Return the number of each kind of choice that has a cell, by its role and its own name."""
    kinds: dict[tuple[str, str, str], int] = {}
    for _, role, names in _described(observation, heads):
        for entry, kind in zip(role.entries, names, strict=True):
            if entry >= 0:
                kinds.setdefault((role.group, role.name, kind), len(kinds))
    return kinds
