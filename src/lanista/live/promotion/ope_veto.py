"""What the stable policy's recorded games say about a candidate, before it plays any itself.

Reads the archive, asks both networks, and leaves the judgement to `off_policy`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lanista.learn.learner import Learner
from lanista.live.files.game_file import read
from lanista.live.files.game_header import GameFileError
from lanista.live.files.spool import Spool
from lanista.live.learner.experience import TrainingGame, log_probs_of, unrolls_of
from lanista.live.learner.ledger import GameRow, Ledger
from lanista.live.learner.settings import LiveSettings
from lanista.live.promotion.off_policy import LEAST, Opinion, opinion, per_game

MOST_GAMES, FEW = 500, 100
_LOOKED_AT = 5000


def recorded_opinion(
    spool: Spool, ledger: Ledger, stable: str, learner: Learner, settings: LiveSettings
) -> Opinion:
    """Return what the last games of the stable policy say about the learner's weights."""
    rows = [
        row
        for row in ledger.games(last=_LOOKED_AT)
        if row.policy == stable and row.outcome is not None
    ][-MOST_GAMES:]
    few = _opinion(_lessons(spool, rows[-FEW:], settings), learner, settings)
    # Where a few games are worth next to nothing, many are worth little; reading them takes long.
    if len(rows) <= FEW or few.effective * len(rows) < LEAST * FEW:
        return few
    return _opinion(_lessons(spool, rows, settings), learner, settings)


def _opinion(
    training_games: list[TrainingGame], learner: Learner, settings: LiveSettings
) -> Opinion:
    if not training_games:
        nothing = np.zeros(0)
        return opinion(nothing, nothing, nothing, nothing)
    unrolls = unrolls_of(training_games, settings, learner)
    log_probs = log_probs_of(unrolls, learner, learner.best)
    count = len(training_games)
    played = per_game(unrolls.log_prob, unrolls.match, count)
    candidate = per_game(log_probs, unrolls.match, count)
    score = np.array(
        [0.5 + 0.5 * np.sign(training_game.game.outcome[0]) for training_game in training_games]
    )
    return opinion(score, played, candidate, played)


def _lessons(spool: Spool, rows: Sequence[GameRow], settings: LiveSettings) -> list[TrainingGame]:
    """Return those of the games that are still archived and have a decision of the policy."""
    training_games = []
    for row in rows:
        try:
            game = read(spool.archived(row.content))
        except GameFileError:
            continue  # The archive is the operator's to tidy; what is gone says nothing.
        training_game = TrainingGame.of(game, settings, 0)
        if len(training_game.own):
            training_games.append(training_game)
    return training_games
