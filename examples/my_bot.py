"""A bot of your own: one class, one method. This one plays Kuhn poker.

It bets the king, calls with the king, bluffs one jack in three, and now and then calls with the
queen. Try it:  lanista play kuhn --seats random,examples/my_bot.py --matches 1000
"""

from lanista.games import PythonBot

PASS, BET = 0, 1
JACK, QUEEN, KING = 0, 1, 2


class Bluffer(PythonBot):
    name = "bluffer"

    def choose(self, observation, legal, stream):
        card = int(observation[self.spec.observation.slice_of("card")].argmax())
        # Each action so far is a pair (pass, bet). A bet that we see is never our own.
        facing_bet = bool(observation[self.spec.observation.slice_of("bets")][1::2].any())
        if card == KING:
            return BET
        if card == QUEEN:
            return BET if facing_bet and stream.below(3) == 0 else PASS
        return BET if not facing_bet and stream.below(3) == 0 else PASS
