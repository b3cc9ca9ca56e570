"""What a background learner can be told, and what it is told for a game unless somebody says
otherwise. Plain values; imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from lanista.errors import LanistaError
from lanista.learn.schedules import parse_schedule
from lanista.learn.settings import Learning
from lanista.live.promotion.sequential_test import Rule
from lanista.runs.settings import Replay

WARM_UP = ("value", "upgo")
"""The terms that count while the critic is new: upgoing returns follow what was played where it
turned out well, and so depend on the critic least."""
_ANY_LENGTH = 1_000_000


def _vtrace() -> Learning:
    return Learning(policy="vtrace", critic_sees="seat", epochs=2)


def _trial() -> Rule:
    return Rule(futile=0)


def _watch() -> Rule:
    return Rule(limit=1000)


@dataclass(frozen=True)
class Gate:
    """When a candidate replaces the policy in service."""

    kind: Literal["live", "simulator", "open"] = "live"
    """live: both play at the same time, in different games; simulator: pairs of matches on the
    same deals, played by the learner; open: every candidate is published, untested."""
    every: int = 200
    """Games to learn from before the next candidate is offered."""
    share: float = 0.5
    """Of the games, played by the candidate while it is tried; of several, what each plays of the
    games that are its own or the stable policy's."""
    candidates: int = 1
    """How many candidates are tried at the same time, each against the policy in service; the
    rule's chances `publish` and `share` are divided by it. For a live gate."""
    rule: Rule = field(default_factory=_trial)
    """Error rates of the trial. `futile` is 0 unless set: a candidate that is not ahead makes room
    for newer weights, while a rejection would send them back to the stable policy."""
    refresh: int = 200
    """After so many games newer weights take the place of a candidate that is not ahead by the
    rule's margin so far, so that there are games of weights close to those that learn; 0: never."""
    patience: int = 1000
    """After so many games without a decision newer weights take the candidate's place, with a
    trial of their own; 0: never."""
    watch_share: float = 0.2
    """Of the games, played by the policy before, after a publication; 0: nothing is watched."""
    watch: Rule = field(default_factory=_watch)
    """Error rates of the watch."""
    opponents: tuple[str, ...] = ()
    """Simulator: the bots that both policies meet; none: they meet each other."""
    options: tuple[str, ...] = ()
    """Simulator: options of its matches, NAME=VALUE."""

    def __post_init__(self) -> None:
        if self.every < 1:
            raise LanistaError(f"gate.every is {self.every}; give 1 or more games.")
        for name in ("patience", "refresh"):
            if getattr(self, name) < 0:
                raise LanistaError(f"gate.{name} is {getattr(self, name)}; give 0 or more games.")
        if self.candidates < 1:
            raise LanistaError(f"gate.candidates is {self.candidates}; give 1 or more.")
        if self.candidates > 1 and self.kind != "live":
            raise LanistaError(
                f"gate.candidates is {self.candidates} and gate.kind {self.kind}; several are "
                "tried by a live gate alone; set gate.kind to live, or gate.candidates to 1."
            )
        if not 0 < self.share < 1:
            raise LanistaError(f"gate.share is {self.share}; give a share between 0 and 1.")
        if not 0 <= self.watch_share < 1:
            raise LanistaError(f"gate.watch_share is {self.watch_share}; give 0 to below 1.")

    @property
    def trial_rule(self) -> Rule:
        """The rule of one trial: with several at once, chances that any errs stay the rule's."""
        if self.candidates == 1:
            return self.rule
        publish, share = self.rule.publish / self.candidates, self.rule.share / self.candidates
        return replace(self.rule, publish=publish, share=share)

    def share_of(self, candidates: int) -> float:
        """Return what so many candidates play together, each to the stable policy as one alone."""
        if candidates <= 1:
            return self.share * candidates
        return candidates * self.share / (1 - self.share + candidates * self.share)


