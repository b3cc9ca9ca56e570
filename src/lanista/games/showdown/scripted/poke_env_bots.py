"""poke-env's own players as bots of ours: simple heuristics, highest base power, random.

Each seat of each match has a battle object of poke-env that hears what the seat hears; the player's
method chooses, untouched; its words are read as the simulator reads them. What is random in them
is seeded for each decision. A choice that the simulator would refuse is made again as on a server.
Where poke-env itself fails, on a server its player falls silent; here the line is passed over or
the simulator chooses, and a warning says so. No player here is ever connected.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from lanista.games.bots import bot_digest
from lanista.games.contract import Decisions, GameError, Ints, Spec
from lanista.games.showdown.actions.choice_text import read_preview, read_turn
from lanista.games.showdown.actions.orders import Flags, orders_of
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.game import sight_of
from lanista.games.showdown.observation.description import whole_action
from lanista.games.showdown.sim.match import Told
from lanista.games.showdown.sim.views import Request, View
from lanista.games.streams import Stream

EXTRA = "showdown"
MISSING = f"poke-env is not installed; run in a checkout: pip install '.[{EXTRA}]'"
GENERATION = 9
PLAYERS = ("Player 1", "Player 2")
"""What the worker calls the seats."""
# What a player of poke-env keeps from its battle objects, and what is told to clients alone.
UNHEARD = frozenset(("win", "tie", "t:", "expire", "uhtmlchange", "tempnotify", "tempnotifyoff"))
DEFAULT = "default"
_log = logging.getLogger("lanista.games")
_DRAWING = Lock()
"""There is one such generator for all threads."""
SILENT = logging.getLogger("lanista.games.showdown.poke_env")
SILENT.setLevel(logging.CRITICAL)


def is_installed() -> bool:
    """Return whether poke-env is there, without importing it."""
    return find_spec("poke_env") is not None


class PokeEnvBot:
    """A player of poke-env; what it answers is counted in `counts`."""

    name = ""
    player = ""
    """The class in `poke_env.player`."""
    version = 1
    reads_observation = False

    def __init__(self, spec: Spec, seed: int) -> None:
        self.spec, self.seed = spec, seed
        format = format_named(spec.settings["format"])
        self._player, self._battle = _made(self.player, format.name, format.doubles)
        # Whatever another poke-env chooses is another player.
        made_by = metadata.version("poke-env")
        self.digest = bot_digest(spec.name, f"{self.name} of poke-env {made_by}", self.version)
        self.counts: Counter[str] = Counter()
        """`decisions`; those `refused` at first and left to `default`; lines and requests `unread`
        and choices `failed`, where poke-env broke down."""
        self._orders = orders_of(format).size
        self._battles: WeakKeyDictionary[Told, Followed] = WeakKeyDictionary()

    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints:
        """Return the actions, `[rows, heads]`, for `rows` of `decisions`."""
        sight = sight_of(decisions, self.name)
        actions = np.zeros((len(rows), len(self.spec.heads)), np.int32)
        for number, row in enumerate(rows):
            key = (int(sight.match[row]), int(sight.seat[row]))
            stream = Stream.keyed(self.seed, *key, "act", int(sight.turn[row]))
            actions[number] = self.answer(sight.transcripts[row], key[1], sight.mask[row], stream)
        return actions

    def answer(self, transcript: Told, seat: int, mask: Flags, stream: Stream) -> list[int]:
        """Return the action of a seat that was told `transcript`."""
        followed = self.follow(transcript, seat)
        request, previews = followed.request, len(mask) - self._orders
        self.counts["decisions"] += 1
        with seeded(stream.next_word()):
            if request.get("teamPreview"):
                choice = self._preview(followed)
            else:
                choice = self._order(followed, mask[previews:], stream)
        return whole_action(self.spec.heads, request, choice)

    def _preview(self, followed: Followed) -> int:
        words = self._player.teampreview(followed.battle).removeprefix("/team ")
        choice = read_preview(words, len(followed.request["side"]["pokemon"]))
        if choice is None:
            raise GameError(f"The bot {self.name!r} chose {words!r} at a team preview of four.")
        return choice

    def _order(self, followed: Followed, mask: Flags, stream: Stream) -> int:
        """Ask until the words are legal; whoever would always repeat itself gets `default`."""
        foes, refused = followed.foes(), False
        while True:
            before = random.getstate()
            order = read_turn(followed.request, self._words(followed), mask, foes, stream)
            if order is not None:
                return order
            if not refused:
                refused = True
                self.counts["refused"] += 1
            repeats = random.getstate() == before
            if repeats or random.random() < self._player.DEFAULT_CHOICE_CHANCE:
                self.counts["default"] += 1
                order = read_turn(followed.request, DEFAULT, mask, foes, stream)
                assert order is not None
                return order

    def _words(self, followed: Followed) -> str:
        try:
            message: str = self._player.choose_move(followed.battle).message
        except Exception as error:
            self._report("failed", "choosing", error)
            return DEFAULT
        return message.removeprefix("/choose ")

    def _report(self, kind: str, action: str, error: Exception) -> None:
        """Count what poke-env could not do, and say so the first time."""
        self.counts[kind] += 1
        if self.counts[kind] == 1:
            _log.warning("%s: poke-env failed at %s: %r", self.name, action, error)

    def follow(self, transcript: Told, seat: int) -> Followed:
        """Return the battle of a seat, up to what it is asked now."""
        followed = self._battles.get(transcript)
        if followed is None:
            followed = self._battles[transcript] = Followed(self._battle(seat), self._report)
        followed.hear(transcript)
        return followed


class Followed:
    """A battle object of poke-env and how much of what the seat was told it has heard."""

    def __init__(self, battle: Any, report: Callable[[str, str, Exception], None]) -> None:
        self.battle = battle
        self._report = report
        self.request: Request = {}
        self._views_read = 0

    def hear(self, transcript: Told) -> None:
        """Let the battle object hear what is new."""
        for view in transcript.views[self._views_read :]:
            self._take(view)
        self._views_read = len(transcript.views)

    def foes(self) -> list[int]:
        """Return the opponent's places, 1 and 2, where one stands."""
        standing = self.battle.opponent_active_pokemon
        standing = standing if isinstance(standing, list) else [standing]
        return [at + 1 for at, mon in enumerate(standing) if mon is not None]

    def _take(self, view: View) -> None:
        for line in view.lines:
            fields = line.split("|")
            if len(fields) > 1 and fields[1] not in UNHEARD:
                self._hand(self.battle.parse_message, fields, line)
        if view.request is not None:
            self._hand(self.battle.parse_request, view.request, "a request")
            self.request = view.request

    def _hand(self, take: Callable[[Any], None], message: Any, name: str) -> None:
        try:
            take(message)
        except Exception as error:  # Whatever it is, the battle goes on.
            self._report("unread", name, error)


