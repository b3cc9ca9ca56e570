"""Which games there are, and the one way to make one.

Built-in games are named here and imported when asked for. An installed package adds its own
through the entry-point group `lanista.games`; a file `my_game.py` is a game too, where the user
named or allowed it (trust.py). A name out of a policy or a replay goes through trusted_names.py.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanista.errors import nearest
from lanista.foreign import read_regular
from lanista.games import driver_files, trust
from lanista.games.arguments import read_seed
from lanista.games.bots import Player
from lanista.games.contract import Animation, Game, GameError, Spec
from lanista.games.random_bot import RandomBot

if TYPE_CHECKING:
    from lanista.games.scenes import Board

BUILT_IN = {
    "beastybar": "lanista.games.beastybar:ENTRY",
    "arena": "lanista.games.arena:ENTRY",
    "kuhn": "lanista.games.small:KUHN",
    "leduc": "lanista.games.small:LEDUC",
    "liars_dice": "lanista.games.small:LIARS_DICE",
    "phantom_ttt": "lanista.games.small:PHANTOM_TTT",
    "card_rps": "lanista.games.small:CARD_RPS",
    "microrts": "lanista.games.microrts:ENTRY",
    "showdown": "lanista.games.showdown.entry:ENTRY",
    "openspiel": "lanista.games.adapters.openspiel:ENTRY",
    "pettingzoo": "lanista.games.adapters.from_pettingzoo:ENTRY",
}

MakeBot = Callable[[Spec, int], Player]

# A parameter can name a file. What is a number, a truth value or a plain word of a game that reads
# no file may stand in a settings file; anything else the user must have typed or allowed.
_PARAMETER = r"(?!\w*file)\w+=[\w.+-]+"
_HARMLESS = re.compile(
    r"[A-Za-z0-9_-]+(:(?!efg_game|nfg_game)[A-Za-z0-9_.-]+"
    rf"(\({_PARAMETER}(, ?{_PARAMETER})*\)|\(\))?)?"
)


@dataclass(frozen=True)
class Setting:
    """Something a game can be made with; it is part of the game's spec."""

    default: Any
    about: str
    choices: tuple[Any, ...] = ()
    """The values allowed; for numbers without a list, anything of the default's type."""
    in_files: tuple[Any, ...] | None = None
    """What a policy's or a replay's word may set it to; None: anything. For settings that name a
    path or ask for processes."""


@dataclass(frozen=True)
class Projection:
    """How events of another program become what a game shows and what can be chosen.

    Both give the names of what the game has no place for.
    """

    observation: Callable[[Spec, Mapping[str, Any]], tuple[list[float], list[str]]]
    action: Callable[[Mapping[str, Any]], tuple[list[int], list[str]]]


@dataclass(frozen=True)
class Entry:
    """A game as the registry knows it."""

    name: str
    make: Callable[..., Game]
    """Called with `slots`, `seed` and every setting by name."""
    about: str = ""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    bots: Mapping[str, MakeBot] = field(default_factory=dict)
    variants: Mapping[str, MakeBot] = field(default_factory=dict)
    """Further bots that can be named, and that are not meant where all bots are."""
    missing_bots: Mapping[str, str] = field(default_factory=dict)
    """Bots that cannot be made here, each with the reason."""
    takes_name: bool = False
    """`name:WORD` makes a game of the family; WORD reaches `make` as `name`."""
    bots_of: Callable[[str], Mapping[str, MakeBot]] | None = None
    """Of a family: WORD to the bots of that game alone. A word that names no game has none."""
    extra: str = ""
    """What `pip install '.[EXTRA]'` must have brought before `make` works; empty: nothing."""
    slots: int = 0
    """How many matches side by side suit the game where nobody says; 0: as many as anybody likes.
    Changes no result."""
    state: Callable[[Spec, Any], Any] | None = None
    """Makes the rules' own objects from what a compiled game's `state(slot)` gives; None: that is
    what there is."""
    animate: Callable[[Spec, Sequence[str]], Animation] | None = None
    """Makes the animation of a match from the names in its seats; None: the game has none."""
    project: Projection | None = None
    """Takes a collector's events with named values; None: steps must have the game's layout."""
    board: Board | None = None
    """How the game shows itself to a page and to a person who plays; None: as text."""