@dataclass(frozen=True)
class LiveSettings:
    """How games of bots in the wild are learned from."""

    learning: Learning = field(default_factory=_vtrace)
    """The losses. `learning.epochs` is how often each decision is gone over, and no game is
    learned from twice, so it caps the ratio of training to data."""
    gate: Gate = field(default_factory=Gate)
    replay: Replay = field(default_factory=Replay)
    """Unrolls of earlier games that an update learns from again, beside its own."""
    batch_games: int = 10
    """Most games of one update."""
    least_games: int = 1
    """An update waits for so many games."""
    warm_up: int = 10
    """Updates in which the critic learns, and `upgo` where it has a weight, and nothing else, since
    the critic begins knowing nothing; for one with a network of its own."""
    unroll_length: int = 512
    """Games are cut to unrolls of so many decisions."""
    staleness: int = 2000
    """Games of weights that are older than so many updates are not learned from."""
    distance: float = 0.5
    """Nor are games of a policy this far from the weights that learn: the Kullback-Leibler
    divergence between the two, in nats a decision, as its games in the batch estimate it."""
    outcome_weight: float = 1.0
    """What the outcome counts as a reward at a game's last decision."""
    reward_weight: float = 1.0
    """What the bot's own rewards count."""
    report_every: int = 100
    """Games between two reports on the terminal; 0: only one at the end."""
    keep_checkpoints: int = 3
    keep_policies: int = 100
    """Policies that the last so many changes of the pointer name stay in the folder."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in (
            "batch_games",
            "least_games",
            "unroll_length",
            "staleness",
            "keep_checkpoints",
            "keep_policies",
        ):
            if getattr(self, name) < 1:
                raise LanistaError(f"{name} is {getattr(self, name)}; give 1 or more.")
        if isinstance(self.learning.lr, int | float) and not 0 <= self.learning.lr < math.inf:
            raise LanistaError(f"learning.lr is {self.learning.lr}; give 0 or more.")
        if self.distance <= 0:
            raise LanistaError(f"distance is {self.distance}; give a number above 0.")
        if self.least_games > self.batch_games:
            raise LanistaError(
                f"least_games is {self.least_games} and batch_games {self.batch_games}; an update "
                "cannot wait for more games than it takes."
            )
        if self.report_every < 0:
            raise LanistaError(f"report_every is {self.report_every}; give 0 or more games.")
        if self.warm_up < 0:
            raise LanistaError(f"warm_up is {self.warm_up}; give 0 or more updates.")
        if self.learning.policy != "vtrace":
            raise LanistaError(
                f"learning.policy is {self.learning.policy}, and games of other weights are "
                "learned from by vtrace; set it to that."
            )
        if self.learning.critic_sees == "privileged":
            raise LanistaError("A live bot has no privileged view; set learning.critic_sees.")
        own_critic = self.learning.critic_sees == "seat"
        if self.warm_up and own_critic and not any(self.learning.uses(term) for term in WARM_UP):
            raise LanistaError(
                f"warm_up is {self.warm_up}, in which only the terms value and upgo count, and "
                "neither has a weight; give them one, or set warm_up to 0."
            )
        self._refuse_whole_runs()

    def _refuse_whole_runs(self) -> None:
        """Refuse schedules over a whole run, which would be at their end after one update."""
        learning = self.learning
        schedules = {"lr": learning.lr, "temperature": learning.temperature}
        schedules |= {f"terms.{name}": weight for name, weight in learning.terms.items()}
        for name, value in schedules.items():
            schedule = parse_schedule(value)
            if not schedule.needs() and schedule(1, 1) != schedule(1, _ANY_LENGTH):
                raise LanistaError(
                    f"learning.{name} changes over a whole run, and a live learner's has no end; "
                    "give the schedule its steps."
                )


def _starcraft() -> LiveSettings:
    """Return settings for some 150 games in a night.

    Both policies must show themselves in what is left of them, so the first candidate comes early,
    the gate bets on large differences alone, and one candidate has the whole night.
    """
    rule = Rule(publish=0.05, futile=0, margin=0.3)
    gate = Gate(every=15, rule=rule, refresh=0, patience=150)
    learning = Learning(policy="vtrace", critic_sees="seat", epochs=4, lr=0.003, gamma=0.995)
    return LiveSettings(learning, gate, warm_up=0, report_every=5)


_BY_GAME = {"starcraft2-macro": _starcraft}


def settings_for(game: str) -> LiveSettings:
    """Return the usual settings for a game that is played live."""
    return _BY_GAME.get(game, LiveSettings)()
