"""One iteration of a learner: experience is collected and learned from.

`LearnerLoop` is everything a learner carries on; its state is what a checkpoint holds. Its
opponents are drawn from recorded meetings. Nothing that affects learning reads the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from lanista.data.replay_buffer import ReplayBuffer
from lanista.data.trajectory import Unrolls
from lanista.errors import LanistaError
from lanista.games import registry
from lanista.games.bots import Player
from lanista.league.matchmaking import Meeting
from lanista.league.population import Population
from lanista.learn.learner import BrokenLossError, Learner
from lanista.learn.matchups import Matchups
from lanista.learn.schedules import parse_schedule
from lanista.learn.update.ranks import Ranks
from lanista.nets.policy import Policy
from lanista.rollout.collector import LEARNER, Seating
from lanista.rollout.experience_source import ExperienceSource, Opponent
from lanista.rollout.inference.policy_players import file_digest
from lanista.rollout.opponent_sampler import seating_of
from lanista.rollout.parallel_collector import ParallelCollector
from lanista.rollout.timing import LEARN, Phases
from lanista.runs.database import Values
from lanista.runs.league_settings import MAIN
from lanista.runs.players import is_bot
from lanista.runs.schema import TrainingGamesRow
from lanista.runs.settings import RunSettings
from lanista.training.collector_factory import (
    Elsewhere,
    actor_of,
    anchor_of,
    collector_elsewhere,
    collector_of,
    desk_of,
    device_of,
    packed,
    prepare_torch,
    sends,
    worker_settings,
)
from lanista.training.critic_file import warm_up
from lanista.training.training_stats import Chair, fared, game_rows, points_by_opponent

_MATCHES_EACH = 1 << 34
"""Match ids that each learner of a run has for itself."""


class LearnerLoop:
    """A learner with its experience, and the counters of a run."""

    def __init__(
        self,
        settings: RunSettings,
        folder: Path,
        find: Callable[[str, str], Player],
        *,
        name: str = MAIN,
        number: int = 0,
        ranks: Ranks | None = None,
    ) -> None:
        """`find` gives an opponent by its name, on a device; `number` tells the learners apart."""
        self.ranks = ranks
        self.settings, self.find, self.name, self.number = settings, find, name, number
        self.folder = folder
        prepare_torch(settings)
        self.spec = registry.spec_of(settings.game, seed=settings.seed, **settings.game_settings)
        self.anchor = anchor_of(settings, folder)
        self.learner = self._learner(self.anchor, settings.seed + number)
        self.chairs: list[Chair] = []
        """Opponent and reason of each number of a seating, from 1."""
        self.players: dict[str, Player] = {}
        self.categories: dict[str, str] = {}
        self.own_reason = ""
        self.collector = self._collector()
        self.replay = self._replay() if settings.replay.size else None
        self._refuse_lone_seat()
        self.matchups = Matchups()
        self.frozen_decisions = 0
        """Of this iteration, made by opponents that do not learn."""
        self._shaping = parse_schedule(settings.rollouts.shaping_scale)
        self._rested: dict[str, Any] | None = None
        """What the collector goes on from after the last complete iteration; None: the learner has
        learnt from what the next one brought."""
        self.warm_up = 0
        """Updates at the start in which the critic learns alone."""
        self.iteration = 0
        self.decisions = 0
        self.matches = 0
        self.cpu_seconds = 0.0
        self.wall_seconds = 0.0

    def _refuse_lone_seat(self) -> None:
        if self.settings.learning.by_matchup and self.spec.seats < 2:
            raise LanistaError(
                f"{self.spec.name} has one seat, so there is nobody to be matched with; leave out "
                "learning.matchup_floor and learning.matchup_advantages."
            )

    def _learner(self, start: Policy | None, seed: int) -> Learner:
        settings = self.settings
        return Learner(
            self.spec,
            settings.network,
            settings.learning,
            updates=settings.updates,
            seed=seed,
            device=device_of(settings),
            start=start,
            anchor=self.anchor,
            threads=settings.rollouts.workers_at_once,
            ranks=self.ranks,
        )

    def _collector(self) -> ExperienceSource:
        settings, learner = self.settings, self.learner
        critic = learner.critic if self._values_while_acting else None
        actor = actor_of(settings, learner.policy, critic)
        first = self.number * _MATCHES_EACH
        rollouts, seats = settings.rollouts, self.spec.seats
        if rollouts.alone:
            return collector_of(settings, actor, first)
        own_settings, networks = worker_settings(settings, seats), packed((learner.policy, critic))
        per_worker = _MATCHES_EACH // rollouts.workers
        firsts = [first + at * per_worker for at in range(rollouts.workers)]
        builds = [partial(collector_elsewhere, own_settings, networks, match) for match in firsts]
        launcher, lag = rollouts.launcher, rollouts.lag
        desk = desk_of(settings, networks, seats)
        how: dict[str, Any] = {"launcher": launcher, "lag": lag, "sends": sends(settings)}
        how["hang_seconds"] = rollouts.hang_seconds
        return ParallelCollector(builds, firsts, actor, seats, desk=desk, **how)

    def meet(self, meetings: Sequence[Meeting]) -> None:
        """Draw opponents from these meetings, which stand in the run's record, from now on."""
        if not self.collector.streaming:
            self.chairs = []  # Nobody sits any more.
        self.categories = {meeting.opponent: meeting.category for meeting in meetings}
        for meeting in meetings:
            if meeting.opponent == self.name:
                self.own_reason = meeting.reason
        chairs = [
            (meeting.opponent, meeting.reason)
            for meeting in meetings
            if meeting.opponent != self.name
        ]
        self._sit_down(chairs)
        numbers = [
            LEARNER
            if meeting.opponent == self.name
            else 1 + self.chairs.index((meeting.opponent, meeting.reason))
            for meeting in meetings
        ]
        weights = [meeting.weight for meeting in meetings]
        seating = seating_of(numbers, weights, self.spec.seats, self.settings.seed)
        self._meet(seating)

    def _sit_down(self, chairs: Sequence[Chair]) -> None:
        """Give everybody a chair who has none: a free one, so that those who left are let go.

        A run that is resumed finds all of its chairs taken as they were, and moves nobody.
        """
        coming = [chair for chair in dict.fromkeys(chairs) if chair not in self.chairs]
        if not coming:
            return
        staying = {number for number, chair in enumerate(self.chairs, start=1) if chair in chairs}
        occupied = staying | (self.collector.in_flight() if self.chairs else set())
        free = [number for number in range(1, 1 + len(self.chairs)) if number not in occupied]
        for number, chair in zip(free, coming, strict=False):
            self.chairs[number - 1] = chair
        self.chairs += coming[len(free) :]

    def _meet(self, seating: Seating) -> None:
        players = self._seated()
        makes = [self._made_elsewhere(name) for name, _ in self.chairs]
        opponents = [Opponent(*pair) for pair in zip(players, makes, strict=True)]
        self.collector.seat(opponents, seating)

    def _made_elsewhere(self, name: str) -> Elsewhere:
        bot = is_bot(self.settings.game, name)
        digest = "" if bot else file_digest(self.players[name].digest)
        settings = worker_settings(self.settings, self.spec.seats)
        return Elsewhere(settings, self.folder, name, digest)

    def _seated(self) -> list[Player]:
        """Return the player of each chair; those that nobody needs any more are let go."""
        names = {opponent for opponent, _ in self.chairs}
        # Workers make those who sit down there themselves; here their digests are wanted.
        device = device_of(self.settings) if self.collector.plays_here else "cpu"
        self.players = {
            name: self.players.get(name) or self.find(name, device) for name in sorted(names)
        }
        return [self.players[opponent] for opponent, _ in self.chairs]

    def reset(self, start: Policy | None, times: int) -> None:
        """Reset to another policy or to fresh weights, for the `times`-th time.

        The counters go on; its opponents must be set again.
        """
        self.learner.close()
        self.learner = self._learner(start, self.settings.seed + self.number + 1000 * times)
        self.warm_up = 0 if start is None else warm_up(self.settings)
        following = self.collector.next_match
        self.collector.close()
        self.collector = self._collector()
        self.collector.next_match = following
        self.chairs = []
        self.matchups = Matchups()
        if self.replay is not None:
            self.replay = self._replay()

    @property
    def _values_while_acting(self) -> bool:
        """Whether a later update needs the values of the weights that acted."""
        settings, learning = self.settings, self.settings.learning
        if settings.network.recurrent or settings.replay.sampling == "prioritised":
            return True
        # In an update of one step the learner's own values are those of the weights that acted.
        rollouts = settings.rollouts
        fresh = not (rollouts.streaming or rollouts.lag or settings.replay.size)
        once = learning.epochs * (learning.minibatches_by_noise or learning.minibatches) == 1
        return learning.policy == "ppo" and not (fresh and once and not learning.rnad)

    def _replay(self) -> ReplayBuffer:
        return self.settings.replay.buffer(self.settings.learning.gamma, self.settings.seed)

    def iterate(self) -> Iterator[tuple[int, Values]]:
        """Make experience and learn from it; give the number and the log of each update."""
        cpu, wall = self._cpu(), time.perf_counter()
        self.collector.tally.clear()
        self._rested = self.collector.rested()
        self.frozen_decisions = 0
        unrolls = self._experience()
        self._rested = None
        for _ in range(self.settings.learner_updates):
            if self.replay is not None:
                unrolls = self._remembered()
            with self.phases(LEARN):
                critic_alone = self.learner.update_count < self.warm_up
                matched = self.matchups.matched(unrolls, self.settings.learning)
                log = self.learner.update(matched, critic_alone=critic_alone)
            now_cpu, now_wall = self._cpu(), time.perf_counter()
            self.cpu_seconds += now_cpu - cpu
            self.wall_seconds += now_wall - wall
            yield self.learner.update_count, log | self._counters()
            cpu, wall = self._cpu(), time.perf_counter()
        if self.settings.learning.by_matchup:
            counts = self.collector.tally.counts()
            self.matchups.add(points_by_opponent(counts, self.chairs))
        self.iteration += 1
        self._rested = self.collector.rested()

    def rest(self) -> Iterator[tuple[int, Values]]:
        """Let an iteration of the others pass; give what was spent so far for each update."""
        self.collector.tally.clear()
        for _ in range(self.settings.learner_updates):
            yield self.learner.update_count, self._spent()
        self.iteration += 1

    @property
    def phases(self) -> Phases:
        """Where the time of the thread goes that learns."""
        return self.collector.phases

    def notices(self) -> list[str]:
        """Return what the user should know of the workers, each sentence once."""
        return self.collector.take_notices()

    def _cpu(self) -> float:
        return time.process_time() + self.collector.cpu_seconds

    def _experience(self) -> Unrolls:
        rollouts, collector = self.settings.rollouts, self.collector
        collector.update = self.learner.update_count
        collector.actor.temperature = self.learner.scheduled()["temperature"]
        collector.shaping_scale = self._shaping(self.learner.update_count, self.settings.updates)
        before = collector.tally.matches
        if rollouts.streaming:
            unrolls = collector.unrolls(rollouts.unrolls)
        else:
            unrolls = collector.whole_matches(rollouts.matches)
        self.decisions += unrolls.decisions
        self.matches += collector.tally.matches - before
        if unrolls.frozen is not None:
            self.frozen_decisions += int(unrolls.frozen.sum())
        if unrolls.opponents is not None:
            names = [opponent for opponent, _ in self.chairs]
            opponents = self.matchups.renumbered(unrolls.opponents, names)
            unrolls = replace(unrolls, opponents=opponents)
        if self.replay is not None:
            self.replay.add(unrolls)
        return unrolls

    def _remembered(self) -> Unrolls:
        assert self.replay is not None
        update = self.learner.update_count
        while not self.replay.ready(update):
            self._experience()
        return self.replay.sample(self.settings.replay.batch, update)

    def _spent(self) -> Values:
        return {
            "decisions": self.decisions,
            "matches": self.matches,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
        }

    def _counters(self) -> Values:
        values = self._spent()
        if self.replay is not None:
            values["replay/size"] = len(self.replay)
        if isinstance(self.settings.rollouts.shaping_scale, Mapping):
            values["shaping_scale"] = self.collector.shaping_scale
        if self.settings.rollouts.learn_from_frozen:
            values["frozen/decisions"] = self.frozen_decisions
        values |= self.collector.measured()
        counts = self.collector.tally.counts()
        return values | fared(counts, self.name, self.chairs, self.categories)

    def games(self, update: int) -> list[TrainingGamesRow]:
        """Return the outcomes of this iteration's ended matches, by seating and reason.

        `update` is the run's newest.
        """
        digests = {name: player.digest for name, player in self.players.items()}
        # A reset learner counts its updates from 0; the record does not.
        earlier = self.iteration * self.settings.learner_updates - self.learner.update_count
        counts, chairs = self.collector.tally.counts(), self.chairs
        return game_rows(counts, self.name, chairs, digests, self.own_reason, earlier, update)

    def state(self) -> dict[str, Any]:
        """Return everything the run depends on from here, and nothing that it does not."""
        return self._state(self.collector.save())

    def rested_state(self) -> dict[str, Any] | None:
        """Return the state after the last complete iteration when the next one failed.

        Matches in flight are left out. None: more has changed since than that they were played on.
        """
        return None if self._rested is None else self._state(self._rested)

    def _state(self, collector: dict[str, Any]) -> dict[str, Any]:
        learner = self.learner.state()
        # The rest of an optimiser's state is settings; the anchor is a file of the run.
        learner["optimiser"] = learner["optimiser"]["state"]
        references = dict(learner["references"])
        references["policies"] = {
            name: weights for name, weights in references["policies"].items() if name != "anchor"
        }
        if not self.settings.learning.needs("portfolio"):
            del references["portfolio"], references["score"]
        learner["references"] = references
        state = {
            "iteration": self.iteration,
            "decisions": self.decisions,
            "matches": self.matches,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "learner": learner,
            "collector": collector,
        }
        if self.iteration and self.collector.streaming and self.settings.league is not None:
            # Matches in flight know their players by number, and a league gives new ones. Before
            # the first iteration there are none, and no record yet that players are found by.
            state["chairs"] = [list(chair) for chair in self.chairs]
        if self.settings.learning.by_matchup:
            state["matchups"] = self.matchups.state()
        if self.warm_up:
            state["warm_up"] = self.warm_up
        return state if self.replay is None else state | {"replay": self.replay.save()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore what `state` gave."""
        for name in ("iteration", "decisions", "matches"):
            setattr(self, name, int(state[name]))
        self.cpu_seconds, self.wall_seconds = state["cpu_seconds"], state["wall_seconds"]
        self.warm_up = int(state.get("warm_up", 0))
        if self.settings.learning.by_matchup:
            self.matchups.load_state(state["matchups"])
        learner, fresh = dict(state["learner"]), self.learner.state()
        learner["optimiser"] = {**fresh["optimiser"], "state": learner["optimiser"]}
        anchors = {k: v for k, v in fresh["references"]["policies"].items() if k == "anchor"}
        policies = {**anchors, **learner["references"]["policies"]}
        learner["references"] = {
            **fresh["references"],
            **learner["references"],
            "policies": policies,
        }
        self.learner.load_state(learner)
        if "chairs" in state:
            self.chairs = [(str(who), str(reason)) for who, reason in state["chairs"]]
            self._meet(self.collector.seating)
        self.collector.load(state["collector"])
        if self.replay is not None:
            self.replay.load(state["replay"])

    def close(self) -> None:
        """End whatever playing and learning started."""
        self.collector.close()
        self.learner.close()

    def refuse_broken(self) -> None:
        """Refuse weights that are no numbers, before they are saved as good ones."""
        for module in self.learner.networks.values():
            for name, parameter in module.named_parameters():
                if not bool(torch.isfinite(parameter).all()):
                    raise BrokenLossError(
                        f"The weights {name} are no longer finite at update "
                        f"{self.learner.update_count}; lower the learning rate."
                    )


def lone_learner(settings: RunSettings, folder: Path) -> LearnerLoop:
    """Return the main learner of a run without a league, ready to begin."""
    population = Population(settings, folder, LearnerLoop)
    population.enter(population.first_rows())
    population.meet(population.matchmake())
    assert isinstance(population.main, LearnerLoop)
    return population.main