def is_python_file(name: str) -> bool:
    """Return whether a game's name is written as a Python file, `file.py` or `file.py:Class`."""
    return name.endswith(".py") or ".py:" in name


def is_harmless(name: str) -> bool:
    """Return whether a game's name can neither run a file nor read one."""
    return _HARMLESS.fullmatch(name) is not None


def file_digest(name: str) -> str:
    """Return the SHA-256 of the Python file that a game's name is; of any other name, nothing."""
    if not is_python_file(name):
        return ""
    return trust.sha256(python_bytes(python_path(name)))


def names() -> list[str]:
    """Return the names of all games: the built-in ones, then those of installed packages."""
    return [*BUILT_IN, *sorted(set(_installed()) - set(BUILT_IN))]


def entry(name: str) -> Entry:
    """Return the entry of a game: a known name, `family:WORD`, or a Python file."""
    if is_python_file(name):
        return _from_file(name)[0]
    if not is_harmless(name):
        trust.refuse_word(name, f"The game {name!r} can name a file")
    family, _, word = name.partition(":")
    if family in BUILT_IN:
        module, _, attribute = BUILT_IN[family].partition(":")
        game_entry = getattr(importlib.import_module(module), attribute)
    elif family in _installed():
        game_entry = _as_entry(_load_point(_installed()[family]), family)
    else:
        raise GameError(f"There is no game {name!r}; {nearest(family, names())}")
    if bool(word) != game_entry.takes_name:
        remedy = f"write {family}:NAME" if game_entry.takes_name else f"write {family}"
        raise GameError(f"{name!r} does not name a game; {remedy}.")
    if game_entry.bots_of is not None:
        game_entry = replace(game_entry, bots={**game_entry.bots, **game_entry.bots_of(word)})
    return game_entry  # type: ignore[no-any-return]


def make(name: str, *, slots: int = 1, seed: int = 0, **settings: Any) -> Game:
    """Make a game with `slots` matches side by side."""
    if is_python_file(name):
        return _made_from_file(name, slots, seed, settings)
    game_entry = entry(name)
    chosen = check_settings(game_entry, settings)
    word = name.partition(":")[2]
    if game_entry.takes_name:
        return game_entry.make(name=word, slots=slots, seed=seed, **chosen)
    return game_entry.make(slots=slots, seed=seed, **chosen)


def spec_of(name: str, *, seed: int = 0, **settings: Any) -> Spec:
    """Return the spec of a game; whatever making it started outside this process is ended."""
    with closing(make(name, seed=seed, **settings)) as game:
        return game.spec


def make_bot(game: str, bot: str, spec: Spec, seed: int = 0) -> Player:
    """Make a bot of a game; every game has `random`."""
    game_entry = entry(game)
    if make_named := (game_entry.bots.get(bot) or game_entry.variants.get(bot)):
        return make_named(spec, read_seed(seed))
    if bot == "random":
        return RandomBot(spec, read_seed(seed))
    if bot in game_entry.missing_bots:
        reason = game_entry.missing_bots[bot]
        raise GameError(f"The bot {bot!r} of {game} cannot be made here: {reason}")
    raise GameError(f"{game} has no bot {bot!r}; {nearest(bot, all_bot_names(game_entry))}")


def slots_for(game: str, most: int) -> int:
    """Return how many matches of a game to play side by side, `most` at most."""
    return min(most, entry(game).slots or most)


def bot_names(game_entry: Entry) -> list[str]:
    """Return the names of a game's bots, `random` first."""
    return ["random", *(name for name in game_entry.bots if name != "random")]


def all_bot_names(game_entry: Entry) -> list[str]:
    """Return every name that a bot of the game can be called by, variants last."""
    return [*bot_names(game_entry), *game_entry.variants]


