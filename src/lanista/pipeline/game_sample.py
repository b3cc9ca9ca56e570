"""What a few matches say of a game that nobody knows: its length, its returns, who plays best.

Knows nothing of what is chosen by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanista.games import registry
from lanista.games.bots import Plans, SeatsMatches
from lanista.games.compiled import CompiledGame
from lanista.rollout.match_runner import Table, join, play
from lanista.rollout.schedule import Schedule

OPENSPIEL = "openspiel:"
_MATCHES = 256
_ALONE, _MOST_ALONE = 16_384, 4096
"""Decisions of a sample of a game of one seat, about, and its most matches."""
_ENDINGS = 128
_BOT_MATCHES = 60
"""Matches for each bot in which the best is looked for."""


@dataclass(frozen=True)
class Sample:
    """What a few matches between random players say of a game."""

    decisions: float
    """Of a match, all seats together."""
    scale: float
    """How far returns lie apart: what losses are measured by."""
    compiled: bool = False
    """Whether a decision costs next to nothing beside what is learned from it."""
    dear: bool = False
    """Whether a decision costs more than learning from it: rules in Python or in a program of their
    own. OpenSpiel's are compiled."""
    rare: float = 0.0
    """Where nearly all matches pay alike, and the few others are what there is to learn: a quarter
    of how far the furthest of those lies from the rest. Otherwise 0."""
    traversal: float = math.inf
    """Moves of a match in which one seat tries all its choices, others and chance being drawn;
    infinite where nobody measured it."""


def sample_of(game: str, game_settings: Mapping[str, Any], seed: int = 0) -> Sample:
    """Play a few random matches and return what they say."""
    matches = min(_MATCHES, registry.slots_for(game, _MATCHES))
    with closing(registry.make(game, slots=matches, seed=seed, **game_settings)) as made:
        spec = made.spec
        table = Table(made, (registry.make_bot(game, "random", spec, seed),))
        results = play([table], _solo(0, matches, spec.seats))
        if spec.seats == 1:
            # Alone, chance must find what pays: a treasure that few come upon is looked for.
            more = min(_MOST_ALONE, int(_ALONE / results.decisions.mean())) - matches
            if more > 0:
                results = join([results, play([table], _solo(matches, more, 1))])
        compiled = isinstance(made, CompiledGame)
    whole = results.returns[~results.cut_off]
    dear = not compiled and not game.startswith(OPENSPIEL)
    decisions = float(results.decisions.mean())
    return Sample(decisions, return_scale(whole), compiled, dear, rare_scale(whole))


def _solo(first: int, matches: int, seats: int) -> Schedule:
    """Return matches in which one player has all seats."""
    ids = np.arange(first, first + matches, dtype=np.int64)
    return Schedule(ids, ids, np.zeros((matches, seats), np.int32))


def traversal_of(
    game: str, game_settings: Mapping[str, Any], seed: int = 0, most: float = math.inf
) -> float:
    """Return the moves of a traversal, for the seat that makes more, without making one.

    In random matches each move stands for as many as the product of the seat's choices up to it
    (Knuth's estimate of the size of a tree), so the mean is right however large it is. Nobody
    plays on once it is more than `most`.
    """
    matches = min(_MATCHES, registry.slots_for(game, _MATCHES))
    with closing(registry.make(game, slots=matches, seed=seed, **game_settings)) as made:
        bot = registry.make_bot(game, "random", made.spec, seed)
        stands_for = np.ones((matches, made.spec.seats))
        moves = np.zeros(made.spec.seats)
        made.start(np.arange(matches), np.arange(matches))
        while moves.max() <= most * matches and len(decisions := made.decisions()):
            slot, rows = decisions.slot.copy(), np.arange(len(decisions))
            stands_for[slot, decisions.seat] *= decisions.mask.sum(1)
            moves += stands_for[slot].sum(0)
            made.act(rows, bot.act(decisions, rows))
    return float(moves.max() / matches)


@dataclass(frozen=True)
class Endings:
    """How matches between random players go on and end, where seats move in turn."""

    choices: float
    """Of a decision, on average."""
    last_mover_wins: float
    """In this share of the matches: a move decides them, not a count at their end."""


def endings_of(game: str, game_settings: Mapping[str, Any], seed: int = 0) -> Endings:
    """Play a few random matches of a game for two and return how they end."""
    with closing(registry.make(game, slots=_ENDINGS, seed=seed, **game_settings)) as made:
        bot = registry.make_bot(game, "random", made.spec, seed)
        last_seat = np.zeros(_ENDINGS, np.int64)
        choices = []
        made.start(np.arange(_ENDINGS), np.arange(_ENDINGS))
        while len(decisions := made.decisions()):
            choices.append(decisions.mask.sum(1))
            last_seat[decisions.slot] = decisions.seat
            rows = np.arange(len(decisions))
            made.act(rows, bot.act(decisions, rows))
        won = made.returns[np.arange(_ENDINGS), last_seat] > 0
    return Endings(float(np.concatenate(choices).mean()), float(won.mean()))


def bot_strengths(
    game: str, game_settings: Mapping[str, Any], bots: Sequence[str], seed: int = 0
) -> dict[str, float]:
    """Return the mean return of each bot in matches among them all, each seat drawn at random."""
    matches = _BOT_MATCHES * len(bots)
    with closing(registry.make(game, slots=min(matches, 64), seed=seed, **game_settings)) as made:
        spec = made.spec
        players = tuple(registry.make_bot(game, bot, spec, seed) for bot in bots)
        ids = np.arange(matches, dtype=np.int64)
        drawn = np.random.Generator(np.random.PCG64(seed))
        seating = drawn.integers(len(bots), size=(matches, spec.seats), dtype=np.int32)
        results = play([Table(made, players)], Schedule(ids, ids, seating))
    whole = ~results.cut_off
    returns, seated = results.returns[whole], seating[whole]
    # Whoever follows its own matches cannot teach.
    return {
        bot: float(returns[seated == at].mean())
        for at, bot in enumerate(bots)
        if not isinstance(players[at], SeatsMatches | Plans)
    }


def return_scale(returns: Any) -> float:
    """Return the deviation of returns `[matches, seats]` around each seat's mean; 1 where none.

    Where nearly all matches end alike, the few others count: at least half of the largest.
    """
    if not len(returns):
        return 1.0
    return float(max(_deviation(returns), abs(returns).max() / 4)) or 1.0


def rare_scale(returns: Any) -> float:
    """Return a quarter of how far the furthest returns lie from most; 0 where many lie as far."""
    if not len(returns):
        return 0.0
    furthest = float(abs(returns - np.median(returns, axis=0)).max() / 4)
    return furthest if float(_deviation(returns)) < furthest else 0.0


def _deviation(returns: Any) -> Any:
    return (returns - returns.mean(0, keepdims=True)).std()
