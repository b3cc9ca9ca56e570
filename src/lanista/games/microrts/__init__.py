"""MicroRTS: a real-time strategy game in Java that others wrote, with bots that others wrote.

engine.py starts Java and wraps a match, boards.py keeps all boards as arrays, layout.py says what a
seat sees and chooses, game.py is the contract, minds.py and bots.py the engine's own bots.
"""

from collections.abc import Callable
from functools import partial

from lanista.games.bots import Player
from lanista.games.contract import Spec
from lanista.games.microrts.bots import EngineBot
from lanista.games.microrts.engine import EXTRA
from lanista.games.microrts.engine_bots import SCRIPTS
from lanista.games.microrts.game import MicroRTS
from lanista.games.microrts.layout import SIDES
from lanista.games.microrts.scene import BOARD
from lanista.games.registry import Entry, Setting


def _bot(name: str) -> Callable[[Spec, int], Player]:
    return partial(EngineBot, name)


ENTRY = Entry(
    "microrts",
    MicroRTS,
    about="MicroRTS: gather, build and fight on a small map; whoever has units left wins.",
    settings={
        "side": Setting(8, "The board's side in cells, 8 or 16.", choices=SIDES),
        "longest": Setting(2000, "The longest match in ticks; then it is a draw."),
    },
    bots={name: _bot(name) for name in SCRIPTS},
    extra=EXTRA,
    board=BOARD,
)

__all__ = ["ENTRY", "EngineBot", "MicroRTS"]
