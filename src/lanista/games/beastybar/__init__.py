"""Beasty Bar: 48 animals in five places before a bar. Compiled, with a readable reference.

`rules` has the rules in C and `reference` the same from the rulebook; `observation` is what a seat
sees; `bots` are the scripted players and `distilled` the linear judge of one of them; `draw` shows
a position; `puzzles` resolves a single turn.
"""

from functools import partial

from lanista.games.beastybar.bots import NAMES, make_bot
from lanista.games.beastybar.game import BeastyBar
from lanista.games.beastybar.puzzles import resolve
from lanista.games.beastybar.reference import state_from
from lanista.games.beastybar.scene import BOARD
from lanista.games.registry import Entry, Setting

ENTRY = Entry(
    name="beastybar",
    make=BeastyBar,
    about="Twelve animals a seat jostle for the bar; hidden hands, two to four seats.",
    settings={
        "seats": Setting(2, "How many play.", (2, 3, 4)),
        "scoring": Setting(
            "points",
            "points: printed points. count: animals, ties to the weaker ones. "
            "count_points: animals, ties to the points.",
            ("points", "count", "count_points"),
        ),
        "kangaroo_may_stay": Setting(False, "A kangaroo need not jump.", (False, True)),
        "parrot_may_decline": Setting(False, "A parrot need not chase anybody.", (False, True)),
        "chameleon_may_decline": Setting(False, "A chameleon need not copy.", (False, True)),
    },
    bots={name: partial(make_bot, name) for name in NAMES},
    state=state_from,
    board=BOARD,
    variants={name: partial(make_bot, name) for name in ("distilled_outcome",)},
)

__all__ = ["ENTRY", "BeastyBar", "resolve"]
