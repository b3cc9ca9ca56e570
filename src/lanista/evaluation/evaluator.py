"""How strong the policy is now: exactly where that can be had, and against named players.

The same deals are played at every evaluation, each in all seatings, and none of them is ever
trained on. All opponents are played in the same batches.
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lanista.evaluation.gauntlet import (
    FIRST_MATCH,
    Gauntlet,
    against,
    apart,
    everybody,
    gauntlet_of,
    match_rows,
)
from lanista.evaluation.meter import pool_reading
from lanista.evaluation.score import Estimate, mean_value, unit_means
from lanista.evaluation.standings import decided
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import GameError, Spec
from lanista.games.trees.exact import (
    FAMILY,
    MOST_HISTORIES,
    QUICK_HISTORIES,
    SMALL_GAMES,
    PolicyFunction,
    Progress,
    exact_nash_conv,
    mixture_nash_conv,
    refuse_inexact,
)
from lanista.nets.files.policy_file import LoadedPolicy, PolicyHeader, policy_bytes
from lanista.nets.finite import refuse_not_finite
from lanista.nets.policy import Policy
from lanista.rollout.inference.policy_players import PolicyPlayer, policy_player
from lanista.rollout.inference.row_blocks import one_thread
from lanista.rollout.match_runner import Results, Table, play
from lanista.runs.players import make_player
from lanista.runs.schema import LineupRow, MatchRow
from lanista.runs.settings import RunSettings

__all__ = ["FIRST_MATCH", "Encounter", "Evaluator", "Judgement", "probabilities", "uniform"]

EVALUATION, POOL = "evaluation", "pool"
"""Why an opponent was played: the settings name it, or it is one of the run's own players."""
_SLOTS = 1024
_TELL_EVERY = 20.0
"""Seconds between sentences about an exact measure."""


@dataclass(frozen=True)
class Judgement:
    """What an evaluation found."""

    values: dict[str, float]
    digest: str = ""
    """Of the policy, where it played."""
    policy: bytes = b""
    """Its file."""
    lineups: list[LineupRow] = field(default_factory=list)
    """Line-ups of matches for the run's database; each names the digests."""
    matches: list[MatchRow] = field(default_factory=list)
    """The matches of those line-ups."""
    next_match: int = 0
    """The first match id that is not used yet."""
    scores: dict[str, Estimate] = field(default_factory=dict)
    """By opponent: the policy's score."""
    gauntlet: Gauntlet | None = None
    """All that was found of each opponent, where it played."""
    mean: float | None = None
    """The mean score over the players that the settings name, who are the same at every
    evaluation; over the pool where they name none."""

    @property
    def score(self) -> float | None:
        """One number for schedules to go by, higher is better; None: nothing was measured."""
        if "exact/nash_conv" in self.values:
            return -self.values["exact/nash_conv"]
        return self.mean


@dataclass(frozen=True)
class Encounter:
    """What matches of two fixed players came to."""

    score: Estimate | None
    """Of the first of them."""
    gain: Estimate | None
    """What it won per match, by deals in all seatings."""
    lineups: list[LineupRow]
    matches: list[MatchRow]


@dataclass(frozen=True)
class Series:
    """Matches of one fixed player with several others."""

    lineups: list[LineupRow]
    matches: list[MatchRow]


