"""Equilibria of matrix games, exactly: a linear programme, solved by the simplex method in NumPy.

For the payoff matrices of a league's pool, some dozens of rows. Knows nothing of players.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError

Matrix = NDArray[np.float64]
ACCURACY = 1e-9
"""The most that a best response may gain against an equilibrium; a share of the largest entry."""
_ZERO = 1e-12
_SAME = 1e-6
_MOST_TURNS = 64
_MOST_PIVOTS = 100_000


@dataclass(frozen=True)
class Equilibrium:
    """How both sides mix in a game in which one wins what the other loses."""

    rows: Matrix
    """Of the side that chooses a row and gets the entry."""
    columns: Matrix
    """Of the other side, which pays it."""
    value: float
    """What the first side gets."""


def equilibrium(matrix: Matrix) -> Equilibrium:
    """Return an equilibrium in which rows that are alike have alike shares, as far as it can be.

    A game can have many. Those of one side are a convex set, so the mean over the solutions that
    many orders of rows and columns end with is one too, and prefers nobody for standing first.
    Where four orders far apart agree, it is taken for the only one.
    """
    matrix = _checked(matrix)
    count, width = matrix.shape
    turns = max(count, width)
    starts = range(0, turns, -(-turns // _MOST_TURNS))
    orders = [(turn, step) for turn in starts for step in (1, -1)]
    far_apart = [(0, 1), (0, -1), (turns // 3, 1), (2 * turns // 3, -1)]
    solutions = [_reordered(matrix, *order) for order in far_apart]
    if any(np.abs(solution - solutions[0]).max() > _SAME for solution in solutions):
        solutions = [_reordered(matrix, *order) for order in orders]
    both = np.mean(solutions, axis=0)
    rows, columns = both[:count], both[count:]
    value = float(rows @ matrix @ columns)
    largest = float((matrix @ columns).max() - (rows @ matrix).min())
    if largest > ACCURACY * max(1.0, float(np.abs(matrix).max())):
        raise LanistaError(
            f"A payoff matrix of {count} rows and {width} columns was solved only up to "
            f"{largest:.2g}; its entries differ too much in size."
        )
    return Equilibrium(rows, columns, value)


def _reordered(matrix: Matrix, turn: int, step: int) -> Matrix:
    """Return a solution's shares of rows, then of columns, with both begun at `turn`.

    With `step` -1 they come backwards.
    """
    count, width = matrix.shape
    row_order = np.roll(np.arange(count), -turn)[::step]
    column_order = np.roll(np.arange(width), -turn)[::step]
    both = np.zeros(count + width)
    rows, columns = _solved(matrix[np.ix_(row_order, column_order)])
    both[row_order], both[count + column_order] = rows, columns
    return both


def _checked(matrix: Matrix) -> Matrix:
    matrix = np.asarray(matrix, np.float64)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise LanistaError(
            f"A payoff matrix of shape {list(matrix.shape)} cannot be solved; give rows and "
            "columns of finite numbers."
        )
    return matrix


def _solved(matrix: Matrix) -> tuple[Matrix, Matrix]:
    """Return one equilibrium's row and column shares.

    With all entries shifted above 0 the value v is above 0 too. The columns' shares are y·v for
    the y ≥ 0 of largest sum with A y ≤ 1; the rows' shares are its dual prices times v.
    """
    low, high = float(matrix.min()), float(matrix.max())
    scaled = (matrix - low) / (high - low or 1.0) + 1.0
    count, width = matrix.shape
    table = np.zeros((count + 1, width + count + 1))
    table[:count, :width] = scaled
    table[:count, width:-1] = np.eye(count)
    table[:count, -1] = 1.0
    table[-1, :width] = -1.0
    basis = np.arange(width, width + count)
    for _ in range(_MOST_PIVOTS):
        # Bland's rule: the first of those that help, so that it cannot go round in circles.
        entering = np.flatnonzero(table[-1, :-1] < -_ZERO)
        if not len(entering):
            break
        _pivot(table, basis, int(entering[0]))
    columns = np.zeros(width + count)
    columns[basis] = table[:count, -1]
    return _shares(table[-1, width:-1]), _shares(columns[:width])


def _pivot(table: Matrix, basis: NDArray[np.intp], entering: int) -> None:
    column = table[:-1, entering]
    ratios = np.full(len(column), np.inf)
    np.divide(table[:-1, -1], column, out=ratios, where=column > _ZERO)
    smallest = ratios.min()
    ties = np.flatnonzero(ratios <= smallest + _ZERO)
    leaving = int(ties[np.argmin(basis[ties])])
    table[leaving] /= table[leaving, entering]
    others = np.arange(len(table)) != leaving
    table[others] -= np.outer(table[others, entering], table[leaving])
    basis[leaving] = entering


def _shares(amounts: Matrix) -> Matrix:
    amounts = np.maximum(amounts, 0.0)
    shares: Matrix = amounts / amounts.sum()
    return shares
