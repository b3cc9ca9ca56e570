"""Which games there are, and the one way to make one.

Built-in games are named here and imported when asked for. An installed package adds its own
through the entry-point group `lanista.games`; a file `my_game.py` is a game too.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from lanista.errors import nearest
from lanista.games.arguments import read_seed
from lanista.games.bots import Player
from lanista.games.contract import Game, GameError, Spec
from lanista.games.random_bot import RandomBot

BUILT_IN = {
    "beastybar": "lanista.games.beastybar:ENTRY",
    "arena": "lanista.games.arena:ENTRY",
    "kuhn": "lanista.games.small:KUHN",
    "leduc": "lanista.games.small:LEDUC",
    "liars_dice": "lanista.games.small:LIARS_DICE",
    "phantom_ttt": "lanista.games.small:PHANTOM_TTT",
    "microrts": "lanista.games.microrts:ENTRY",
    "showdown": "lanista.games.showdown.entry:ENTRY",
    "openspiel": "lanista.games.adapters.openspiel:ENTRY",
    "pettingzoo": "lanista.games.adapters.from_pettingzoo:ENTRY",
}

MakeBot = Callable[[Spec, int], Player]


@dataclass(frozen=True)
class Setting:
    """Something a game can be made with; it is part of the game's spec."""

    default: Any
    about: str
    choices: tuple[Any, ...] = ()
    """The values allowed; for numbers without a list, anything of the default's type."""


@dataclass(frozen=True)
class Entry:
    """A game as the registry knows it."""

    name: str
    make: Callable[..., Game]
    """Called with `slots`, `seed` and every setting by name."""
    about: str = ""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    bots: Mapping[str, MakeBot] = field(default_factory=dict)
    missing_bots: Mapping[str, str] = field(default_factory=dict)
    """Bots that cannot be made here, each with the reason."""
    takes_name: bool = False
    """`name:WORD` makes a game of the family; WORD reaches `make` as `name`."""
    extra: str = ""
    """What `pip install '.[EXTRA]'` must have brought before `make` works; empty: nothing."""
    slots: int = 0
    """How many matches side by side suit the game where nobody says; 0: as many as anybody likes.
    Changes no result."""


def names() -> list[str]:
    """Return the names of all games: the built-in ones, then those of installed packages."""
    return [*BUILT_IN, *sorted(set(_installed()) - set(BUILT_IN))]


def entry(name: str) -> Entry:
    """Return the entry of a game: a known name, `family:WORD`, or a Python file."""
    if name.endswith(".py") or ".py:" in name:
        return _from_file(name)
    family, _, word = name.partition(":")
    if family in BUILT_IN:
        module, _, attribute = BUILT_IN[family].partition(":")
        found = getattr(importlib.import_module(module), attribute)
    elif family in _installed():
        found = _as_entry(_load_point(_installed()[family]), family)
    else:
        raise GameError(f"There is no game {name!r}; {nearest(family, names())}")
    if bool(word) != found.takes_name:
        remedy = f"write {family}:NAME" if found.takes_name else f"write {family}"
        raise GameError(f"{name!r} does not name a game; {remedy}.")
    return found  # type: ignore[no-any-return]


def make(name: str, *, slots: int = 1, seed: int = 0, **settings: Any) -> Game:
    """Make a game with `slots` matches side by side."""
    found = entry(name)
    chosen = check_settings(found, settings)
    word = name.partition(":")[2]
    if found.takes_name:
        return found.make(name=word, slots=slots, seed=seed, **chosen)
    return found.make(slots=slots, seed=seed, **chosen)


def spec_of(name: str, *, seed: int = 0, **settings: Any) -> Spec:
    """Return the spec of a game; whatever making it started outside this process is ended."""
    with closing(make(name, seed=seed, **settings)) as game:
        return game.spec


def make_bot(game: str, bot: str, spec: Spec, seed: int = 0) -> Player:
    """Make a bot of a game; every game has `random`."""
    found = entry(game)
    if bot in found.bots:
        return found.bots[bot](spec, read_seed(seed))
    if bot == "random":
        return RandomBot(spec, read_seed(seed))
    if bot in found.missing_bots:
        reason = found.missing_bots[bot]
        raise GameError(f"The bot {bot!r} of {game} cannot be made here: {reason}")
    raise GameError(f"{game} has no bot {bot!r}; {nearest(bot, bot_names(found))}")


def slots_for(game: str, most: int) -> int:
    """Return how many matches of a game to play side by side, `most` at most."""
    return min(most, entry(game).slots or most)


def bot_names(found: Entry) -> list[str]:
    """Return the names of a game's bots, `random` first."""
    return ["random", *(name for name in found.bots if name != "random")]


def check_settings(found: Entry, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of a game with `settings` in place of the defaults."""
    chosen = {name: setting.default for name, setting in found.settings.items()}
    for name, value in settings.items():
        if name not in chosen:
            raise GameError(f"{found.name} has no setting {name!r}; {nearest(name, chosen)}")
        setting = found.settings[name]
        if setting.choices and value not in setting.choices:
            allowed = ", ".join(str(choice) for choice in setting.choices)
            raise GameError(f"{found.name} setting {name} is {value!r}; choose from {allowed}.")
        if type(value) is not type(setting.default):
            if not (isinstance(setting.default, float) and type(value) is int):
                kind = type(setting.default).__name__
                raise GameError(f"{found.name} setting {name} is {value!r}; give a {kind}.")
            value = float(value)
        chosen[name] = value
    return chosen


def _installed() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group="lanista.games")}


def _load_point(point: EntryPoint) -> Any:
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise GameError(
            f"The game {point.name!r} of an installed package cannot be loaded from "
            f"{point.value}: {error}"
        ) from error


def _as_entry(found: Any, name: str) -> Entry:
    if isinstance(found, Entry):
        return found
    if not callable(found):
        raise GameError(f"The entry point {name!r} gives {found!r}; give a game class or an Entry.")
    about = (inspect.getdoc(found) or "").partition("\n")[0]
    return Entry(name=name, make=found, about=about, bots=getattr(found, "bots", {}))


def _from_file(name: str) -> Entry:
    path_text, _, attribute = name.partition(".py:")
    path = Path(path_text if not attribute else path_text + ".py")
    if not path.is_file():
        raise GameError(f"There is no game file {str(path)!r}.")
    module = load_file(path)
    if attribute:
        if not hasattr(module, attribute):
            raise GameError(f"{path} has no {attribute!r}.")
        return _as_entry(getattr(module, attribute), attribute)
    from lanista.games.lift import PythonGame

    values = list(vars(module).values())
    classes = [value for value in values if _written_in(module, value, PythonGame)]
    # An entry says more about a game than its class does.
    games = [value for value in values if isinstance(value, Entry)] or classes
    if not games:
        raise GameError(f"{path} has no game; write a class that derives from PythonGame.")
    if len(games) > 1:
        raise GameError(f"{path} has {len(games)} games; name one as {path}:CLASS.")
    return _as_entry(games[0], path.stem)


def _written_in(module: Any, value: Any, base: type) -> bool:
    own = isinstance(value, type) and value.__module__ == module.__name__
    return own and issubclass(value, base)


def load_file(path: Path) -> Any:
    """Run a user's Python file and return its module; what it raises becomes one sentence."""
    name = f"lanista_file_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        what = f"{type(error).__name__}: {error}".rstrip(".")
        raise GameError(f"{path} cannot be run: {what}.") from error
    return module