class Evaluator:
    """The players that a run's policy is measured with."""

    def __init__(
        self,
        settings: RunSettings,
        spec: Spec,
        folder: Path,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """`tell` is given a sentence now and then while an exact measure takes long."""
        self.settings, self.spec, self.folder = settings, spec, folder
        self.tell = tell
        self.notice = ""
        """Why NashConv cannot be measured, where it should be."""
        self.apart = apart(spec)
        """Whether each has matches of its own; games that do not say so are found out."""
        self.exact = self._can_be_exact()
        self.players = {word: self._player(word) for word in settings.evaluation.bots}

    def _player(self, word: str) -> Player:
        digest, seed = self.settings.evaluation.digests.get(word, ""), self.settings.seed
        return make_player(self.settings, word, digest, self.spec, self.folder, seed)

    def _can_be_exact(self) -> bool:
        exact_setting, name = self.settings.evaluation.exact, self.spec.name
        in_full = exact_setting == "always" or name in SMALL_GAMES
        if exact_setting == "never" or not (in_full or name.startswith(FAMILY)):
            return False
        if self.apart and exact_setting != "always":
            return False  # Who wins together may be stuck in a poor equilibrium.
        try:
            if self.settings.network.recurrent:
                raise GameError("the exact measure takes a policy without memory, not an lstm.")
            histories = MOST_HISTORIES if in_full else QUICK_HISTORIES
            refuse_inexact(
                self.settings.game,
                histories,
                self.settings.game_settings,
                boards=exact_setting == "always",
            )
        except GameError as error:
            if exact_setting == "always":
                raise
            # Of most games of OpenSpiel nobody expects it.
            self.notice = f"NashConv is not measured: {error}" if in_full else ""
            return False
        return True

    @cached_property
    def uniform_nash_conv(self) -> float:
        """Of uniform play, where NashConv is measured."""
        return self._nash_conv(uniform) if self.exact else 0.0

    def _progress(self) -> Progress | None:
        """Return what one exact measure tells how far it is."""
        return None if self.tell is None else _told_slowly(self.tell)

    def _nash_conv(self, policy_fn: PolicyFunction) -> float:
        return exact_nash_conv(
            self.settings.game,
            policy_fn,
            settings=self.settings.game_settings,
            progress=self._progress(),
        )

    def measure(
        self,
        policy: Policy,
        update: int,
        first_match: int = FIRST_MATCH,
        *,
        name: str = "main",
        pool: Sequence[tuple[str, Player]] = (),
        pool_alone: bool = False,
    ) -> Judgement:
        """Judge a policy, exactly and by play, as far as the settings ask for it.

        `first_match` is the first id that no match of the run has. Beside those of the settings,
        the players of the `pool` are played; who is among both is played once. With `pool_alone`
        nothing else is measured.
        """
        values: dict[str, float] = {}
        named = {} if pool_alone else self.players
        if self.exact and not pool_alone:
            values["exact/nash_conv"] = self._nash_conv(probabilities(policy))
            values["uniform/nash_conv"] = self.uniform_nash_conv
        met = named | {word: player for word, player in pool if word not in named}
        if not met:
            return Judgement(values, next_match=first_match)
        data = policy_bytes(policy, self.spec, step=update)
        digest = hashlib.sha256(data).hexdigest()
        mine = self._mine(name, policy, digest, update)
        matches = self.settings.evaluation.matches
        results = self._play((mine, *met.values()), matches, first_match)
        if not self.apart and _paid_alike(results):
            self.apart = True
            results = self._play((mine, *met.values()), matches, first_match)
        gauntlet = gauntlet_of(results, (name, *met))
        for number, word in enumerate(met, start=1):
            if word in gauntlet.scores:
                gain = _gain(against(results, number), above=self.apart)
                values |= _values(gauntlet.scores[word], word)
                values[f"evaluation_return/{word}"] = float("nan") if gain is None else gain.value
        pooled = {word: gauntlet.scores[word] for word, _ in pool if word in gauntlet.scores}
        if pooled:
            reading = pool_reading(name, digest, pooled)
            values["pool/lowest"] = reading.value
            values["pool/lowest_low"] = float("nan") if reading.low is None else reading.low
        reasons = [EVALUATION if word in named else POOL for word in met]
        rows = match_rows(results, (name, *met), reasons, self.settings.seed, self.spec, update)
        scores = [gauntlet.scores[word].value for word in named or met if word in gauntlet.scores]
        mean = float(np.mean(scores)) if scores else None
        first_match += len(results)
        return Judgement(values, digest, data, *rows, first_match, gauntlet.scores, gauntlet, mean)

    def duel(
        self,
        mine: Player,
        other: Player,
        names: Sequence[str],
        matches: int,
        first_match: int,
        update: int,
        reason: str = "exploiter",
    ) -> Encounter:
        """Let two fixed players meet before an `update`; `other` sits in all seats but one."""
        results = self._play((mine, other), matches, first_match)
        score = gauntlet_of(results, names).bouts[0].standing.score
        rows = match_rows(results, names, [reason], self.settings.seed, self.spec, update)
        gain = _gain(against(results, 1), above=self.apart)
        return Encounter(score, gain, *rows)

    def series(
        self,
        mine: tuple[str, Player],
        others: Mapping[str, Player],
        matches: int,
        first_match: int,
        update: int,
        reason: str,
    ) -> Series:
        """Let a fixed player meet each of some others before an `update`, all in one batch."""
        results = self._play((mine[1], *others.values()), matches, first_match)
        names, reasons = (mine[0], *others), [reason] * len(others)
        rows = match_rows(results, names, reasons, self.settings.seed, self.spec, update)
        return Series(*rows)

    def mixture_nash_conv(self, policies: Sequence[Policy], shares: Sequence[float]) -> float:
        """Return NashConv of a player that draws one of some policies before each match."""
        functions = [probabilities(policy) for policy in policies]
        return mixture_nash_conv(
            self.settings.game,
            functions,
            shares,
            settings=self.settings.game_settings,
            progress=self._progress(),
        )

    def _mine(self, name: str, policy: Policy, digest: str, update: int) -> PolicyPlayer:
        """Return the policy as it would be read from its file, whatever device it learns on."""
        if next(policy.parameters()).device.type != "cpu":
            policy = copy.deepcopy(policy).cpu()
        header = PolicyHeader.of(self.spec, policy.network, step=update)
        return policy_player(
            LoadedPolicy(policy, header, digest),
            self.spec,
            self.settings.seed,
            greedy=self.settings.evaluation.greedy,
            name=name,
        )

    def _play(self, players: tuple[Player, ...], matches: int, first_match: int) -> Results:
        """Let the first player meet each of the others `matches` times."""
        settings, seats = self.settings, self.spec.seats
        schedule = everybody(
            seats,
            len(players) - 1,
            -(-matches // (2 if self.apart else seats)),
            first_match=first_match,
            first_deal=FIRST_MATCH,
            apart=self.apart,
        )
        slots = min(len(schedule), registry.slots_for(settings.game, _SLOTS))
        game = registry.make(
            settings.game, slots=slots, seed=settings.seed, **settings.game_settings
        )
        try:
            with one_thread():
                return play([Table(game, players)], schedule)
        finally:
            game.close()


def _told_slowly(tell: Callable[[str], None]) -> Progress:
    """Pass on what is being done as a sentence, not before it takes long and not too often."""
    last = time.monotonic()

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _TELL_EVERY:
            last = time.monotonic()
            tell(f"NashConv, {what}: {done:,}{f' of {total:,}' if total else ''}.")

    return progress


def _paid_alike(results: Results) -> bool:
    """Whether every match paid its seats the same, and some paid something."""
    returns = results.returns
    return bool(returns.any() and (returns == returns[:, :1]).all())


def _gain(results: Results, *, above: bool) -> Estimate | None:
    """Return what player 0 won per match; with `above`, beyond what the other won on its deal."""
    counts = decided(results)
    mine = results.schedule.seating[counts] == 0
    unit = results.schedule.deal[counts][np.nonzero(mine)[0]]
    returns = results.returns[counts]
    paid = returns[mine] - returns[~mine] if above else returns[mine]
    return mean_value(unit_means(paid, unit))


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
        log_probs = policy.heads.log_probs(logits, torch.from_numpy(mask.copy()))
        refuse_not_finite(log_probs.amax(-1).numpy(), "The policy that is judged")
        probability: NDArray[np.float32] = log_probs.exp().numpy()
        return probability

    return function


def uniform(observation: NDArray[np.uint8], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Choose everything legal alike, as the exact instrument asks for a policy."""
    share: NDArray[np.float64] = mask / mask.sum(1, keepdims=True)
    return share