def quick_bots(game_entry: Entry) -> list[str]:
    """Return the names of those bots that answer at once: all whose class does not plan."""
    makers = {name: game_entry.bots.get(name) for name in bot_names(game_entry)}
    classes = {name: getattr(maker, "func", maker) for name, maker in makers.items()}
    return [name for name, made in classes.items() if not hasattr(made, "plan_with")]


def check_settings(game_entry: Entry, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of a game with `settings` in place of the defaults."""
    chosen = {name: setting.default for name, setting in game_entry.settings.items()}
    for name, value in settings.items():
        if name not in chosen:
            raise GameError(f"{game_entry.name} has no setting {name!r}; {nearest(name, chosen)}")
        setting = game_entry.settings[name]
        if setting.choices and value not in setting.choices:
            allowed = ", ".join(str(choice) for choice in setting.choices)
            raise GameError(
                f"{game_entry.name} setting {name} is {value!r}; choose from {allowed}."
            )
        if type(value) is not type(setting.default):
            if not (isinstance(setting.default, float) and type(value) is int):
                kind = type(setting.default).__name__
                raise GameError(f"{game_entry.name} setting {name} is {value!r}; give a {kind}.")
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


def _as_entry(loaded: Any, name: str) -> Entry:
    if isinstance(loaded, Entry):
        return loaded
    if not callable(loaded):
        raise GameError(
            f"The entry point {name!r} gives {loaded!r}; give a game class or an Entry."
        )
    about = (inspect.getdoc(loaded) or "").partition("\n")[0]
    return Entry(name=name, make=loaded, about=about, bots=getattr(loaded, "bots", {}))


def _made_from_file(name: str, slots: int, seed: int, settings: Mapping[str, Any]) -> Game:
    game_entry, digest = _from_file(name)
    if game_entry.takes_name:
        raise GameError(f"{name!r} does not name a game: a file's entry cannot be a family.")
    game = game_entry.make(slots=slots, seed=seed, **check_settings(game_entry, settings))
    # So that a policy knows from which file its game came.
    with suppress(AttributeError):  # A compiled game's cannot be replaced: no file is named.
        game.spec = replace(game.spec, game_file=digest, game_path=name)  # type: ignore[misc]
    return game


def _file_and_class(name: str) -> tuple[Path, str]:
    path_text, _, attribute = name.partition(".py:")
    return Path(path_text if not attribute else path_text + ".py"), attribute


def python_path(name: str) -> Path:
    """Return the file of a game whose name is a Python file."""
    return _file_and_class(name)[0]


def python_bytes(path: Path) -> bytes:
    """Return the bytes of a game's Python file, without running it."""
    if not path.is_file():
        driver_files.refuse_other(path, None)
        raise GameError(f"There is no game file {str(path)!r}.")
    return read_regular(path, trust.MOST_PYTHON, "game file")


def _from_file(name: str) -> tuple[Entry, str]:
    """Return the game in a file, and the digest of the bytes that were run."""
    path, attribute = _file_and_class(name)
    data = python_bytes(path)
    return _entry_in(run_python(path, data), path, attribute), trust.sha256(data)


def _entry_in(module: Any, path: Path, attribute: str) -> Entry:
    if attribute:
        if not hasattr(module, attribute):
            raise GameError(f"{path} has no {attribute!r}.")
        return _as_entry(getattr(module, attribute), attribute)
    from lanista.games.python_game import PythonGame

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


def run_python(path: Path, data: bytes, *, foreign: bool = False) -> Any:
    """Run the bytes of a Python file, if they may run, and return its module.

    These bytes and no others: what lies at `path` may be another file by now, and a compiled copy
    beside it may come from somebody else. What the file raises becomes one sentence.
    """
    trust.refuse_python(path, data, foreign=foreign)
    driver_files.note(path, data)
    name = f"lanista_file_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        exec(loader.source_to_code(data, str(path)), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        reason = f"{type(error).__name__}: {error}".rstrip(".")
        raise GameError(f"{path} cannot be run: {reason}.") from error
    return module