class SimpleHeuristics(PokeEnvBot):
    """Weighs types, stats and power, sets up and switches out of bad matchups."""

    name, player = "simple_heuristics", "SimpleHeuristicsPlayer"


class MaxBasePower(PokeEnvBot):
    """Takes the move with the highest base power at either opponent."""

    name, player = "max_base_power", "MaxBasePowerPlayer"


class PokeEnvRandom(PokeEnvBot):
    """Draws among the orders that poke-env calls valid."""

    name, player = "poke_env_random", "RandomPlayer"


BOTS = (SimpleHeuristics, MaxBasePower, PokeEnvRandom)


@contextmanager
def seeded(word: int) -> Iterator[None]:
    """Seed Python's own generator, which poke-env draws from, and put it back afterwards."""
    with _DRAWING:
        state = random.getstate()
        random.seed(word)
        try:
            yield
        finally:
            random.setstate(state)


def _made(name: str, format: str, doubles: bool) -> tuple[Any, Any]:
    """Return a player and what makes a battle object for it."""
    try:
        from poke_env import battle, player
    except ImportError as error:
        raise GameError(MISSING) from error
    kind = getattr(player, name)
    # Its constructor makes a client of a server; to choose, the format is all it needs.
    instance = kind.__new__(kind)
    instance._format = format
    battle_kind = battle.DoubleBattle if doubles else battle.Battle

    def begin(seat: int) -> Any:
        return battle_kind(f"battle-{format}-1", PLAYERS[seat], SILENT, gen=GENERATION)

    return instance, begin
