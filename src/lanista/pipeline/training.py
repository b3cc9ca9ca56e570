"""Trains a policy from its settings: make experience, learn, judge, save; resume where it ended.

`Training` is everything a run carries from one iteration to the next; its state is what a
checkpoint holds. Nothing that affects learning reads the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from lanista.data.replay_buffer import ReplayBuffer
from lanista.data.trajectory import Unrolls
from lanista.files import write_bytes
from lanista.games import registry
from lanista.learn.learner import PRECISIONS, BrokenLossError, Learner
from lanista.nets.policy import Policy
from lanista.nets.policy_file import load_policy, save_policy
from lanista.pipeline.evaluation import Evaluator, Judgement
from lanista.pipeline.metrics import Row
from lanista.pipeline.observers import Observer, Observers
from lanista.pipeline.players import make_player, others, seating_of
from lanista.pipeline.resolve import resolve
from lanista.pipeline.run import Run, create, folder_of, policy_path
from lanista.pipeline.settings import SELF, RunSettings
from lanista.rollout.actor import Actor
from lanista.rollout.collect import Collector

INTERRUPTED = 130
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


def train(
    settings: RunSettings,
    output: Path,
    *,
    resume: bool = False,
    checkpoint: Path | None = None,
    stop: Callable[[], bool] | None = None,
    observers: Sequence[Observer] = (),
) -> int:
    """Train to the end, or until `stop()`; return 0, or 130 when stopped with all saved."""
    output = Path(output)
    if not resume and checkpoint is None:
        settings, policies = resolve(settings)
        create(output, settings, policies, lambda folder: _first_state(settings, folder))
    with Run(output) as run:
        return _Trainer(run, settings, Observers(observers), stop or (lambda: False)).go(checkpoint)


def _first_state(settings: RunSettings, folder: Path) -> dict[str, Any]:
    """Return the state a run begins with; what cannot be used is refused before it begins."""
    training = Training(settings, folder)
    Evaluator(settings, training.spec, folder)
    return training.state()


class _Trainer:
    """One process's work on a run."""

    def __init__(
        self, run: Run, settings: RunSettings, observers: Observers, stop: Callable[[], bool]
    ) -> None:
        self.run, self.settings, self.observers, self.stop = run, settings, observers, stop
        self.training = Training(settings, run.folder)
        self.evaluator = Evaluator(settings, self.training.spec, run.folder)
        self.saved = -1

    def go(self, checkpoint: Path | None) -> int:
        training = self.training
        iteration, state, said = self.run.state(checkpoint)
        training.load_state(state)
        self.saved = iteration
        self.observers.started(self.settings, training.learner.update_count)
        said += self.run.forget_after(iteration, training.learner.update_count)
        for sentence in [*said, self.evaluator.notice]:
            self._say(sentence)
        try:
            return self._iterations()
        except BrokenLossError as error:
            raise BrokenLossError(
                f"{error} The last good checkpoint is {self.run.checkpoints.path(self.saved)}."
            ) from error
        finally:
            self.run.metrics.try_flush()
            self.observers.ended()

    def _iterations(self) -> int:
        training, total = self.training, self.settings.iterations
        while training.iteration < total:
            last: tuple[int, Values] | None = None
            for number, values in training.iterate():
                if last is not None:
                    self._log(*last)
                last = number, values
            assert last is not None
            self._log(last[0], last[1] | self._evaluate())
            self.run.metrics.add_rows("training_games", last[0], training.games())
            stopping = self.stop()
            if stopping or self._due(self.settings.checkpoints.save_every):
                self._save(must=stopping or training.iteration >= total)
            if stopping and training.iteration < total:
                return INTERRUPTED
        self._write_output()
        return 0

    def _due(self, every: int) -> bool:
        iteration = self.training.iteration
        return iteration % every == 0 or iteration >= self.settings.iterations

    def _evaluate(self) -> Values:
        every = self.settings.evaluation.every
        if not every or not self._due(every):
            return {}
        learner = self.training.learner
        found = self.evaluator.measure(learner.best, learner.update_count)
        self._keep_matches(found)
        if found.score is not None:
            learner.evaluated(found.score)
        return found.values

    def _keep_matches(self, found: Judgement) -> None:
        """Keep an evaluation's matches, and first the policy that their rows name."""
        if not found.rows:
            return
        update = self.training.learner.update_count
        try:
            write_bytes(policy_path(self.run.folder, found.digest), found.policy)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            self._say(
                f"The policy of update {update} could not be kept: {why}; the matches it was "
                "judged by are left out of the run's database."
            )
            return
        self.run.metrics.add_rows("matches", update, found.rows)

    def _log(self, number: int, values: Values) -> None:
        self.run.metrics.add(number, values)
        self.observers.updated(number, values)

    def _save(self, must: bool) -> None:
        """Save the run; a disk that is full now may not be at the next save."""
        training, asked = self.training, self.settings.checkpoints
        training.refuse_broken()
        try:
            self.run.metrics.flush()
            self.run.checkpoints.save(training.iteration, training.state())
            self.saved = training.iteration
            self.run.checkpoints.keep(asked.keep_last, asked.keep_every)
            self._write_output()
        except OSError as error:
            if must:
                raise
            why = (error.strerror or str(error)).lower()
            self._say(
                f"Iteration {training.iteration} could not be saved: {why}; the run goes on and "
                f"tries again after {asked.save_every} more."
            )

    def _write_output(self) -> None:
        training = self.training
        save_policy(
            self.run.output,
            training.learner.best,
            training.spec,
            name=self.run.output.stem,
            parents=[self.settings.supervised_digest] if self.settings.supervised_digest else [],
            step=training.learner.update_count,
        )

    def _say(self, sentence: str) -> None:
        if sentence:
            self.run.metrics.say(self.training.learner.update_count, sentence)
            self.observers.said(sentence)


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
    return load_policy(policy_path(folder, settings.supervised_digest)).policy


__all__ = ["INTERRUPTED", "Training", "folder_of", "train"]
