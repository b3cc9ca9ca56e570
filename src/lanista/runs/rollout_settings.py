"""How experience is collected, as settings say it: sizes, workers, opponents, what is rewarded."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, Literal

from lanista.learn.schedules import parse_schedule
from lanista.rollout.launchers.table import LAUNCHERS
from lanista.runs.serialise import SettingsError

MOST_WORKERS = 256
MOST_LAG = 64
SELF = "self"
"""The opponent that is the learner itself."""


@dataclass(frozen=True)
class Opponent:
    """Somebody the learner plays against."""

    player: str
    """self (the learner in every seat), a bot of the game, or a policy file."""
    weight: float = 1.0
    """How often it is sampled, relative to the others."""
    digest: str = ""
    """Of a policy file, fixed when the run begins."""
    greedy: bool | None = None
    """A policy file plays its likeliest choices, in the run's evaluations too; none: it samples."""

    def __post_init__(self) -> None:
        if not self.player:
            raise SettingsError("An opponent has no name; write self, a bot or a policy file.")
        if not 0 < self.weight < float("inf"):
            raise SettingsError(
                f"The weight of opponent {self.player!r} is {self.weight}; give one above 0."
            )
        if self.greedy and self.player == SELF:
            raise SettingsError(
                "The opponent self is greedy, and it is the learner, which samples; drop greedy, "
                "or name a policy file."
            )

    @classmethod
    def from_text(cls, text: str) -> Opponent:
        """Read `name` or `name=weight`."""
        name, equals, weight = text.rpartition("=")
        if not equals:
            return cls(text)
        try:
            return cls(name, float(weight))
        except ValueError:
            raise SettingsError(
                f"Opponent {text!r} has no weight after '='; write NAME=NUMBER."
            ) from None


