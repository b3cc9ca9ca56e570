"""The arena: a free-for-all shooter for two to eight in a shrinking zone.

rules.pxd is the rules, view.pxd what a seat sees, hidden.pxd what it does not, bots.pyx who plays;
reference.py says the same in plain Python, for the tests. frames.py is what a picture shows,
draw.py draws it in a terminal, animation.py as a moving picture. action_codec.py and events.py turn
what other programs say of actions and of a match into this game's numbers.
"""

from collections.abc import Callable
from functools import partial

from lanista.games.arena.action_codec import Action, decode_action, encode_action
from lanista.games.arena.animation import ArenaAnimation
from lanista.games.arena.bots import VERSIONS, ArenaBot
from lanista.games.arena.events import project_action, project_observation
from lanista.games.arena.game import Arena
from lanista.games.arena.layout import OBSERVATIONS
from lanista.games.arena.scene import BOARD
from lanista.games.bots import Player
from lanista.games.contract import Spec
from lanista.games.registry import Entry, Projection, Setting


def _bot(name: str) -> Callable[[Spec, int], Player]:
    return partial(ArenaBot, name)


ENTRY = Entry(
    "arena",
    Arena,
    about="A shooter for two to eight in a shrinking zone; the last one standing wins.",
    settings={
        "seats": Setting(2, "How many fight, 2 to 8.", choices=(2, 3, 4, 5, 6, 7, 8)),
        "duration": Setting(60.0, "The time limit in seconds, 1 to 600."),
        "ticks_per_decision": Setting(3, "Ticks of a thirtieth of a second that an order holds."),
        "observation": Setting(
            "rich", "What a seat is shown: rich, or classic19.", choices=OBSERVATIONS
        ),
    },
    bots={name: _bot(name) for name in VERSIONS},
    animate=ArenaAnimation,
    project=Projection(project_observation, project_action),
    board=BOARD,
)

__all__ = ["ENTRY", "Action", "Arena", "ArenaBot", "decode_action", "encode_action"]
