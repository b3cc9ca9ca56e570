"""A game as flat arrays: each seat's information states, and what the ends of matches pay.

A sequence is what a seat has done so far: number 0 is nothing yet, and every action of every
information state has a number of its own. An end is reached by one sequence of each seat, so that
what a seat earns is a sum over ends of products over sequences (the sequence form; von Stengel,
1996). Knows nothing of rules, policies and solvers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import GameError

Report = Callable[[int], None]
"""Is told how many histories were walked so far."""
ELSEWHERE = "`lanista exploit` learns a best response, which is a lower bound."
"""What to do where exact answers cannot be computed."""


@dataclass(frozen=True)
class SeatTree:
    """The information states of one seat, each after those that lead to it."""

    parent: NDArray[np.int32]
    """The sequence by which each state is reached."""
    first: NDArray[np.int32]
    """The first sequence of each state, and at the end how many sequences there are."""
    action: NDArray[np.int32]
    """The action that ends each sequence; -1 for number 0."""
    rows: NDArray[Any]
    """What the seat sees in each state."""
    mask: NDArray[np.bool_]
    """What it may choose there."""

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def state_of(self) -> NDArray[np.intp]:
        """The state of each sequence but number 0."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    def behaviour(self, probability: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probability of each sequence's last action, from those of states."""
        chosen = np.asarray(probability, np.float64)[self.state_of, self.action[1:]]
        return np.concatenate([[1.0], chosen])


@dataclass(frozen=True)
class InformationTree:
    """A whole game."""

    game: str
    seats: tuple[SeatTree, ...]
    end_sequence: NDArray[np.int32]
    """`[seats, ends]`."""
    end_utility: NDArray[np.float64]
    """`[seats, ends]`: what an end pays each seat, times the probability of its chance."""
    histories: int
    """Positions that were walked, those of chance and ends included."""

    @property
    def states(self) -> int:
        return sum(len(seat) for seat in self.seats)


@dataclass
class _Seat:
    parent: array[int] = field(default_factory=lambda: array("i"))
    first: array[int] = field(default_factory=lambda: array("i", [1]))
    action: array[int] = field(default_factory=lambda: array("i", [-1]))
    rows: list[Any] = field(default_factory=list)
    number_by_key: dict[Hashable, int] = field(default_factory=dict)


class TreeBuilder:
    """Grows a tree by positions, each added after those that lead to it."""

    def __init__(
        self, game: str, seats: int, choices: int, most: int, report: Report | None = None
    ) -> None:
        self.game, self.choices, self.most = game, choices, most
        self.report, self.histories = report, 0
        self._seats = [_Seat() for _ in range(seats)]
        self._end_sequence = [array("i") for _ in range(seats)]
        self._end_utility = [array("d") for _ in range(seats)]

    def count(self, histories: int = 1) -> None:
        """Count positions that are walked; refuse more than are wanted."""
        before = self.histories
        self.histories += histories
        if self.histories > self.most:
            raise GameError(
                f"{self.game} has no exact NashConv: it has more than {self.most:,} histories; "
                f"{ELSEWHERE}"
            )
        if self.report is not None and before // 100_000 != self.histories // 100_000:
            self.report(self.histories)

    def first_sequence(
        self, seat: int, key: Hashable, parent: int, actions: Sequence[int], row: Any
    ) -> int:
        """Return the first sequence of an information state, the same for the same key.

        `parent` is the seat's sequence so far; a state that is reached by two has forgotten
        something, for which there is no best response by sequences.
        """
        table = self._seats[seat]
        number = table.number_by_key.setdefault(key, len(table.parent))
        if number == len(table.parent):
            table.parent.append(parent)
            table.action.extend(actions)
            table.first.append(len(table.action))
            table.rows.append(row)
        elif table.parent[number] != parent:
            raise GameError(
                f"{self.game} has no exact NashConv: seat {seat} forgets what it did, and an "
                f"information state must tell (perfect recall); {ELSEWHERE}"
            )
        first, end = table.first[number], table.first[number + 1]
        if table.action[first:end].tolist() != list(actions):
            raise GameError(
                f"{self.game} has no exact NashConv: seat {seat} sees the same where it may choose "
                "other things; a view must tell what is legal."
            )
        return first

    def end(self, sequences: Sequence[int], chance: float, returns: Sequence[float]) -> None:
        """Add an end."""
        for seat, (sequence, value) in enumerate(zip(sequences, returns, strict=True)):
            self._end_sequence[seat].append(sequence)
            self._end_utility[seat].append(chance * value)

    def ends(
        self, sequences: NDArray[np.int32], chance: NDArray[np.float64], returns: NDArray[Any]
    ) -> None:
        """Add many ends, `[ends, seats]`."""
        for seat in range(sequences.shape[1]):
            self._end_sequence[seat].extend(sequences[:, seat].tolist())
            self._end_utility[seat].extend((chance * returns[:, seat]).tolist())

    def tree(self) -> InformationTree:
        """Return what was grown."""
        seats = tuple(self._seat_tree(table) for table in self._seats)
        sequences = np.array([np.asarray(column) for column in self._end_sequence], np.int32)
        utility = np.array([np.asarray(column) for column in self._end_utility], np.float64)
        return InformationTree(self.game, seats, sequences, utility, self.histories)

    def _seat_tree(self, table: _Seat) -> SeatTree:
        first = np.asarray(table.first, np.int32)
        action = np.asarray(table.action, np.int32)
        mask = np.zeros((len(table.parent), self.choices), np.bool_)
        mask[np.repeat(np.arange(len(mask)), np.diff(first)), action[1:]] = True
        rows = np.array(table.rows)
        # Shared by every later call, so a policy must not write into them.
        rows.flags.writeable = mask.flags.writeable = False
        return SeatTree(np.asarray(table.parent, np.int32), first, action, rows, mask)
