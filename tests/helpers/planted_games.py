"""Games and bots in files of their own, with work planted where a test wants it.

Work is counted, not slept: a slow machine makes all of it slower alike.
"""

from __future__ import annotations

GAME = """
from lanista.games import Facts, PythonGame, View


def burn(rounds):
    total = 0
    for number in range(rounds):
        total += number * number
    return total


class Planted(PythonGame):
    facts = Facts(2, 4, zero_sum=True)
    observation = 2
    moves = 2

    def deal(self, rng):
        return [0, 0]

    def apply(self, state, moves, rng):
        burn({apply})
        (seat, move), = moves.items()
        state[0] += 1
        state[1] += move if seat == 0 else -move
        return [state[1], -state[1]] if state[0] == 4 else None

    def view(self, state, seat):
        if state[0] % 2 != seat:
            return None
        burn({view})
        return View([state[0] / 4, seat], [0, 1])

    def decisions(self):
        burn({decisions})
        return super().decisions()
"""
BOT = """
from lanista.games import PythonBot


class Ponderer(PythonBot):
    name = "ponderer"

    def choose(self, observation, legal, stream):
        total = 0
        for number in range({choose}):
            total += number * number
        return legal[0][0]
"""


def game_file(folder, *, apply=0, view=0, decisions=0):
    """Write a game of four turns that burns so many rounds in each hook; return its file."""
    file = folder / "planted.py"
    file.write_text(GAME.replace("{apply}", str(apply)).replace("{view}", str(view))
                    .replace("{decisions}", str(decisions)), encoding="utf-8")  # fmt: skip
    return str(file)


def bot_file(folder, choose):
    """Write a bot that burns so many rounds for each choice; return its file."""
    file = folder / "ponderer.py"
    file.write_text(BOT.replace("{choose}", str(choose)), encoding="utf-8")
    return str(file)
