"""The engine's own bots: which there are, and one of them thinking in one match.

A bot of the engine remembers what its units were sent to do, so it belongs to one seat of one match
and is thrown away with it. Knows the engine's classes, and nothing of slots or records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lanista.games.contract import GameError
from lanista.games.microrts.boards import Orders
from lanista.games.microrts.engine import LOCK, Engine, EngineMatch
from lanista.games.microrts.layout import AIMS, ATTACK, BASE, HARVEST, MAKE, MOVE, RETURN, WAIT
from lanista.games.streams import Stream

SCRIPTED = "scripted"
"""Decides by rules: the same match gives the same orders."""
DRAWN = "drawn"
"""Draws at random, from the match's own stream, and remembers nothing."""
FREE = "free"
"""Has dice without a seed, or searches for a tenth of a second by the clock: no two of its matches
need be the same, and a match that is loaded finds it without memory."""

PLAYOUTS = 100
"""What `naive_mcts` may spend on a decision, in place of its tenth of a second."""


@dataclass(frozen=True)
class Script:
    """A bot that the engine brings along."""

    java: str
    """The name of its class."""
    kind: str
    number: int
    """Names it in saved matches; stays as it is."""
    version: int = 1


SCRIPTS: Mapping[str, Script] = {
    "passive": Script("ai.PassiveAI", SCRIPTED, 1),
    "random_biased": Script("ai.RandomBiasedAI", DRAWN, 2),
    "worker_rush": Script("ai.abstraction.WorkerRush", SCRIPTED, 3),
    "light_rush": Script("ai.abstraction.LightRush", SCRIPTED, 4),
    "heavy_rush": Script("ai.abstraction.HeavyRush", SCRIPTED, 5),
    "ranged_rush": Script("ai.abstraction.RangedRush", SCRIPTED, 6),
    "coac": Script("ai.coac.CoacAI", FREE, 7),
    "rojo": Script("ai.competition.rojobot.Rojo", SCRIPTED, 8),
    "naive_mcts": Script("ai.mcts.naivemcts.NaiveMCTS", DRAWN, 9),
    "mixed": Script("ai.JZ.MixedBot", FREE, 10),
    "izanagi": Script("ai.competition.IzanagiBot.Izanagi", FREE, 11),
    "tiamat": Script("ai.competition.tiamat.Tiamat", FREE, 12),
    "droplet": Script("GNS.Droplet", FREE, 13),
    "grojo": Script("ai.competition.GRojoA3N.GuidedRojoA3N", FREE, 14),
}
BY_NUMBER = {script.number: name for name, script in SCRIPTS.items()}


class Mind:
    """One bot of the engine in one seat of one match."""

    def __init__(self, engine: Engine, name: str, seed: int, since: int) -> None:
        self.engine, self.name, self.seed, self.since = engine, name, seed, since
        self.script = SCRIPTS[name]
        self.turn = -1
        """The turn it last thought about."""
        self.orders: Orders = []
        kind = engine.java(self.script.java)
        self.ai = kind() if name in ("passive", "random_biased") else kind(engine.table)
        self.ai.reset()
        if name == "naive_mcts":
            self.ai.setTimeBudget(-1)
            self.ai.setIterationsBudget(PLAYOUTS)
        self.dice = _dice(engine, self.ai) if self.script.kind == DRAWN else []

    def think(self, match: EngineMatch, match_id: int, seat: int, turn: int) -> Orders:
        """Return its orders; asked twice in one turn, it says the same."""
        if turn == self.turn:
            return self.orders
        with LOCK:
            self.engine.unit.next_ID = match.next_unit
            if self.script.kind == DRAWN:
                stream = Stream.keyed(self.seed, match_id, seat, "act", turn)
                for source in self.dice:
                    source.setSeed(stream.below(2**31 - 1))
            try:
                player_action = self.ai.getAction(seat, match.state)
            except self.engine.error as error:
                raise GameError(
                    f"The bot {self.name!r} of the MicroRTS engine failed in match {match_id} at "
                    f"turn {turn}: {error}"
                ) from error
        width = int(match.state.getPhysicalGameState().getWidth())
        self.turn, self.orders = turn, [_read(pair, width) for pair in player_action.getActions()]
        return self.orders


def _read(pair: Any, width: int) -> tuple[int, int]:
    """Return a unit's cell and its action as one of our choices."""
    unit, action = pair.m_a, pair.m_b
    x, y = int(unit.getX()), int(unit.getY())
    sort = int(action.getType())
    choice = WAIT
    if 1 <= sort <= 3:
        choice = (MOVE, HARVEST, RETURN)[sort - 1] + int(action.getDirection())
    elif sort == 4:
        product = 1 + int(action.getUnitType().ID) - BASE
        choice = MAKE + 4 * product + int(action.getDirection())
    elif sort == 5:
        aim = (int(action.getLocationX()) - x, int(action.getLocationY()) - y)
        choice = ATTACK + AIMS.index(aim) if aim in AIMS else WAIT
    return y * width + x, choice


def _dice(engine: Engine, ai: Any) -> list[Any]:
    """Return every source of chance that a drawing bot uses."""
    dice = [engine.java("ai.mcts.MCTSNode").r]
    hidden = [(engine.java("util.Sampler").class_, None, "generator"), (ai.getClass(), ai, "r")]
    if hasattr(ai, "playoutPolicy"):
        hidden.append((ai.playoutPolicy.getClass(), ai.playoutPolicy, "r"))
    for kind, holder, name in hidden:
        declared_field = kind.getDeclaredField(name)
        declared_field.setAccessible(True)
        dice.append(declared_field.get(holder))
    return dice
