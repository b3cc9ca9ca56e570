"""From what a person chose on the page to a match: game, seats, strength and options.

Takes nothing that could name a file outside the folder or run one. Knows nothing of HTTP.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError, nearest
from lanista.evaluation.lineup import Lineup, game_played_by, lineup
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Game
from lanista.insight.advisers import adviser_word
from lanista.insight.opinions import Adviser
from lanista.insight.opponents import HUMAN, Person, refuse_handicap, seat_everybody
from lanista.insight.person_match import PersonMatch
from lanista.live.files.policy_folder import PolicyFolder
from lanista.nets.files.champions import champion_names
from lanista.text import printable
from lanista.view.context import ViewContext
from lanista.view.play.choices import LIVE, refuse_game
from lanista.view.play.live_player import LivePlayer

MOST_SEATS = 8
MOST_TEMPERATURE = 100.0


@dataclass(frozen=True)
class Wish:
    """What a person chose."""

    game: str
    seats: tuple[str, ...]
    """Words of players as the page knows them, one of them `human`."""
    temperature: float = 1.0
    greedy: bool = False
    handicap: float = 0.0
    hints: bool = True
    undo: bool = True
    give: bool = False
    """The game goes into the spool of the live learner that is met."""

    @property
    def swapped(self) -> Wish:
        """The same with everybody one seat further."""
        return replace(self, seats=(*self.seats[1:], self.seats[0]))

    def plain(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**vars(self), "seats": list(self.seats)}


def read_wish(body: Any) -> Wish:
    """Return what a request asks for; refuse what cannot be played."""
    if not isinstance(body, Mapping):
        raise LanistaError("A match is asked for by an object with `game` and `seats`.")
    seats = body.get("seats")
    words = isinstance(seats, list) and all(type(word) is str for word in seats)
    if not isinstance(seats, list) or not words:
        raise LanistaError("seats must be a list with a word for each player.")
    if not 2 <= len(seats) <= MOST_SEATS or seats.count(HUMAN) != 1:
        raise LanistaError("seats must name each player, one of them human.")
    game = body.get("game")
    if type(game) is not str:
        raise LanistaError("game is missing; name one.")
    refuse_game(game)
    temperature = _number(body, "temperature", 1.0)
    if not 0 < temperature <= MOST_TEMPERATURE:
        raise LanistaError(
            f"temperature is {temperature}; give a number above 0, up to {MOST_TEMPERATURE:g}."
        )
    handicap = _number(body, "handicap", 0.0)
    refuse_handicap(handicap)
    flags = {name: body.get(name, name != "greedy" and name != "give") is True
             for name in ("greedy", "hints", "undo", "give")}  # fmt: skip
    return Wish(game, tuple(seats), temperature, handicap=handicap, **flags)


def _number(body: Mapping[str, Any], name: str, default: float) -> float:
    value = body.get(name, default)
    if type(value) not in (int, float) or not math.isfinite(value):
        raise LanistaError(f"{name} is {printable(value, 40)}; give a number.")
    return float(value)


@dataclass
class Seated:
    """A match that is ready to be played, and what belongs to it."""

    match: PersonMatch
    wish: Wish
    lineup: Lineup
    live: LivePlayer | None = None
    _adviser: Adviser | None = None

    def adviser(self) -> Adviser:
        """Return the policy that gives hints."""
        if self._adviser is None:
            word = adviser_word(self.lineup)
            self._adviser = Adviser(word, self.match.spec)
        return self._adviser


def seat(context: ViewContext, wish: Wish) -> Seated:
    """Make the game, seat everybody and play on until the person is asked."""
    entry = registry.entry(wish.game)
    words = [_word(context, entry, wish.game, word) for word in wish.seats]
    policies = [word for word in words if word != HUMAN and not _is_bot(entry, word)]
    settings = game_played_by(policies[0], wish.game, {})[1] if policies else {}
    if "seats" in entry.settings:
        settings["seats"] = len(words)
    made = lineup(
        wish.game, words, settings, seats=len(words), seed=secrets.randbelow(1 << 31),
        greedy=wish.greedy and bool(policies),
        temperature=wish.temperature if policies and not wish.greedy else None,
    )  # fmt: skip
    game = registry.make(made.game, seed=made.seed, **made.settings)
    try:
        players, live = _players(context, wish, made, game)
        for player, word in zip(players, wish.seats, strict=True):
            if not isinstance(player, Person) and not _is_bot(entry, word):
                # A record names it as the page does, not by a path of this machine.
                player.name = word  # type: ignore[misc]
        return Seated(PersonMatch(game, players, made.options), wish, made, live)
    except BaseException:
        game.close()
        raise


def _players(
    context: ViewContext, wish: Wish, made: Lineup, game: Game
) -> tuple[list[Player], LivePlayer | None]:
    """Return who sits where; a learner that is given the game plays through its own agent."""
    names = [word for word in wish.seats if word.startswith(LIVE)]
    if not wish.give:
        return list(seat_everybody(made, wish.handicap)), None
    if len(names) != 1 or wish.handicap or wish.undo or wish.temperature != 1 or wish.greedy:
        raise LanistaError(
            "A game that a learner is given is played against one live policy as it is: without "
            "moves taken back, handicap and temperature."
        )
    at = wish.seats.index(names[0])
    folder = context.path_of(names[0].removeprefix(LIVE))
    live = LivePlayer(folder, names[0], game.spec)
    others = replace(made, bot_makers={made.players[at]: lambda spec, seed: live})
    return list(seat_everybody(others)), live


def _word(context: ViewContext, entry: registry.Entry, game: str, word: str) -> str:
    """Return a player's word as a line-up takes it: a bot, a champion or a file of the folder."""
    if word == HUMAN or _is_bot(entry, word) or word in champion_names(game):
        return word
    if word.startswith(LIVE):
        folder = PolicyFolder(context.path_of(word.removeprefix(LIVE)) / "policy")
        return str(folder.path_of(folder.pointer().stable))
    if word.endswith(".safetensors"):
        return str(Path(context.path_of(word)))
    names = [*registry.all_bot_names(entry), *champion_names(game)]
    raise LanistaError(f"{game} has no player {printable(word, 60)!r}; {nearest(word, names)}")


def _is_bot(entry: registry.Entry, word: str) -> bool:
    return word in registry.all_bot_names(entry)
