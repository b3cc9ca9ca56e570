"""What can be played: the contract, the registry, the checker, and the games themselves."""

from lanista.games.bots import PlanningBot, Player, PythonBot, StateBot, StatefulBot
from lanista.games.check import check_game
from lanista.games.contract import (
    Abilities,
    Decisions,
    Facts,
    Field,
    Game,
    GameError,
    Group,
    Head,
    Observation,
    Option,
    References,
    Role,
    Spec,
)
from lanista.games.planning import Copies, Planner
from lanista.games.python_game import PythonGame, Step, View
from lanista.games.registry import Entry, Setting, entry, make, make_bot, names
from lanista.games.streams import Stream

__all__ = [
    "Abilities",
    "Copies",
    "Decisions",
    "Entry",
    "Facts",
    "Field",
    "Game",
    "GameError",
    "Group",
    "Head",
    "Observation",
    "Option",
    "Planner",
    "PlanningBot",
    "Player",
    "PythonBot",
    "PythonGame",
    "References",
    "Role",
    "Setting",
    "Spec",
    "StateBot",
    "StatefulBot",
    "Step",
    "Stream",
    "View",
    "check_game",
    "entry",
    "make",
    "make_bot",
    "names",
]
