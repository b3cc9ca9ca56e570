"""A bot that reads the rules' own objects: it tries every action of Beasty Bar and counts points.

`state` is a `State` with its `Card`s, as the rules in Python have it; what the seat cannot see is
redrawn in it. Heuristics written for a program's own objects come along in this way. Try it:
lanista play beastybar --seats examples/state_bot.py,random --matches 50
"""

import copy

from lanista.games import StateBot
from lanista.games.beastybar.animals import POINTS
from lanista.games.beastybar.reference import apply


class Greedy(StateBot):
    name = "greedy_by_state"

    def choose_in(self, state, seat, legal, stream):
        return max(legal[0], key=lambda action: self.worth(state, seat, action))

    def worth(self, state, seat, action):
        """Return the points of a position after `action`: the bar counts most, then the Gate."""
        after = copy.deepcopy(state)
        apply(after, action)
        total = 0.0
        for card in after.bar:
            total += 2.0 * POINTS[card.species] * (1 if card.owner == seat else -1)
        for place, card in enumerate(after.line):
            total += (1.1 - 0.2 * place) * POINTS[card.species] * (1 if card.owner == seat else -1)
        return total
