"""Trains agents for competitive games, and says honestly how strong they are.

    import lanista

    trained = lanista.train("kuhn-ppo", output="kuhn.safetensors", iterations=100)
    lanista.evaluate(trained.policy_path)

Everything below is loaded when it is first used: importing this loads neither torch nor NumPy.
`docs/guides/python.md` is the guide.
"""

import importlib
from typing import TYPE_CHECKING, Any

from lanista.moved_modules import install as _install_old_paths

if TYPE_CHECKING:
    from lanista.api.game_making import game_names as game_names
    from lanista.api.game_making import make as make
    from lanista.api.matches import evaluate as evaluate
    from lanista.api.matches import play as play
    from lanista.api.matches import rate as rate
    from lanista.api.matches import round_robin as round_robin
    from lanista.api.policies import Policy as Policy
    from lanista.api.policies import export as export
    from lanista.api.policies import load_policy as load_policy
    from lanista.api.reading import read_run as read_run
    from lanista.api.reading import write_report as write_report
    from lanista.api.training import exploit as exploit
    from lanista.api.training import imitate as imitate
    from lanista.api.training import recipe_names as recipe_names
    from lanista.api.training import run as run
    from lanista.api.training import train as train
    from lanista.errors import LanistaError as LanistaError
    from lanista.errors import RefusedError as RefusedError
    from lanista.evaluation.score import Estimate as Estimate
    from lanista.games.bots import PythonBot as PythonBot
    from lanista.games.check import check_game as check_game
    from lanista.games.contract import Decisions as Decisions
    from lanista.games.contract import Facts as Facts
    from lanista.games.contract import Field as Field
    from lanista.games.contract import Game as Game
    from lanista.games.contract import Group as Group
    from lanista.games.contract import Head as Head
    from lanista.games.contract import References as References
    from lanista.games.contract import Role as Role
    from lanista.games.contract import Spec as Spec
    from lanista.games.python_game import PythonGame as PythonGame
    from lanista.games.python_game import Step as Step
    from lanista.games.python_game import View as View
    from lanista.live.agent import Agent as Agent
    from lanista.nets.files.champions import champion_names as champion_names

__version__ = "0.1.0"

# For editors and type checkers the list above; a test holds that the two are the same.
_HOMES = {
    "lanista.api.game_making": ("game_names", "make"),
    "lanista.api.matches": ("evaluate", "play", "rate", "round_robin"),
    "lanista.api.policies": ("Policy", "export", "load_policy"),
    "lanista.api.reading": ("read_run", "write_report"),
    "lanista.api.training": ("exploit", "imitate", "recipe_names", "run", "train"),
    "lanista.errors": ("LanistaError", "RefusedError"),
    "lanista.evaluation.score": ("Estimate",),
    "lanista.games.bots": ("PythonBot",),
    "lanista.games.check": ("check_game",),
    "lanista.games.contract": (
        *("Decisions", "Facts", "Field", "Game", "Group", "Head", "References", "Role", "Spec"),
    ),
    "lanista.games.python_game": ("PythonGame", "Step", "View"),
    "lanista.live.agent": ("Agent",),
    "lanista.nets.files.champions": ("champion_names",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]

_install_old_paths()


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'lanista' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
