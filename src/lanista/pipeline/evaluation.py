"""How strong the policy is now: exactly where that can be had, and against named players.

The same deals are played at every evaluation, each in all seatings, and none of them is ever
trained on.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lanista.games import registry
from lanista.games.adapters.exact import OPENSPIEL_NAMES, PolicyFunction, exact_nash_conv
from lanista.games.bots import Player
from lanista.games.contract import GameError, Spec
from lanista.league.standings import summarise
from lanista.nets.policy import Policy
from lanista.pipeline.players import make_player
from lanista.pipeline.settings import RunSettings
from lanista.rollout.actor import Actor
from lanista.rollout.play import Table, play
from lanista.rollout.players import PolicyPlayer
from lanista.rollout.seating import rotations

FIRST_MATCH = 1 << 40
"""Training counts match ids from 0 and never comes here."""
_SLOTS = 1024


class Evaluator:
    """The players that a run's policy is measured with."""

    def __init__(self, settings: RunSettings, spec: Spec, folder: Path) -> None:
        self.settings, self.spec, self.folder = settings, spec, folder
        self.digests = dict(settings.evaluation.digests)
        self.notice = ""
        """Why NashConv cannot be measured, where it should be."""
        self.exact = self._can_be_exact()
        self.players = {word: self._player(word) for word in settings.evaluation.bots}

    def _player(self, word: str) -> Player:
        digest, seed = self.digests.get(word, ""), self.settings.seed
        return make_player(self.settings, word, digest, self.spec, self.folder, seed)

    def _can_be_exact(self) -> bool:
        wanted = self.settings.evaluation.exact
        if wanted == "never" or (wanted == "auto" and self.spec.name not in OPENSPIEL_NAMES):
            return False
        try:
            exact_nash_conv(self.spec.name, _uniform)
        except GameError as error:
            if wanted == "always":
                raise
            self.notice = f"NashConv is not measured: {error}"
            return False
        return True

    def measure(self, policy: Policy) -> tuple[dict[str, float], float | None]:
        """Return the numbers, and one score for schedules to go by (higher is better)."""
        values: dict[str, float] = {}
        if self.exact:
            values["exact/nash_conv"] = exact_nash_conv(self.spec.name, probabilities(policy))
        for word in self.settings.evaluation.bots:
            values |= self._against(word, policy)
        if self.exact:
            return values, -values["exact/nash_conv"]
        scores = [value for name, value in values.items() if name.startswith("score/")]
        return values, float(np.mean(scores)) if scores else None

    def _against(self, word: str, policy: Policy) -> dict[str, float]:
        """Return the score against one player; nothing where no match had a result."""
        settings, seats = self.settings, self.spec.seats
        asked = settings.evaluation
        game = registry.make(
            settings.game,
            slots=min(asked.matches, _SLOTS),
            seed=settings.seed,
            **settings.game_settings,
        )
        actor = Actor(policy, settings.seed, greedy=asked.greedy)
        mine = PolicyPlayer("learner", "learner", actor)
        other = self.players[word]
        schedule = rotations(
            [0, *[1] * (seats - 1)], asked.matches, first_match=FIRST_MATCH, first_deal=FIRST_MATCH
        )
        results = play([Table(game, (mine, other))], schedule)
        game.close()
        score = summarise(results, ("learner", word)).standings[0].score
        if score is None:
            return {}
        unknown = float("nan")
        return {
            f"score/{word}": score.value,
            f"score_low/{word}": unknown if score.low is None else score.low,
            f"score_high/{word}": unknown if score.high is None else score.high,
        }


def probabilities(policy: Policy) -> PolicyFunction:
    """Return a policy as the exact instrument asks for it."""

    @torch.no_grad()
    def function(observation: NDArray[np.uint8], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
        device = next(policy.parameters()).device
        logits = policy(torch.from_numpy(observation.copy()).to(device)).float().cpu()
        probability: NDArray[np.float32] = (
            policy.heads.log_probs(logits, torch.from_numpy(mask.copy())).exp().numpy()
        )
        return probability

    return function


def _uniform(observation: NDArray[np.uint8], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    share: NDArray[np.float64] = mask / mask.sum(1, keepdims=True)
    return share
