"""From words to a game with its players seated.

Owns how seats, bots from files, policies and `--set name=value` are written. Knows nothing of
schedules and tables of results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError, nearest
from lanista.games import registry
from lanista.games.bot_files import bot_from_file, is_bot_file
from lanista.games.bots import Player
from lanista.games.contract import Spec
from lanista.games.registry import MakeBot
from lanista.nets.files.champions import is_champion, policy_file
from lanista.rollout.match_runner import Table
from lanista.runs import start
from lanista.runs.folder import folder_of

MOST_MATCHES = 10_000_000
"""Of one run; each takes some 260 bytes at the end."""
MOST_THREADS = 1024
SEARCH = ":search="
"""Between a policy and the number of simulations with which it searches."""
ALL = "all"
"""Stands for every bot of the game."""
Values = Iterable[str] | Mapping[str, Any]
"""Settings as `name=value`, or by name as Python values."""
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class Lineup:
    """A game as it is to be made, and who is to play it."""

    game: str
    players: tuple[str, ...]
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, int] = field(default_factory=dict)
    """For every match."""
    greedy: bool = False
    """Policies play their likeliest choice instead of sampling."""
    temperature: float = 1.0
    """What policies divide their logits by before they sample."""
    search: int = 0
    """Simulations with which policies search before they move, where their word names none; 0: they
    do not search."""
    bot_makers: Mapping[str, MakeBot] = field(default_factory=dict)
    """Players that are no words but objects, by the name they have among `players`."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The players' names, told apart: a second `random` is `random #2`."""
        count_by_player: dict[str, int] = {}
        labels = []
        for player in self.players:
            count_by_player[player] = count_by_player.get(player, 0) + 1
            labels.append(
                player if count_by_player[player] == 1 else f"{player} #{count_by_player[player]}"
            )
        return tuple(labels)

    @cached_property
    def spec(self) -> Spec:
        """What the game is."""
        return registry.spec_of(self.game, seed=self.seed, **self.settings)

    def slots(self, slots: int | None, usual: int) -> int:
        """Return how many matches are played side by side: as given, or as suits the game."""
        return registry.slots_for(self.game, usual) if slots is None else slots

    @contextmanager
    def table(self, slots: int) -> Iterator[Table]:
        """Give the game with the players at it, shared with no other table; close it afterwards."""
        game = registry.make(self.game, slots=slots, seed=self.seed, **self.settings)
        with closing(game):
            yield Table(game, self.seated())

    def seated(self) -> tuple[Player, ...]:
        """Return the players, shared with nobody."""
        return tuple(self.player(word) for word in self.players)

    @contextmanager
    def tables(self, count: int, slots: int, matches: int) -> Iterator[list[Table]]:
        """Give a table for each thread, no more of them and of slots than matches need."""
        for name, value in (("threads", count), ("slots", slots)):
            if value < 1:
                raise LanistaError(f"--{name} is {value}; give a number of at least 1.")
        if count > MOST_THREADS:
            raise LanistaError(f"--threads is {count}; give at most {MOST_THREADS}.")
        count = min(count, matches)
        slots = min(slots, -(-matches // count))
        with ExitStack() as opened:
            yield [opened.enter_context(self.table(slots)) for _ in range(count)]

    def player(self, word: str) -> Player:
        """Return whoever a word names, shared with nobody."""
        if word in self.bot_makers:
            return self.bot_makers[word](self.spec, self.seed)
        if is_bot_file(word):
            return bot_from_file(word, self.spec, self.seed)
        if is_policy(self.game, word):
            return self._policy(word, self.spec)
        return registry.make_bot(self.game, word, self.spec, self.seed)

    def _policy(self, word: str, spec: Spec) -> Player:
        import torch

        from lanista.rollout.inference.policy_players import ensemble_player, policy_player

        # Tables have threads of their own, and one thread each adds in one order everywhere.
        torch.set_num_threads(1)
        file, simulations = searching(word)
        if simulations or self.search:
            return self._searcher(word, file, simulations or self.search, spec)
        files = word.split("+") if not Path(word).is_file() else [word]
        if len(files) == 1:
            return policy_player(
                word, spec, self.seed, greedy=self.greedy, temperature=self.temperature, name=word
            )
        return ensemble_player(
            files, spec, self.seed, greedy=self.greedy, temperature=self.temperature, name=word
        )

    def _searcher(self, word: str, file: str, simulations: int, spec: Spec) -> Player:
        from lanista.nets.files.value_file import VALUE
        from lanista.rollout.inference.search_player import search_player

        if "+" in file and not Path(file).is_file():
            raise LanistaError(
                f"{file} are several policies, and a search goes by one; name one of them."
            )
        path = policy_file(file)
        return search_player(
            path, folder_of(path) / VALUE, spec, self.seed, simulations,
            greedy=self.greedy, temperature=self.temperature, name=word,
        )  # fmt: skip


def searching(word: str) -> tuple[str, int]:
    """Return a policy's word without `:search=N`, and N; 0: it names no search."""
    file, sign, number = word.rpartition(SEARCH)
    if not sign or Path(word).is_file():
        return word, 0
    if not number.isdecimal() or int(number) < 1:
        raise LanistaError(
            f"{word!r} names a search of {number!r} simulations; write POLICY{SEARCH}64."
        )
    return file, int(number)


def lineup(
    game: str,
    players: Sequence[str],
    values: Values,
    *,
    seats: int,
    seed: int,
    greedy: bool = False,
    temperature: float | None = None,
    search: int | None = None,
    bot_makers: Mapping[str, MakeBot] | None = None,
) -> Lineup:
    """Return the line-up of `players` in a game of `seats` seats; refuse what does not fit.

    `values` are `name=value`, or names with values, for the game's settings and its matches'
    options. Where the game has a `seats` setting, it is `seats` unless given. `greedy`,
    `temperature` and `search` are for policies. `bot_makers` has the players that are objects and
    no words.
    """
    entry = registry.entry(game)
    _refuse_manner(game, players, greedy, temperature, search)
    value_by_name = _given(values)
    settings = _settings_in(entry, value_by_name)
    if "seats" in entry.settings and "seats" not in settings:
        _refuse_seats(game, seats, entry.settings["seats"].choices)
        settings["seats"] = seats
    rest = {name: text for name, text in value_by_name.items() if name not in entry.settings}
    spec = Lineup(game, tuple(players), seed, settings).spec
    option_defaults = {option.name: option.default for option in spec.options}
    for name in rest:
        if name not in option_defaults:
            remedy = nearest(name, [*entry.settings, *option_defaults])
            raise LanistaError(f"{game} has no setting or option {name!r}; {remedy}")
    _refuse_seats(game, seats, (spec.seats,))
    options = {name: int(_value(name, text, 0)) for name, text in rest.items()}
    return Lineup(
        game,
        tuple(players),
        seed,
        settings,
        options,
        greedy,
        1.0 if temperature is None else temperature,
        search or 0,
        bot_makers or {},
    )


def _refuse_seats(game: str, named: int, choices: Sequence[Any]) -> None:
    """Refuse as many players as a game has no seats for; without choices all are taken."""
    if not choices or named in choices:
        return
    *first, last = map(str, choices)
    takes = f"{', '.join(first)} or {last}" if first else last
    players = "1 player is" if named == 1 else f"{named} players are"
    raise LanistaError(f"{game} has {takes} seats, and {players} named; name one for each seat.")


def gauntlet_lineups(
    player: str,
    opponents: Sequence[str],
    values: Values = (),
    *,
    game: str | None = None,
    seed: int = 0,
    greedy: bool = False,
    temperature: float | None = None,
    search: int | None = None,
    bot_makers: Mapping[str, MakeBot] | None = None,
    say: Callable[[str], None] = print,
) -> tuple[Lineup, Lineup]:
    """Return the line-up of one player and that of its opponents, in the same game.

    The game is that of the player's file unless given; the opponent `all` is every bot of it.
    `greedy`, `temperature` and `search` are the player's alone.
    """
    game, settings = game_played_by(player, game, values)
    _refuse_manner(game, [player], greedy, temperature, search, whom=f"{player} is a bot")
    names: list[str] = []
    for word in opponents:
        names += every_bot(game, say) if word == ALL else [word]
    others = Lineup(game, tuple(dict.fromkeys(names)), seed, settings, bot_makers=bot_makers or {})
    warmth = 1.0 if temperature is None else temperature
    mine = replace(others, players=(player,), greedy=greedy, temperature=warmth, search=search or 0)
    return mine, others


def manner_of(mine: Lineup) -> str:
    """Return how the first player of a line-up chooses."""
    if not is_policy(mine.game, mine.players[0]):
        return "as its program says"
    manner = "greedy" if mine.greedy else f"sampled at temperature {mine.temperature:g}"
    simulations = searching(mine.players[0])[1] or mine.search
    return f"{manner}, with a search of {simulations:,} simulations" if simulations else manner


def deals_of(games: int, seats: int, opponents: int) -> int:
    """Return how many deals make `games` matches against each opponent, rounded up."""
    most = MOST_MATCHES // opponents
    if not 1 <= games <= most:
        raise LanistaError(f"--games is {games:,}; give a number from 1 to {most:,}.")
    return -(-games // seats)


def game_settings(game: str, values: Values) -> dict[str, Any]:
    """Return a game's settings from `name=value`; what is no setting of it is refused."""
    entry, value_by_name = registry.entry(game), _given(values)
    for name in value_by_name:
        if name not in entry.settings:
            raise LanistaError(f"{game} has no setting {name!r}; {nearest(name, entry.settings)}")
    return _settings_in(entry, value_by_name)


def _settings_in(entry: registry.Entry, value_by_name: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _value(name, text, entry.settings[name].default)
        for name, text in value_by_name.items()
        if name in entry.settings
    }


def _refuse_manner(
    game: str,
    players: Sequence[str],
    greedy: bool,
    temperature: float | None,
    search: int | None,
    whom: str = "no seat has one",
) -> None:
    """Refuse a manner of play that is none, or that nobody there can have."""
    if greedy and temperature is not None:
        raise LanistaError("--greedy leaves nothing to chance, so --temperature has no meaning.")
    flags = {
        "--greedy": greedy,
        "--temperature": temperature is not None,
        "--search": search is not None,
    }
    policies = [word for word in players if is_policy(game, word)]
    for flag in (name for name, given in flags.items() if given and not policies):
        raise LanistaError(f"{flag} is for policies, and {whom}; leave it out.")
    if temperature is not None and not 0 < temperature < float("inf"):
        raise LanistaError(f"--temperature is {temperature}; give a number above 0, or --greedy.")
    if search is None:
        return
    if search < 1:
        raise LanistaError(f"--search is {search}; give a number of simulations of at least 1.")
    for word in policies:
        if searching(word)[1]:
            raise LanistaError(f"{word} names a search of its own; leave out --search {search}.")


def every_bot(game: str, say: Callable[[str], None] = print) -> list[str]:
    """Return all bots of a game, and say why others of it are left out."""
    entry = registry.entry(game)
    for name, reason in entry.missing_bots.items():
        say(f"{name} is left out: {reason}")
    return registry.bot_names(entry)


def is_policy(game: str, word: str) -> bool:
    """Return whether a seat's word names a policy, or several with `+` between.

    A game's bots come first; then whatever is a file, or is written like one.
    """
    word = searching(word)[0]
    if is_champion(word):
        return True
    if is_bot_file(word) or word in registry.all_bot_names(registry.entry(game)):
        return False
    first = Path(word.partition("+")[0])
    return Path(word).is_file() or first.is_file() or bool(first.suffix) or len(first.parts) > 1


def game_played_by(word: str, game: str | None, values: Values) -> tuple[str, dict[str, Any]]:
    """Return the game that a player plays and its settings: as given, or as its file says."""
    word = searching(word)[0]
    file = policy_file(word if Path(word).is_file() else word.partition("+")[0])
    if file.is_file() and not is_bot_file(word):
        name = start.game_of(file, game)
        return name, start.settings_of(file, name, game_settings(name, values))
    if game is not None:
        return game, game_settings(game, values)
    if file.is_dir():
        raise LanistaError(f"{word} is a folder; name the policy file in it.")
    if not is_bot_file(word) and (file.suffix or len(file.parts) > 1):
        raise LanistaError(f"There is no policy file {str(file)!r}.")
    raise LanistaError(
        f"{word} is no policy file, so it does not say which game it plays; name a file, or a bot "
        "together with --game."
    )


def refuse_count(matches: int) -> None:
    """Refuse a number of matches that cannot be played in one run."""
    if matches < 1:
        raise LanistaError(f"--matches is {matches}; give a number of at least 1.")
    if matches > MOST_MATCHES:
        raise LanistaError(
            f"--matches is {matches:,}; give at most {MOST_MATCHES:,}, and play more with another "
            "--seed."
        )


def split_names(text: str, flag: str) -> list[str]:
    """Return the names in `a,b,c`."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise LanistaError(f"{flag} is {text!r}; write names with commas between, as a,b.")
    return names


def _given(values: Values) -> dict[str, Any]:
    if isinstance(values, Mapping):
        return dict(values)
    value_by_name: dict[str, Any] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise LanistaError(f"--set was given {text!r}; write it as name=value.")
        if name in value_by_name:
            raise LanistaError(
                f"{name} is set to {value_by_name[name]} and to {value}; set it once."
            )
        value_by_name[name] = value
    return value_by_name


def _value(name: str, text: Any, default: Any) -> Any:
    """Return `text` as a value of the default's kind; a value is passed on as it is."""
    kind = type(default)
    if not isinstance(text, str):
        return text
    if kind is bool:
        if text.lower() not in _YES + _NO:
            raise LanistaError(f"{name} is {text!r}; write true or false.")
        return text.lower() in _YES
    try:
        return kind(text) if kind in (int, float) else text
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise LanistaError(f"{name} is {text!r}; give {expected}.") from None
