"""One iteration of a run: experience is made, and learnt from; and all that lies between two.

`Training` is everything a run carries on; its state is what a checkpoint holds. Nothing that
affects learning reads the clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from lanista.data.replay_buffer import ReplayBuffer
from lanista.data.trajectory import Unrolls
from lanista.games import registry
from lanista.learn.learner import PRECISIONS, BrokenLossError, Learner
from lanista.nets.policy import Policy
from lanista.nets.policy_file import load_policy
from lanista.pipeline.metrics import Row
from lanista.pipeline.players import make_player, others, refuse_other, seating_of
from lanista.pipeline.run import policy_path
from lanista.pipeline.settings import SELF, RunSettings
from lanista.rollout.actor import Actor
from lanista.rollout.collect import Collector

Values = dict[str, float]


class Training:
    """A learner with its experience, and the counters of a run."""

    def __init__(self, settings: RunSettings, folder: Path) -> None:
        self.settings = settings
        prepare_torch(settings)
        spec = registry.make(settings.game, seed=settings.seed, **settings.game_settings).spec
        slots = settings.rollouts.resolved_slots(spec.seats)
        self.game = registry.make(
            settings.game, slots=slots, seed=settings.seed, **settings.game_settings
        )
        self.spec = self.game.spec
        self.anchor = _anchor(settings, folder)
        self.learner = Learner(
            self.spec,
            settings.network,
            settings.learning,
            updates=settings.updates,
            seed=settings.seed,
            device=device_of(settings),
            start=self.anchor,
        )
        self.names = [opponent.player for opponent in others(settings)]
        self.collector = self._collector(folder)
        self.replay = self._replay() if settings.replay.size else None
        self.iteration = 0
        self.first_match = 0
        """The next match's id when this iteration began."""
        self.decisions = 0
        self.matches = 0
        self.cpu_seconds = 0.0
        self.wall_seconds = 0.0

    def _collector(self, folder: Path) -> Collector:
        settings, learner = self.settings, self.learner
        players = [
            make_player(settings, each.player, each.digest, self.spec, folder, settings.seed)
            for each in others(settings)
        ]
        actor = Actor(
            learner.policy,
            settings.seed,
            learner.critic if self._values_while_acting else None,
            precision=PRECISIONS[settings.learning.precision],
        )
        return Collector(
            self.game,
            actor,
            players,
            seating_of(settings.rollouts.opponents, self.spec.seats, settings.seed),
            unroll_length=settings.rollouts.unroll_length,
            shaping_scale=settings.rollouts.shaping_scale,
            keep_log_probs=settings.learning.uses("behaviour"),
            keep_privileged=settings.learning.critic_sees == "privileged",
        )

    @property
    def _values_while_acting(self) -> bool:
        """Whether a later update needs the values of the weights that acted."""
        settings, learning = self.settings, self.settings.learning
        if settings.network.recurrent or settings.replay.sampling == "prioritised":
            return True
        # In an update of one step the learner's own values are those of the weights that acted.
        fresh = not settings.rollouts.streaming and not settings.replay.size
        once = learning.epochs * learning.minibatches == 1
        return learning.policy == "ppo" and not (fresh and once and not learning.rnad)

    def _replay(self) -> ReplayBuffer:
        asked = self.settings.replay
        return ReplayBuffer(
            asked.size,
            minimum=asked.minimum,
            sampling=asked.sampling,
            exponent=asked.priority_exponent,
            reuse=asked.reuse,
            staleness=asked.staleness,
            gamma=self.settings.learning.gamma,
            seed=self.settings.seed,
        )

    def iterate(self) -> Iterator[tuple[int, Values]]:
        """Make experience and learn from it; give the number and the log of each update."""
        cpu, wall = time.process_time(), time.perf_counter()
        self.collector.tally.clear()
        self.first_match = self.collector.next_match
        unrolls = self._experience()
        for _ in range(self.settings.learner_updates):
            if self.replay is not None:
                unrolls = self._remembered()
            log = self.learner.update(unrolls)
            now_cpu, now_wall = time.process_time(), time.perf_counter()
            self.cpu_seconds += now_cpu - cpu
            self.wall_seconds += now_wall - wall
            yield self.learner.update_count, log | self._counters()
            cpu, wall = time.process_time(), time.perf_counter()
        self.iteration += 1

    def _experience(self) -> Unrolls:
        rollouts, collector = self.settings.rollouts, self.collector
        collector.update = self.learner.update_count
        collector.actor.temperature = self.learner.scheduled()["temperature"]
        before = sum(tally.matches for tally in collector.tally.values())
        if rollouts.streaming:
            unrolls = collector.unrolls(rollouts.unrolls)
        else:
            unrolls = collector.whole_matches(rollouts.matches)
        self.decisions += unrolls.decisions
        self.matches += sum(tally.matches for tally in collector.tally.values()) - before
        if self.replay is not None:
            self.replay.add(unrolls)
        return unrolls

    def _remembered(self) -> Unrolls:
        assert self.replay is not None
        update = self.learner.update_count
        while not self.replay.ready(update):
            self._experience()
        return self.replay.sample(self.settings.replay.batch, update)

    def _counters(self) -> Values:
        values: Values = {
            "decisions": self.decisions,
            "matches": self.matches,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
        }
        if self.replay is not None:
            values["replay/size"] = len(self.replay)
        for number, tally in self.collector.tally.items():
            if number:
                values[f"return/{self.names[number - 1]}"] = tally.returns / tally.seats
        return values

    def games(self) -> Iterator[Row]:
        """Give what this iteration's ended matches came to, by opponent, with the ids played."""
        for number, tally in sorted(self.collector.tally.items()):
            name = self.names[number - 1] if number else SELF
            last = self.collector.next_match - 1
            yield name, tally.matches, tally.seats, tally.returns, self.first_match, last

    def state(self) -> dict[str, Any]:
        """Return everything the run depends on from here, and nothing that it does not."""
        learner = self.learner.state()
        # The rest of an optimiser's state is settings; the anchor is a file of the run.
        learner["optimiser"] = learner["optimiser"]["state"]
        references = dict(learner["references"])
        references["policies"] = {
            name: weights for name, weights in references["policies"].items() if name != "anchor"
        }
        if not self.settings.learning.uses("portfolio"):
            del references["portfolio"], references["score"]
        learner["references"] = references
        state = {
            "iteration": self.iteration,
            "decisions": self.decisions,
            "matches": self.matches,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "learner": learner,
            "collector": self.collector.save(),
        }
        return state if self.replay is None else state | {"replay": self.replay.save()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        for name in ("iteration", "decisions", "matches"):
            setattr(self, name, int(state[name]))
        self.cpu_seconds, self.wall_seconds = state["cpu_seconds"], state["wall_seconds"]
        learner, fresh = dict(state["learner"]), self.learner.state()
        learner["optimiser"] = {**fresh["optimiser"], "state": learner["optimiser"]}
        kept = {k: v for k, v in fresh["references"]["policies"].items() if k == "anchor"}
        policies = {**kept, **learner["references"]["policies"]}
        learner["references"] = {
            **fresh["references"],
            **learner["references"],
            "policies": policies,
        }
        self.learner.load_state(learner)
        self.collector.load(state["collector"])
        if self.replay is not None:
            self.replay.load(state["replay"])

    def refuse_broken(self) -> None:
        """Refuse weights that are no numbers, before they are saved as good ones."""
        for module in (self.learner.policy, self.learner.critic):
            for name, parameter in module.named_parameters():
                if not bool(torch.isfinite(parameter).all()):
                    raise BrokenLossError(
                        f"The weights {name} are no longer finite at update "
                        f"{self.learner.update_count}; lower the learning rate."
                    )


def prepare_torch(settings: RunSettings) -> None:
    """Set torch up so that the same run gives the same numbers."""
    torch.set_num_threads(settings.threads)
    # The same as use_deterministic_algorithms, which would load a compiler for two seconds first.
    torch.set_deterministic_debug_mode("error" if device_of(settings) == "cpu" else "default")
    # We never read memory that was not written; filling it costs time.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def device_of(settings: RunSettings) -> str:
    """Return where the networks run."""
    if settings.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return settings.device


def _anchor(settings: RunSettings, folder: Path) -> Policy | None:
    if not settings.supervised_digest:
        return None
    path = policy_path(folder, settings.supervised_digest)
    loaded = load_policy(path)
    refuse_other(path, loaded.digest, settings.supervised_digest)
    return loaded.policy.to(device_of(settings))
