"""A Showdown bot of your own: one file, one class. This one aims strong moves at weak spots.

It sees what its seat was told and nothing else: `tracker.own` is its own team and what it is asked,
`tracker.battle` what the lines of the battle have shown of both sides. Try it against ours, against
poke-env's players on a real server, and let it play on a server that runs on this machine:

    lanista play showdown --seats examples/my_showdown_bot.py,random --matches 20
    lanista showdown evaluate examples/my_showdown_bot.py --opponents random --battles 20
    lanista showdown serve --port 8000
    lanista showdown play examples/my_showdown_bot.py --server 127.0.0.1:8000 --accept 1 --team T

A policy file of `lanista run` or `lanista rl` takes the same place.
See docs/guides/showdown-server.md.
"""

import numpy as np

from lanista.games import PythonBot
from lanista.games.showdown.actions.options import MOVE, options_of
from lanista.games.showdown.actions.orders import PREVIEWS, SINGLES_ORDERS, SLOT_ORDERS
from lanista.games.showdown.protocol.requests import PREVIEW
from lanista.games.showdown.protocol.vocabulary import IMMUNE, dex, effectiveness
from lanista.games.showdown.scripted.bot_view import foes


class WeakSpots(PythonBot):
    name = "weak_spots"

    def act(self, decisions, rows):
        """Answer decisions; of each row it looks at the tracker and at what is legal."""
        actions = np.zeros((len(rows), len(self.spec.heads)), np.int32)
        for number, row in enumerate(rows):
            tracker, legal = decisions.trackers[row], decisions.mask[row]
            if tracker.own.kind == PREVIEW:
                # A choice of the team preview: the first four, the first two of them leading.
                actions[number, 0] = int(np.argmax(legal[: len(PREVIEWS)]))
            else:
                values = self.values(tracker)
                orders = legal[-len(values) :]
                actions[number, -1] = int(np.argmax(np.where(orders, values, -np.inf)))
        return actions

    def values(self, tracker):
        """Return what every turn order is worth, by its number; illegal ones too."""
        places = len(tracker.battle.sides[0].places)
        if places == 1:
            return self.values_of_place(tracker, 0, SINGLES_ORDERS)
        first, second = (self.values_of_place(tracker, at, SLOT_ORDERS) for at in range(2))
        return (first[:, None] + second[None]).reshape(-1)

    def values_of_place(self, tracker, place, size):
        """Return what each order is worth to one Pokémon on the field."""
        values = np.full(size, -1.0)
        there = foes(tracker)
        for option in options_of(tracker, place):
            if option.kind != MOVE:
                continue
            move = dex().move_of(option.move)
            hits = [self.strength(move, there[at]) for at in option.foes if there[at]]
            # A move that hits the ally too is worth less; so is a Terastallization for nothing.
            values[option.order] = sum(hits) - 100 * option.ally - (10 if option.tera else 0)
        return values

    def strength(self, move, foe):
        """Return a move's base power against one opponent's types."""
        doubled = effectiveness(move.type, foe.fighter.types)
        return 0.0 if doubled == IMMUNE else move.power * 2.0**doubled
