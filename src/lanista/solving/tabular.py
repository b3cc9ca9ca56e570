"""Regret minimisation over a tree: what has been regretted and played so far, and what follows.

Owns the arrays between iterations; the arithmetic is regret.pyx's. Knows nothing of files and of
when to stop.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games.trees.exact import nash_conv, values
from lanista.games.trees.tree import InformationTree, SeatTree
from lanista.solving.regret import Seat, iterate

Method = Literal["cfr+", "dcfr"]
Arrays = dict[str, NDArray[np.float64]]


class TabularSolver:
    """An equilibrium in the making, of two seats that play for each other's loss."""

    def __init__(self, tree: InformationTree, method: Method, arrays: Arrays | None = None) -> None:
        """Begin afresh, or from the `arrays` of a solver of the same tree and method."""
        _refuse(tree)
        self.tree, self.method, self.iterations = tree, method, 0
        sizes = [int(seat.first[-1]) for seat in tree.seats]
        if arrays is None:
            arrays = {name: np.zeros(sizes[int(name[-1])]) for name in _NAMES}
        self.arrays = {name: np.ascontiguousarray(arrays[name], np.float64) for name in _NAMES}
        self._seats = [
            Seat(
                seat,
                tree.end_sequence[number],
                tree.end_utility[number],
                self.arrays[f"regret_{number}"],
                self.arrays[f"average_{number}"],
            )
            for number, seat in enumerate(tree.seats)
        ]

    def iterate(self, count: int) -> None:
        """Do `count` further iterations."""
        one, two = self._seats
        iterate(one, two, self.iterations, count, self.method == "cfr+")
        self.iterations += count

    def profile(self) -> list[NDArray[np.float64]]:
        """Return the average policy of both seats, the probability of each sequence's action."""
        averages = (self.arrays["average_0"], self.arrays["average_1"])
        return [
            _behaviour(seat, average)
            for seat, average in zip(self.tree.seats, averages, strict=True)
        ]

    def nash_conv(self) -> float:
        """Return what both seats could gain by best responses to the average policy."""
        return nash_conv(self.tree, self.profile())

    def value(self) -> float:
        """Return what seat 0 earns where both play the average policy."""
        return values(self.tree, self.profile())[0]

    def table(self) -> tuple[NDArray[np.generic], NDArray[np.float64]]:
        """Return every view, and the probability of each choice where it is seen."""
        tables = []
        for seat, behaviour in zip(self.tree.seats, self.profile(), strict=True):
            probability = np.zeros(seat.mask.shape)
            probability[seat.state_of, seat.action[1:]] = behaviour[1:]
            tables.append(probability)
        return np.concatenate([seat.rows for seat in self.tree.seats]), np.concatenate(tables)


_NAMES = ("regret_0", "average_0", "regret_1", "average_1")


def tree_digest(tree: InformationTree) -> str:
    """Return what tells a tree from others: its states, actions and what its ends pay."""
    total = hashlib.sha256(tree.game.encode())
    for seat in tree.seats:
        for array in (seat.parent, seat.first, seat.action, seat.rows):
            total.update(np.ascontiguousarray(array).data)
    total.update(np.ascontiguousarray(tree.end_sequence).data)
    total.update(np.ascontiguousarray(tree.end_utility).data)
    return total.hexdigest()


def _behaviour(seat: SeatTree, average: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an average of plans as probabilities of actions; all alike where it never was."""
    counts = np.diff(seat.first)
    totals = np.repeat(np.add.reduceat(average, seat.first[:-1]), counts)
    alike = 1 / np.repeat(counts, counts)
    shares = np.divide(average[1:], totals, out=alike, where=totals > 0)
    return np.concatenate([[1.0], shares])


def _refuse(tree: InformationTree) -> None:
    if len(tree.seats) != 2 or not np.allclose(tree.end_utility.sum(0), 0, atol=1e-9):
        raise LanistaError(
            f"{tree.game} is not a game of two seats that play for each other's loss, and only "
            "there regrets lead to an equilibrium; `lanista rl` trains for it."
        )
    rows = np.concatenate([seat.rows for seat in tree.seats])
    if len(np.unique(rows, axis=0)) < len(rows):
        raise LanistaError(
            f"{tree.game} shows the same view in different information states, so that no policy "
            "file, which chooses by views, can play its equilibrium; show seats whose turn it is "
            "and what they did."
        )
