"""A race over thirty squares with dice: each turn a runner chooses how much to dare.

A four-sided die always moves; an eight-sided one stumbles on a one, a twelve-sided one on one to
three: the runner falls back three squares. Landing on the other sends the other back five.
"""

from dataclasses import dataclass, field

from lanista.games import Facts, Field, PythonGame, View

GOAL, DICE, STUMBLES, TURNS = 30, (4, 8, 12), (0, 1, 3), 120


@dataclass
class Track:
    places: list[int] = field(default_factory=lambda: [0, 0])
    turn: int = 0
    moves: int = 0


class Race(PythonGame):
    """Two runners, everything in sight."""

    facts = Facts(2, TURNS, chance=True, zero_sum=True)
    observation = (
        Field("own place", classes=GOAL + 1),
        Field("other place", classes=GOAL + 1),
    )
    moves = len(DICE)

    def deal(self, rng):
        return Track(turn=rng.below(2))

    def view(self, track, seat):
        if seat != track.turn:
            return None
        return View([track.places[seat], track.places[1 - seat]], legal=range(len(DICE)))

    def apply(self, track, moves, rng):
        seat, die = next(iter(moves.items()))
        rolled = 1 + rng.below(DICE[die])
        step = -3 if rolled <= STUMBLES[die] else rolled
        place = track.places[seat] = min(GOAL, max(0, track.places[seat] + step))
        track.moves += 1
        if place == GOAL:
            return [1, -1] if seat == 0 else [-1, 1]
        if 0 < place == track.places[1 - seat]:
            track.places[1 - seat] = max(0, place - 5)
        track.turn = 1 - seat
        return [0, 0] if track.moves == TURNS else None
