"""A hidden role: of four at a table one is the spy, and the others share a secret number.

In two rounds everybody names a number from 0 to 5 in turn. The honest may name the secret or the
next one, the spy any. At the end all but the spy accuse somebody, while the spy guesses the
secret. The spy wins by guessing it, or by being accused by fewer than two.
"""

from dataclasses import dataclass, field

from lanista.games import Facts, PythonGame, View

SEATS, NUMBERS, ROUNDS = 4, 6, 2
SPEECHES = SEATS * ROUNDS


@dataclass
class Table:
    spy: int
    secret: int
    spoken: list[int] = field(default_factory=list)


class Spy(PythonGame):
    """Three honest seats against one."""

    facts = Facts(SEATS, SPEECHES + 1, hidden=True, chance=True, zero_sum=True, simultaneous=True)
    observation = NUMBERS + 1 + SEATS + SPEECHES * (NUMBERS + 1) + 1
    moves = NUMBERS

    def deal(self, rng):
        return Table(rng.below(SEATS), rng.below(NUMBERS))

    def view(self, table, seat):
        voting = len(table.spoken) == SPEECHES
        if not voting and len(table.spoken) % SEATS != seat:
            return None
        spies = seat == table.spy
        numbers = [float(spies)]
        numbers += [float(not spies and table.secret == number) for number in range(NUMBERS)]
        numbers += [float(seat == at) for at in range(SEATS)]
        for at in range(SPEECHES):
            spoken = table.spoken[at] if at < len(table.spoken) else NUMBERS
            numbers += [float(spoken == number) for number in range(NUMBERS + 1)]
        numbers.append(float(voting))
        if voting and not spies:
            return View(numbers, legal=[other for other in range(SEATS) if other != seat])
        if spies:
            return View(numbers, legal=range(NUMBERS))
        return View(numbers, legal=sorted({table.secret, (table.secret + 1) % NUMBERS}))

    def apply(self, table, moves, rng):
        if len(table.spoken) < SPEECHES:
            table.spoken += moves.values()
            return None
        accused = sum(move == table.spy for seat, move in moves.items() if seat != table.spy)
        spy_wins = moves[table.spy] == table.secret or accused < 2
        sign = 1 if spy_wins else -1
        return [3 * sign if seat == table.spy else -sign for seat in range(SEATS)]
