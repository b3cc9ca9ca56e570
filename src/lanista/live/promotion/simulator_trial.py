"""Tries a candidate in a simulator: pairs of matches on the same deals, until the gate decides.

For games that run here. Without opponents the two policies meet each other with seats swapped;
with opponents both meet the same ones on the same deals. Owns which matches are played; the
statistics are the gate's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Game
from lanista.games.trusted_names import installed_name, refuse_settings
from lanista.live.learner.settings import LiveSettings
from lanista.live.promotion.gate import PairedTrial
from lanista.live.promotion.sequential_test import Decision
from lanista.nets.files.policy_format import PolicyHeader, read_header
from lanista.rollout.inference.policy_players import policy_player
from lanista.rollout.match_runner import Results, Table, play
from lanista.rollout.schedule import rotations

_FIRST, _MOST = 32, 1024
"""Deals played before the first look, and most between two."""
_SLOTS = 256
_DEALS = 1 << 24
"""Between the first deals of two candidates."""
Scores = NDArray[np.float64]


def simulate(
    candidate: Path,
    stable: Path,
    settings: LiveSettings,
    *,
    number: int = 0,
    stop: Callable[[], bool],
) -> tuple[Decision, dict[str, Any]] | None:
    """Play until the gate decides; None if `stop` said so before.

    Each `number` has deals of its own, so that no candidate inherits the luck of another.
    """
    header, gate = read_header(stable), settings.gate
    name = _playable(header)
    game = registry.make(name, slots=_SLOTS, seed=settings.seed, **dict(header.settings))
    try:
        both = [policy_player(path, game.spec, settings.seed) for path in (candidate, stable)]
        others: list[Player | None] = [
            registry.make_bot(name, word, game.spec, settings.seed) for word in gate.opponents
        ]
        trial, deal, size = PairedTrial(gate.rule), number * _DEALS, _FIRST
        options = _options(gate.options)
        while trial.decision is None:
            if stop():
                return None
            for other in others or [None]:
                scores = _scores(game, both, other, deal, size, options)
                trial.extend(scores.tolist())
                deal += size
            size = min(2 * size, _MOST)
    finally:
        game.close()
    compared = trial.comparison()
    facts = {"games": trial.games, "difference": compared.difference, "low": compared.low}
    return trial.decision, facts | {"high": compared.high, "simulated": True}


def refuse_unknown_game(header: PolicyHeader) -> None:
    """Refuse a policy whose game cannot be played here, before anything is learned."""
    try:
        registry.entry(_playable(header))
    except LanistaError as error:
        raise LanistaError(
            f"gate.kind is simulator, and {header.game!r:.120} cannot be played here "
            f"({str(error).rstrip('.')}); set it to live."
        ) from error


def _playable(header: PolicyHeader) -> str:
    """Return the game that a policy plays; code is never loaded on its word."""
    name = installed_name(header.game, "a policy")
    refuse_settings(name, header.settings)
    return name


def _scores(
    game: Game,
    both: Sequence[Player],
    other: Player | None,
    deal: int,
    size: int,
    options: dict[str, int],
) -> Scores:
    """Return the candidate's score of each deal, ½ for an equal.

    A deal that was cut off says nothing: it is ½ too, and counts towards the trial's limit.
    """
    if other is None:
        scores = unit_scores(_played(game, both[0], both[1], deal, size, options))
    else:
        new, old = (unit_scores(_played(game, one, other, deal, size, options)) for one in both)
        scores = 0.5 + (new - old) / 2
    return np.where(np.isnan(scores), 0.5, scores)


def _played(
    game: Game, one: Player, other: Player, deal: int, size: int, options: dict[str, int]
) -> Results:
    seats = game.spec.seats
    schedule = rotations(
        [0, *[1] * (seats - 1)], size * seats, first_match=deal * seats, first_deal=deal
    )
    return play([Table(game, (one, other))], schedule, options=options)


def unit_scores(results: Results) -> Scores:
    """Return player 0's mean score over each deal's matches, `[deals]`; NaN where one was cut off.

    A match's score is the share of the other seats that were beaten, an equal place counting half.
    """
    seats = results.schedule.seats
    place = results.place.astype(np.int64)
    mine = np.take_along_axis(place, results.schedule.seating.argmin(1)[:, None], 1)
    beaten = (mine < place).sum(1) + 0.5 * ((mine == place).sum(1) - 1)
    score = np.where(results.cut_off, np.nan, beaten / (seats - 1))
    means: Scores = score.reshape(-1, seats).mean(1)
    return means


def _options(texts: tuple[str, ...]) -> dict[str, int]:
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals) or not value.lstrip("-").isdigit():
            raise LanistaError(f"gate.options holds {text!r}; give NAME=NUMBER.")
        options[name] = int(value)
    return options
