"""The eight turns and mirrors of the square under which the arena is the same."""

from __future__ import annotations

from functools import cache
from itertools import product

from lanista.games.contract import Symmetry

BINS = 11
_AXES = 4
"""Heads with bins: move x and y, aim x and y."""
_OTHER_CHOICES = 2 + 3 + 2
_ENEMY = {"rich": 19, "classic19": 10}
_VECTORS = {
    # The first column of every pair (x, y): own place and velocity; of each enemy, shot and item.
    "rich": (
        0, 2,
        *(18 + 7 * i + at for i in range(3) for at in (1, 3)),
        *(39 + 5 * i + at for i in range(4) for at in (1, 3)),
        *(59 + 5 * i + 1 for i in range(3)),
    ),
    "classic19": (0, 2, 6, 10, 13),
}  # fmt: skip


@cache
def turns(observation: str, length: int) -> Symmetry:
    """Return the turns of a view with this layout.

    A view is shown with the nearest enemy between the x axis and the diagonal; without one, the
    own place decides.
    """
    columns, signs, choices = [], [], []
    for swap, sign_x, sign_y in product((False, True), (1, -1), (1, -1)):
        column, sign = list(range(length)), [1] * length
        for x in _VECTORS[observation]:
            column[x : x + 2] = (x + 1, x) if swap else (x, x + 1)
            sign[x : x + 2] = sign_x, sign_y
        columns.append(tuple(column))
        signs.append(tuple(sign))
        choices.append(_choices(swap, sign_x, sign_y))
    direction = [0.0] * length
    enemy = _ENEMY[observation]
    direction[enemy : enemy + 2] = 1.0, 0.5
    direction[0:2] = 0.01, 0.005
    return Symmetry(tuple(columns), tuple(signs), tuple(choices), tuple(direction))


def _choices(swap: bool, sign_x: int, sign_y: int) -> tuple[int, ...]:
    """Return where each choice goes: turned x is `sign_x` times x, or times y if they `swap`."""
    turned = []
    for axis in range(_AXES):
        pair, is_y = axis - axis % 2, axis % 2 == 1
        to_y = is_y != swap
        sign = sign_y if to_y else sign_x
        first = (pair + to_y) * BINS
        turned += [first + (choice if sign > 0 else BINS - 1 - choice) for choice in range(BINS)]
    rest = _AXES * BINS
    return (*turned, *range(rest, rest + _OTHER_CHOICES))
