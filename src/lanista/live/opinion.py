"""What the stable policy's recorded games say about a candidate, before it plays any itself.

Reads the archive, asks both networks, and leaves the judgement to `off_policy`.
"""

from __future__ import annotations

import numpy as np
import torch

from lanista.learn.batch import Batch
from lanista.learn.forward import Views
from lanista.learn.learner import Learner
from lanista.live.experience import Lesson, unrolls_of
from lanista.live.game_files import GameFile, read
from lanista.live.game_header import GameFileError
from lanista.live.ledger import Ledger
from lanista.live.off_policy import Opinion, opinion, per_game
from lanista.live.settings import LiveSettings
from lanista.live.spool import Spool
from lanista.nets.policy import Policy

MOST_GAMES = 500
_LOOKED_AT = 5000


def recorded_opinion(
    spool: Spool, ledger: Ledger, stable: str, learner: Learner, settings: LiveSettings
) -> Opinion:
    """Return what the last games of the stable policy say about the learner's weights."""
    lessons = [
        Lesson.of(game, settings, 0) for game in _games(spool, ledger, stable) if len(game.actions)
    ]
    lessons = [lesson for lesson in lessons if len(lesson.own)]
    if not lessons:
        nothing = np.zeros(0)
        return opinion(nothing, nothing, nothing, nothing)
    unrolls = unrolls_of(lessons, settings, learner)
    batch = Batch(unrolls, learner.device)
    said = _chosen(Views(batch, settings.learning), learner.best)
    count = len(lessons)
    played = per_game(unrolls.log_prob, unrolls.match, count)
    asked = per_game(said, unrolls.match, count)
    score = np.array([0.5 + 0.5 * np.sign(lesson.game.outcome[0]) for lesson in lessons])
    return opinion(score, played, asked, played)


def _games(spool: Spool, ledger: Ledger, stable: str) -> list[GameFile]:
    """Return the last games of a policy that ended with a result and are still archived."""
    rows = [
        row
        for row in ledger.games(last=_LOOKED_AT)
        if row.policy == stable and row.outcome is not None
    ]
    found = []
    for row in rows[-MOST_GAMES:]:
        try:
            found.append(read(spool.archived(row.content)))
        except GameFileError:
            continue  # The archive is the operator's to tidy; what is gone says nothing.
    return found


@torch.no_grad()
def _chosen(views: Views, policy: Policy) -> np.ndarray:
    if policy.state_size:
        # From the memory before each unroll, which went through overruled steps too.
        logits, _ = views.policy(policy)
        log_probs = policy.heads.log_probs(logits.float(), views.mask)
    else:
        log_probs = views.log_probs(policy)
    action = views.batch.tensor("action").long()
    found: np.ndarray = policy.heads.joint(log_probs, action).cpu().numpy()
    return found
