"""How strong the policy is now: exactly where that can be had, and against named players.

The same deals are played at every evaluation, each in all seatings, and none of them is ever
trained on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
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
from lanista.nets.policy_file import LoadedPolicy, PolicyHeader, policy_bytes
from lanista.pipeline.metrics import Row
from lanista.pipeline.players import make_player
from lanista.pipeline.settings import RunSettings
from lanista.rollout.play import Results, Table, play
from lanista.rollout.players import PolicyPlayer, policy_player
from lanista.rollout.seating import rotations

FIRST_MATCH = 1 << 40
"""Training counts match ids from 0 and never comes here."""
_SLOTS = 1024


@dataclass(frozen=True)
class Judgement:
    """What an evaluation found."""

    values: dict[str, float]
    digest: str = ""
    """Of the policy, where it played."""
    policy: bytes = b""
    """Its file."""
    rows: list[Row] = field(default_factory=list)
    """Its matches, for the run's database; each names the digest."""

    @property
    def score(self) -> float | None:
        """One number for schedules to go by, higher is better; None: nothing was measured."""
        if "exact/nash_conv" in self.values:
            return -self.values["exact/nash_conv"]
        scores = [value for name, value in self.values.items() if name.startswith("score/")]
        return float(np.mean(scores)) if scores else None


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
            if self.settings.network.recurrent:
                raise GameError("the exact measure takes a policy without memory, not an lstm.")
            exact_nash_conv(self.spec.name, _uniform)
        except GameError as error:
            if wanted == "always":
                raise
            self.notice = f"NashConv is not measured: {error}"
            return False
        return True

    def measure(self, policy: Policy, update: int) -> Judgement:
        """Judge a policy, exactly and by play, as far as the settings ask for it."""
        values: dict[str, float] = {}
        if self.exact:
            values["exact/nash_conv"] = exact_nash_conv(self.spec.name, probabilities(policy))
        if not self.players:
            return Judgement(values)
        data = policy_bytes(policy, self.spec, step=update)
        digest = hashlib.sha256(data).hexdigest()
        header = PolicyHeader.of(self.spec, policy.network, step=update)
        mine = policy_player(
            LoadedPolicy(policy, header, digest),
            self.spec,
            self.settings.seed,
            greedy=self.settings.evaluation.greedy,
            name="learner",
        )
        rows: list[Row] = []
        for word in self.players:
            results = self._play(mine, word)
            values |= _score(results, word)
            rows += _rows(results, word)
        return Judgement(values, digest, data, rows)

    def _play(self, mine: PolicyPlayer, word: str) -> Results:
        settings, asked = self.settings, self.settings.evaluation
        slots = min(asked.matches, _SLOTS)
        game = registry.make(
            settings.game, slots=slots, seed=settings.seed, **settings.game_settings
        )
        seats = [0, *[1] * (self.spec.seats - 1)]
        schedule = rotations(seats, asked.matches, first_match=FIRST_MATCH, first_deal=FIRST_MATCH)
        try:
            return play([Table(game, (mine, self.players[word]))], schedule)
        finally:
            game.close()


def _score(results: Results, word: str) -> dict[str, float]:
    """Return the policy's score; nothing where no match had a result."""
    score = summarise(results, ("learner", word)).standings[0].score
    if score is None:
        return {}
    unknown = float("nan")
    return {
        f"score/{word}": score.value,
        f"score_low/{word}": unknown if score.low is None else score.low,
        f"score_high/{word}": unknown if score.high is None else score.high,
    }


def _rows(results: Results, word: str) -> Iterator[Row]:
    """Give a row for each match: all that it takes to play it again, and what came of it."""
    schedule = results.schedule
    for number in range(len(schedule)):
        players = [results.digests[who] for who in schedule.seating[number]]
        yield (
            word,
            int(schedule.match[number]),
            int(schedule.deal[number]),
            json.dumps(players),
            json.dumps(results.returns[number].tolist()),
            json.dumps(results.place[number].tolist()),
            int(results.cut_off[number]),
        )


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
