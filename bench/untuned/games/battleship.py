"""Battleship on 5x5 squares: two ships each, placed by the players, then shots in turn.

More hits after twelve shots each win; whoever sinks everything first wins at once.
"""

from dataclasses import dataclass, field

from lanista.games import Facts, PythonGame, View

SIDE, SHIPS, SHOTS = 5, (3, 2), 12
CELLS = SIDE * SIDE
ACROSS, DOWN = 0, CELLS


@dataclass
class Sea:
    ships: list[set[int]] = field(default_factory=lambda: [set(), set()])
    placed: list[int] = field(default_factory=lambda: [0, 0])
    shots: list[list[int]] = field(default_factory=lambda: [[], []])
    turn: int = 0


def squares(move, length):
    """Return the squares of a ship, or None where it leaves the board."""
    start, step = move % CELLS, SIDE if move >= DOWN else 1
    row, column = divmod(start, SIDE)
    if (row if step == SIDE else column) + length > SIDE:
        return None
    return {start + step * at for at in range(length)}


class Battleship(PythonGame):
    """Two fleets that do not see each other."""

    facts = Facts(2, len(SHIPS) * 2 + SHOTS * 2, hidden=True, zero_sum=True)
    observation = 3 * CELLS + 3
    moves = 2 * CELLS

    def deal(self, rng):
        return Sea()

    def view(self, sea, seat):
        if seat != sea.turn:
            return None
        other = 1 - seat
        mine = [float(cell in sea.ships[seat]) for cell in range(CELLS)]
        hits = [
            float(cell in sea.shots[seat] and cell in sea.ships[other]) for cell in range(CELLS)
        ]
        missed = [
            float(cell in sea.shots[seat] and cell not in sea.ships[other]) for cell in range(CELLS)
        ]
        suffered = len(sea.ships[seat] & {*sea.shots[other]}) / 5
        numbers = [*mine, *hits, *missed, sea.placed[seat] / 2, len(sea.shots[seat]) / SHOTS]
        return View([*numbers, suffered], legal=self._legal(sea, seat))

    def _legal(self, sea, seat):
        if sea.placed[seat] == len(SHIPS):
            return [cell for cell in range(CELLS) if cell not in sea.shots[seat]]
        length = SHIPS[sea.placed[seat]]
        options = ((move, squares(move, length)) for move in range(2 * CELLS))
        return [move for move, ship in options if ship and not ship & sea.ships[seat]]

    def apply(self, sea, moves, rng):
        seat, move = next(iter(moves.items()))
        if sea.placed[seat] < len(SHIPS):
            sea.ships[seat] |= squares(move, SHIPS[sea.placed[seat]])
            sea.placed[seat] += 1
        else:
            sea.shots[seat].append(move)
        hits = [len(sea.ships[1 - one] & {*sea.shots[one]}) for one in (0, 1)]
        sunk = sea.placed[1 - seat] == len(SHIPS) and hits[seat] == sum(SHIPS)
        sea.turn = 1 - seat
        if not sunk and len(sea.shots[1]) < SHOTS:
            return None
        lead = (hits[0] > hits[1]) - (hits[0] < hits[1])
        return [lead, -lead]
