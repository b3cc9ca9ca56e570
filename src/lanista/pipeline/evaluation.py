"""How strong the policy is now: exactly where that can be had, and against named players.

The same deals are played at every evaluation, each in all seatings, and none of them is ever
trained on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lanista.games import registry
from lanista.games.adapters.exact import OPENSPIEL_NAMES, PolicyFunction, exact_nash_conv
from lanista.games.bots import Player
from lanista.games.contract import GameError, Spec
from lanista.league.meter import pool_reading
from lanista.league.score import Estimate
from lanista.league.standings import summarise
from lanista.nets.policy import Policy
from lanista.nets.policy_file import LoadedPolicy, PolicyHeader, policy_bytes
from lanista.pipeline.metrics import Row
from lanista.pipeline.players import make_player
from lanista.pipeline.settings import RunSettings
from lanista.rollout.play import Results, Table, play
from lanista.rollout.players import policy_player
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
    lineups: list[Row] = field(default_factory=list)
    """Who met whom, for the run's database; each names the digests."""
    matches: list[Row] = field(default_factory=list)
    """The matches of those line-ups."""
    next_match: int = 0
    """The first match id that is not used yet."""
    scores: dict[str, Estimate] = field(default_factory=dict)
    """By opponent: the policy's score."""

    @property
    def score(self) -> float | None:
        """One number for schedules to go by, higher is better; None: nothing was measured."""
        if "exact/nash_conv" in self.values:
            return -self.values["exact/nash_conv"]
        scores = [value for name, value in self.values.items() if name.startswith("score/")]
        return float(np.mean(scores)) if scores else None


@dataclass(frozen=True)
class Duel:
    """What matches of two fixed players came to."""

    score: Estimate | None
    """Of the first of them."""
    lineups: list[Row]
    matches: list[Row]


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

    def measure(
        self,
        policy: Policy,
        update: int,
        first_match: int = FIRST_MATCH,
        *,
        name: str = "main",
        pool: Sequence[tuple[str, Player]] = (),
    ) -> Judgement:
        """Judge a policy, exactly and by play, as far as the settings ask for it."""
        values: dict[str, float] = {}
        if self.exact:
            values["exact/nash_conv"] = exact_nash_conv(self.spec.name, probabilities(policy))
        met = [(word, player, "evaluation") for word, player in self.players.items()]
        met += [(word, player, "pool") for word, player in pool]
        if not met:
            return Judgement(values, next_match=first_match)
        data = policy_bytes(policy, self.spec, step=update)
        digest = hashlib.sha256(data).hexdigest()
        header = PolicyHeader.of(self.spec, policy.network, step=update)
        mine = policy_player(
            LoadedPolicy(policy, header, digest),
            self.spec,
            self.settings.seed,
            greedy=self.settings.evaluation.greedy,
            name=name,
        )
        lineups: list[Row] = []
        matches: list[Row] = []
        scores: dict[str, Estimate] = {}
        for word, player, reason in met:
            asked = self.settings.evaluation.matches
            found = self.duel(mine, player, (name, word), asked, first_match, reason)
            first_match += len(found.matches)
            lineups += found.lineups
            matches += found.matches
            if found.score is not None:
                scores[word] = found.score
                values |= _values(found.score, word)
        pooled = {word: scores[word] for word, _ in pool if word in scores}
        if pooled:
            reading = pool_reading(name, digest, pooled)
            values["pool/lowest"] = reading.value
            values["pool/lowest_low"] = float("nan") if reading.low is None else reading.low
        return Judgement(values, digest, data, lineups, matches, first_match, scores)

    def duel(
        self,
        mine: Player,
        other: Player,
        names: Sequence[str],
        matches: int,
        first_match: int,
        reason: str = "exploiter",
    ) -> Duel:
        """Let two fixed players meet; `other` sits in all seats but one."""
        results = self._play(mine, other, matches, first_match)
        score = summarise(results, names).standings[0].score
        return Duel(score, *self._rows(results, names, reason))

    def _play(self, mine: Player, other: Player, matches: int, first_match: int) -> Results:
        settings = self.settings
        slots = min(matches, _SLOTS)
        game = registry.make(
            settings.game, slots=slots, seed=settings.seed, **settings.game_settings
        )
        seats = [0, *[1] * (self.spec.seats - 1)]
        schedule = rotations(seats, matches, first_match=first_match, first_deal=FIRST_MATCH)
        try:
            return play([Table(game, (mine, other))], schedule)
        finally:
            game.close()

    def _rows(
        self, results: Results, names: Sequence[str], reason: str
    ) -> tuple[list[Row], list[Row]]:
        """Return line-ups and matches: all that it takes to play them again, and what came of it.

        A line-up is known by the id of its first match.
        """
        schedule, facts = results.schedule, self.spec.facts
        seatings = [tuple(int(who) for who in row) for row in schedule.seating]
        number: dict[tuple[int, ...], int] = {}
        matches: list[Row] = []
        for row, seating in enumerate(seatings):
            lineup = number.setdefault(seating, int(schedule.match[row]))
            matches.append(
                (
                    int(schedule.match[row]),
                    lineup,
                    int(schedule.deal[row]),
                    json.dumps(results.returns[row].tolist()),
                    json.dumps(results.place[row].tolist()),
                    int(results.cut_off[row]),
                )
            )
        lineups: list[Row] = [
            (
                lineup,
                reason,
                json.dumps([names[who] for who in seating]),
                json.dumps([results.digests[who] for who in seating]),
                self.settings.seed,
                facts.rules_version,
                facts.observation_version,
            )
            for seating, lineup in number.items()
        ]
        return lineups, matches


def _values(score: Estimate, word: str) -> dict[str, float]:
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
