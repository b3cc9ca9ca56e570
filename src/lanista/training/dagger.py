"""Rounds of DAgger: the clone plays, and its teacher says what it would have done there.

Without recorded matches the teacher alone plays round 0. A round is kept in the run's folder, whole
or not at all. Knows nothing of how a clone learns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.demonstration_builder import Gathering
from lanista.data.demonstrations import FULL_VIEW, Demonstrations, group_of
from lanista.data.records import PlayerInfo
from lanista.data.trajectory import Unrolls
from lanista.errors import LanistaError, RefusedError
from lanista.evaluation.clone_strength import imitated
from lanista.games import registry
from lanista.games.contract import Spec
from lanista.learn.imitation.settings import Dagger, Imitation
from lanista.nets.policy import Policy
from lanista.rollout.collector import LEARNER, Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.opponent_sampler import seating_of
from lanista.rollout.teacher import Teacher
from lanista.runs.checkpoints import CheckpointError, Checkpoints, read_state
from lanista.runs.settings import SELF

ROUNDS = "dagger"
"""The folder of the rounds, in the run's."""
_SLOTS = 1024
_MATCHES_EACH = 1 << 32
"""Match ids that each round has for itself."""


@dataclass(frozen=True)
class Rounds:
    """Where and how rounds are played."""

    settings: Dagger
    game: str
    spec: Spec
    seed: int
    """Names the deals, and all that is random in the play."""
    folder: Path

    @property
    def teacher(self) -> str:
        assert self.settings.teacher is not None
        return self.settings.teacher

    def play(self, number: int, policy: Policy) -> Demonstrations:
        """Let `policy` play a round, the teacher in its place by beta to the power of `number`."""
        settings = self.settings
        slots = registry.slots_for(self.game, min(settings.matches, _SLOTS))
        game = registry.make(self.game, slots=slots, seed=self.seed, **self.spec.settings)
        opponents = [name for name in self._opponents() if name != SELF]
        players = [registry.make_bot(self.game, name, game.spec, self.seed) for name in opponents]
        numbers = [
            LEARNER if name == SELF else 1 + opponents.index(name) for name in self._opponents()
        ]
        bot = registry.make_bot(self.game, self.teacher, game.spec, self.seed + 1)
        collector = Collector(
            game,
            Actor(policy, self.seed),
            players,
            seating_of(numbers, [1.0] * len(numbers), game.spec.seats, self.seed),
            unroll_length=game.spec.facts.longest,
            teacher=Teacher(bot, game.spec, beta=settings.beta**number, seed=self.seed + 2),
            first_match=number * _MATCHES_EACH,
        )
        try:
            return self._labelled(collector.whole_matches(settings.matches))
        finally:
            collector.close()

    def _opponents(self) -> tuple[str, ...]:
        return self.settings.opponents or (self.teacher,)

    def _labelled(self, unrolls: Unrolls) -> Demonstrations:
        """Return what the learner saw with what the teacher would have done there."""
        order = np.lexsort((unrolls.turn, unrolls.seat, unrolls.match))
        matches, match = np.unique(unrolls.match[order], return_inverse=True)
        seat, mask = unrolls.seat[order], unrolls.mask[order]
        assert unrolls.teacher is not None
        action = _filled(unrolls.teacher[order], mask, self.spec)
        start = np.flatnonzero(np.diff(match, prepend=-1) | np.diff(seat, prepend=-1))
        reward = unrolls.reward[order]
        groups = np.array([group_of(self.spec.name, self.seed, one) for one in matches], np.uint64)
        bot = registry.make_bot(self.game, self.teacher, self.spec, self.seed)
        gathering = Gathering(self.spec)
        gathering.seed(self.seed)
        gathering.source(FULL_VIEW)
        gathering.add(
            observation=unrolls.observation[order],
            mask=mask,
            action=action,
            turn=unrolls.turn[order],
            reward=reward,
            match=match,
            seat=seat,
            outcome=1 - np.sign(np.add.reduceat(reward, start)).astype(np.int8),
            group=groups[match[start]],
            teacher=[PlayerInfo(bot.name, bot.digest)] * len(start),
        )
        data = gathering.done()
        data.leave_out_idle()
        return data

    def save(self, number: int, data: Demonstrations) -> None:
        """Write a round that was played; one that was there is replaced."""
        self._stored.save(number, {"columns": data.columns(), "digest": data.digest()})

    def load(self, number: int) -> Demonstrations:
        """Return a round as it was saved."""
        path = self._stored.path(number)
        try:
            state = read_state(path)
        except CheckpointError as error:
            raise RefusedError(
                f"{path} is missing or damaged, and the clone learned from it ({error}); begin "
                "again with another --output."
            ) from error
        return self._restored(state["columns"])

    def _restored(self, columns: Mapping[str, Any]) -> Demonstrations:
        bot = registry.make_bot(self.game, self.teacher, self.spec, self.seed)
        return Demonstrations(
            self.spec,
            **columns,
            teachers=(PlayerInfo(bot.name, bot.digest),),
            sources=(FULL_VIEW,),
            seeds=(self.seed,),
        )

    @property
    def _stored(self) -> Checkpoints:
        return Checkpoints(self.folder / ROUNDS)


def rounds_of(
    imitation: Imitation, game: str, spec: Spec, folder: Path, recorded: Demonstrations | None
) -> Rounds:
    """Return the rounds of a run; whoever is unknown is refused before anybody plays."""
    settings = imitation.dagger
    teacher = settings.teacher or _recorded_teacher(recorded, game)
    Teacher(registry.make_bot(game, teacher, spec), spec)
    for name in settings.opponents:
        if name != SELF:
            registry.make_bot(game, name, spec)
    seed = imitation.seed if recorded is None else max(recorded.seeds, default=-1) + 1
    return Rounds(replace(settings, teacher=teacher), game, spec, seed, folder)


def _recorded_teacher(data: Demonstrations | None, game: str) -> str:
    names = [] if data is None else imitated(data, game, 0)[0]
    if len(names) != 1:
        raise LanistaError(
            f"DAgger needs one teacher, and the demonstrations are of {len(names)} bots "
            f"({', '.join(names) or 'none'}); name one with --teacher (dagger.teacher)."
        )
    return names[0]


def score_of(data: Demonstrations) -> float:
    """Return the score of those who played a round, draws half."""
    return float((1 - data.outcome / 2).mean())


def _filled(labels: NDArray[np.int32], mask: NDArray[np.bool_], spec: Spec) -> NDArray[np.int32]:
    """Return labels with some legal choice where a head changes nothing."""
    first = 0
    for at, head in enumerate(spec.heads):
        legal = mask[:, first : first + head.size].argmax(1)
        labels[:, at] = np.where(labels[:, at] < 0, legal, labels[:, at])
        first += head.size
    return labels