@dataclass(frozen=True)
class Rollouts:
    """How experience is collected."""

    mode: Literal["matches", "stream"] = "matches"
    """matches: each iteration plays whole matches under one set of weights. stream: matches go on
    across updates and are cut into unrolls."""
    matches: int = 256
    """Matches of an iteration (mode matches)."""
    unrolls: int = 64
    """Unrolls of an iteration, at least (mode stream)."""
    unroll_length: int = 64
    """Longest unroll, in decisions of one seat."""
    slots: int = 0
    """Matches played side by side; 0: as many as an iteration needs."""
    workers: int = 1
    """Into how many parts the play is split, each with its share of the slots. The numbers of a run
    depend on it, and not on the launcher."""
    launcher: str = "serial"
    """Where the workers play. serial: one after another. threads: at once, for compiled games, on
    the learner's device. processes: at once, each in a process, for games in Python and simulators
    outside, and on a GPU where threads wait for each other (`processes_on_gpu`). ray and
    ray-threads: on the machines of a cluster, in processes or threads of each. An installed package
    may add others."""
    lag: int = 0
    """Policy lag: how many iterations old the weights that play are. 0: playing and learning take
    turns. 1 or more: the workers play ahead while the learner learns."""
    hang_seconds: float | None = None
    """Clusters (launchers ray and ray-threads): a machine that owes an answer and keeps the learner
    waiting for so long is taken for hung, and its part is played elsewhere. Never less than ten
    times the slowest of the last 50 chunks, or of the last 20 × shards where these are more, and
    ten times as long until the first chunk has come; none: 120."""
    bot_threads: int | None = None
    """Threads beside the workers in which slow bots of compiled games think, a part of their
    decisions in each. None: the workers ask them themselves. No number depends on it."""
    graphs: bool = False
    """On a GPU: record the networks' work while playing, and repeat it without Python's delay."""
    processes_on_gpu: bool = False
    """Processes of this machine that run the networks for themselves do so on the learner's GPU,
    if it learns on one, and no longer on the CPU."""
    inference: Literal["worker", "central"] = "worker"
    """Who runs the learner's networks for processes. worker: each for itself. central: the
    learner's process on its device, in batches of the rows of all who wait."""
    inference_batch: int = 0
    """Central inference: answer when so many rows wait; 0: as many as all slots' seats."""
    inference_deadline: float = 0.005
    """Central inference: a request waits at most so many seconds for others."""
    opponents: tuple[Opponent, ...] = (Opponent(SELF),)
    """Opponent mix: names, NAME=WEIGHT, or keys player and weight."""
    teacher: str | None = None
    """A bot of the game that says what it would do at each of the learner's decisions; the term
    `teacher` imitates it (DAgger)."""
    learn_from_frozen: bool | None = None
    """V-trace: learn also from what opponents decide that do not learn, past policies above all,
    with the probabilities they had. Opponents whose probabilities nobody knows (scripted bots but
    `random`, greedy policies) are left out and counted. None: only from the learner's own seats."""
    shaping_scale: Any = 0.0
    """Weight of the game's reward shaping: a number, or a schedule over updates, by which it
    fades; 0: not used."""
    stagger: int | None = None
    """Mode stream: the first matches begin spread over so many steps, so that the slots are not
    all at the same point of their matches. None: all at once."""
    lost_again: float | None = None
    """A curriculum over teams, cards or maps: this share of the matches repeats a deal, with which
    the learner lately lost to somebody else, again from the same seat. Matches keep their other
    opponents. Only in games whose chance a deal fixes; none: never."""
    draw: float | None = None
    """What a match that nobody won (all seats share the place) is worth to each seat while
    learning, in place of what the game says; none: what the game says. Scores stay as they are."""

    def __post_init__(self) -> None:
        for name in ("matches", "unrolls", "unroll_length"):
            if getattr(self, name) < 1:
                raise SettingsError(f"rollouts.{name} is {getattr(self, name)}; give at least 1.")
        if self.stagger is not None and not (self.stagger >= 1 and self.streaming):
            raise SettingsError(
                f"rollouts.stagger is {self.stagger} and rollouts.mode {self.mode}; give at least "
                "1 with mode stream, or leave it out."
            )
        if self.lost_again is not None and not 0 < self.lost_again < 1:
            raise SettingsError(
                f"rollouts.lost_again is {self.lost_again}; give a share between 0 and 1, or leave "
                "it out."
            )
        scale = parse_schedule(self.shaping_scale)
        if scale.initial() or scale.needs():
            raise SettingsError(
                "rollouts.shaping_scale follows a score, KL or another schedule, which playing "
                "does not see; give a number or a schedule over updates."
            )
        if self.slots < 0:
            raise SettingsError(f"rollouts.slots is {self.slots}; give 0 or more.")
        if not 1 <= self.workers <= MOST_WORKERS:
            raise SettingsError(f"rollouts.workers is {self.workers}; give 1 to {MOST_WORKERS}.")
        if self.bot_threads is not None and not 1 <= self.bot_threads <= MOST_WORKERS:
            raise SettingsError(
                f"rollouts.bot_threads is {self.bot_threads}; give 1 to {MOST_WORKERS}, or leave "
                "it out."
            )
        if self.hang_seconds is not None and not 1 <= self.hang_seconds < float("inf"):
            raise SettingsError(
                f"rollouts.hang_seconds is {self.hang_seconds}; give at least 1, or leave it out."
            )
        if not 0 <= self.lag <= MOST_LAG:
            raise SettingsError(f"rollouts.lag is {self.lag}; give 0 to {MOST_LAG}.")
        LAUNCHERS.refuse_unknown(self.launcher, where="rollouts.launcher")
        if self.inference == "central" and self.remote:
            raise SettingsError(
                f"rollouts.inference is central and the launcher {self.launcher}: choices would "
                "cross the network; set rollouts.launcher to processes, or inference to worker."
            )
        if self.inference == "central" and not self.separate_processes:
            raise SettingsError(
                f"rollouts.inference is central and the launcher {self.launcher}: its workers have "
                "the networks at hand; set rollouts.launcher to processes, or inference to worker."
            )
        for name in ("inference_batch", "inference_deadline"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise SettingsError(f"rollouts.{name} is {getattr(self, name)}; give 0 or more.")
        if self.draw is not None and not math.isfinite(self.draw):
            raise SettingsError(f"rollouts.draw is {self.draw}; give a number, or null.")
        if not self.opponents:
            raise SettingsError("rollouts.opponents is empty; name somebody, such as self.")
        names = [opponent.player for opponent in self.opponents]
        if len(set(names)) != len(names):
            raise SettingsError(f"rollouts.opponents names somebody twice: {', '.join(names)}.")

    @property
    def streaming(self) -> bool:
        return self.mode == "stream"

    @property
    def alone(self) -> bool:
        """Whether the learner's own thread plays, with its own networks."""
        return (self.workers, self.at_once, self.lag) == (1, False, 0)

    @property
    def at_once(self) -> bool:
        """Whether the workers play at the same time, beside the learner."""
        return LAUNCHERS[self.launcher].at_once

    @property
    def workers_at_once(self) -> int:
        """How many workers play at the same time; of a cluster, as many as there are cores here."""
        if self.remote:
            return min(self.workers, os.cpu_count() or 1)
        return self.workers if self.at_once else 1

    @property
    def separate_processes(self) -> bool:
        """Whether the workers are processes of their own."""
        return LAUNCHERS[self.launcher].separate_processes

    @property
    def on_cpu(self) -> bool:
        """Whether the workers play on the CPU, whatever the learner's device is."""
        shares = self.processes_on_gpu and self.inference == "worker" and not self.remote
        return self.separate_processes and not shares

    @property
    def remote(self) -> bool:
        """Whether the workers may be on other machines."""
        return LAUNCHERS[self.launcher].remote

    def resolved_slots(self, seats: int) -> int:
        """Return how many matches are played side by side in a game of `seats` seats."""
        if self.slots:
            return self.slots
        return -(-self.unrolls // seats) if self.streaming else self.matches
