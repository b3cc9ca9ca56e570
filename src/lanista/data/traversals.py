"""What traversals of a game bring: regrets of the seat that looks, and strategies of the others.

Rows of one kind lie together: what a seat saw, what it might choose, and a number for each choice.
Knows nothing of games and of how either is learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ChoiceRows:
    """Decisions, a row each, with a number for every choice."""

    observation: NDArray[Any]
    """`[rows, length]`, in the game's own dtype."""
    mask: NDArray[np.bool_]
    """`[rows, choices]`."""
    values: NDArray[np.float64]
    """`[rows, choices]`; 0 where a choice is not legal."""

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Outcomes:
    """Choices that were taken, a row each, and what came of them."""

    view: NDArray[Any]
    """What a baseline sees: the privileged view where the game has one."""
    action: NDArray[np.intp]
    value: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True)
class Traversals:
    """What one seat's traversals brought."""

    regrets: ChoiceRows
    """Of the decisions of the seat that looks: what each choice would have earned more."""
    strategies: ChoiceRows
    """Of the decisions of the others: the probabilities with which they chose."""
    decisions: int
    """All that were made, those of copies included."""
    matches: int
    outcomes: Outcomes | None = None
    """What a baseline learns from, where there is one."""


def joined(parts: Sequence[ChoiceRows], length: int, choices: int, dtype: Any) -> ChoiceRows:
    """Return the rows of several parts one after another, with the right shape where none are."""
    return ChoiceRows(
        np.concatenate([np.empty((0, length), dtype), *(part.observation for part in parts)]),
        np.concatenate([np.empty((0, choices), np.bool_), *(part.mask for part in parts)]),
        np.concatenate([np.empty((0, choices)), *(part.values for part in parts)]),
    )
