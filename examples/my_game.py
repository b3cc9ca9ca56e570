"""A game of your own in about fifty lines: copy this file and change the rules.

Purses. Each of two bidders holds a secret purse of four to eight coins. Three lots come up, each
worth two to six points. Both bid at once; the higher bid pays and takes the lot, equal bids lose
it. More points win. Bids are shown afterwards, so they tell something about a purse.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from lanista.games import Facts, Field, Head, PythonBot, PythonGame, View

LOTS, POOREST, RICHEST = 3, 4, 8
SEEN = {"purse": 9, "lot": 7, "left": 4, "points": 19, "other points": 19, "paid": 9, "proven": 9}


@dataclass
class Table:
    purse: list[int]  # what each seat began with; secret
    lot: int
    lots_left: int = LOTS
    paid: list[int] = field(default_factory=lambda: [0, 0])
    proven: list[int] = field(default_factory=lambda: [POOREST, POOREST])  # began with at least
    points: list[int] = field(default_factory=lambda: [0, 0])


class Thrifty(PythonBot):
    """Spreads its coins evenly over the lots that are left."""

    name = "thrifty"

    def choose(self, observation, legal, stream):
        purse, _, lots_left = (int(number) for number in observation[:3])
        return min(purse // lots_left + stream.below(2), legal[0][-1])


class Purses(PythonGame):
    """Two bidders with secret purses and three lots."""

    facts = Facts(2, LOTS, hidden=True, chance=True, zero_sum=True, simultaneous=True)
    observation = tuple(Field(name, classes=numbers) for name, numbers in SEEN.items())
    moves = (Head("bid", RICHEST + 1),)
    dtype = "uint8"
    bots: ClassVar = {"thrifty": Thrifty}

    def deal(self, rng):
        return Table([POOREST + rng.below(5), POOREST + rng.below(5)], lot=2 + rng.below(5))

    def view(self, table, seat):
        other, purse = 1 - seat, table.purse[seat] - table.paid[seat]
        numbers = [purse, table.lot, table.lots_left, table.points[seat], table.points[other]]
        return View([*numbers, table.paid[other], table.proven[other]], legal=range(purse + 1))

    def apply(self, table, bids, rng):
        for seat, bid in bids.items():
            table.proven[seat] = max(table.proven[seat], table.paid[seat] + bid)
        if bids[0] != bids[1]:
            winner = int(bids[1] > bids[0])
            table.paid[winner] += bids[winner]
            table.points[winner] += table.lot
        table.lots_left -= 1
        if table.lots_left:
            table.lot = 2 + rng.below(5)
            return None  # The match goes on.
        lead = table.points[0] - table.points[1]
        return [(lead > 0) - (lead < 0), (lead < 0) - (lead > 0)]

    def resample(self, table, seat, rng):
        """Redraw the other purse from what its bids have not ruled out."""
        least = table.proven[1 - seat]
        table.purse[1 - seat] = least + rng.below(RICHEST - least + 1)
