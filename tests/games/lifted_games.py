"""Python games of three hooks, small enough to work by hand, and how they are answered."""

from __future__ import annotations

import numpy as np

from lanista.games import Facts, PythonGame, Step, View


class Scripted(PythonGame):
    """Seats move in the order of a script; each move pays what a table says.

    State: the moves so far. `pays` maps (turn, move) to the rewards of all seats.
    """

    script: tuple[int, ...] = (0, 1, 1, 0)
    pays: dict[tuple[int, int], tuple[float, ...]] = {}  # noqa: RUF012
    facts = Facts(seats=2, longest=10)
    observation = 2
    moves = 3

    def deal(self, rng):
        return []

    def view(self, state, seat):
        if len(state) == len(self.script) or self.script[len(state)] != seat:
            return None
        return View([len(state), seat], [0, 1, 2])

    def apply(self, state, moves, rng):
        (move,) = moves.values()
        rewards = self.pays.get((len(state), move), (0.0, 0.0))
        state.append(move)
        if len(state) < len(self.script):
            return Step(rewards=rewards)
        return Step(rewards=rewards, returns=[sum(state), -sum(state)])


class LastStanding(PythonGame):
    """Three seats in turn; move 1 leaves the match at once for -1. The last one has 2."""

    facts = Facts(seats=3, longest=6, zero_sum=True)
    observation = 1
    moves = 2

    def deal(self, rng):
        return {"turn": 0, "left": [0, 1, 2]}

    def view(self, state, seat):
        mover = state["left"][state["turn"] % len(state["left"])]
        return View([state["turn"]], [0, 1]) if seat == mover else None

    def apply(self, state, moves, rng):
        ((seat, move),) = moves.items()
        if not move:
            state["turn"] += 1
            return None
        state["left"].remove(seat)
        paid = [-1.0 if other == seat else 0.0 for other in range(3)]
        if len(state["left"]) > 1:
            return Step(rewards=paid, out=[seat])
        (winner,) = state["left"]
        return Step(rewards=paid, returns=[2.0 if s == winner else -1.0 for s in range(3)])


class Fingers(PythonGame):
    """Both seats show zero to two fingers, three times; odd sums go to seat 0."""

    facts = Facts(seats=2, longest=3, zero_sum=True, simultaneous=True)
    observation = 2
    moves = 3

    def deal(self, rng):
        return []

    def view(self, state, seat):
        return View([len(state), seat], [0, 1, 2])

    def apply(self, state, moves, rng):
        state.append((moves[0], moves[1]))
        sign = 1 if sum(state[-1]) % 2 else -1
        rewards = [sign, -sign]
        if len(state) < 3:
            return Step(rewards=rewards)
        total = sum(1 if sum(pair) % 2 else -1 for pair in state)
        return Step(rewards=rewards, returns=[total, -total])


def started(game_class, slots=1, **options):
    game = game_class(slots=slots)
    game.start(range(slots), range(slots), options or None)
    return game


def answer(game, *moves):
    """Answer all that is ready, one move for each row; return the slots that ended."""
    rows = np.arange(len(game.decisions()))
    return game.act(rows, np.array(moves)).tolist()
