"""A bot that plans: flat Monte Carlo over copies of the position as its seat knows it.

Each legal move is tried in its share of the copies, which are played out at random; the move with
the best mean is played. It works in every game with one head that can be copied. Try it:
lanista play leduc --seats examples/planning_bot.py,random --matches 200
"""

import numpy as np

from lanista.games import PlanningBot
from lanista.games.random_bot import RandomBot


class FlatMonteCarlo(PlanningBot):
    name = "flat_monte_carlo"
    copies = 96

    def plan(self, copies, observation, legal, stream):
        moves = legal[0]
        if len(moves) == 1:
            return moves[0]
        tried = np.resize(moves, len(copies))
        copies.choose(tried)
        returns = copies.play_out(RandomBot(self.spec, self.seed))[:, copies.seat]
        return max(moves, key=lambda move: returns[tried == move].mean())
