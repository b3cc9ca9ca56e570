"""Trains a policy from its settings: iterate, judge, save; and resume where it ended.

Owns the order of things in a run and what a fault costs. Knows nothing of how an iteration works.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lanista.errors import RefusedError
from lanista.files import write_bytes
from lanista.learn.learner import BrokenLossError
from lanista.nets.policy_file import save_policy
from lanista.pipeline.evaluation import Evaluator, Judgement
from lanista.pipeline.iteration import Training, Values
from lanista.pipeline.observers import Observer, Observers
from lanista.pipeline.resolve import resolve
from lanista.pipeline.resume import resumed_settings
from lanista.pipeline.run import CONFIG, Run, create, policy_path
from lanista.pipeline.settings import RunSettings, fingerprint

__all__ = ["INTERRUPTED", "Training", "train"]

INTERRUPTED = 130


def train(
    settings: RunSettings,
    output: Path,
    *,
    resume: bool = False,
    checkpoint: Path | None = None,
    stop: Callable[[], bool] | None = None,
    observers: Sequence[Observer] = (),
) -> int:
    """Train to the end, or until `stop()`; return 0, or 130 when stopped with all saved.

    A run that is resumed, at its newest good checkpoint or at `checkpoint`, must be given settings
    that do not make it another run.
    """
    output = Path(output)
    if resume or checkpoint is not None:
        settings = resumed_settings(output, settings)
    else:
        settings, policies = resolve(settings)
        create(output, settings, policies, lambda folder: _first_state(settings, folder))
    with Run(output) as run:
        return _Trainer(run, settings, Observers(observers), stop or (lambda: False)).go(checkpoint)


def _first_state(settings: RunSettings, folder: Path) -> dict[str, Any]:
    """Return the state a run begins with; what cannot be used is refused before it begins."""
    training = Training(settings, folder)
    Evaluator(settings, training.spec, folder)
    return {"settings": fingerprint(settings), "rows": 0, "training": training.state()}


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
        if state["settings"] != fingerprint(self.settings):
            raise RefusedError(
                f"{self.run.folder / CONFIG} is not what the run was begun with: it was edited or "
                "is damaged; put it back as it was."
            )
        if self.settings.iterations < iteration:
            raise RefusedError(
                f"The run {self.run.folder} has done {iteration} iterations, and iterations is "
                f"{self.settings.iterations}; give at least {iteration}, or name an earlier "
                "checkpoint."
            )
        self.run.keep_settings(self.settings)
        training.load_state(state["training"])
        self.saved = iteration
        self.observers.started(self.settings, training.learner.update_count)
        said += self.run.forget_after(iteration, training.learner.update_count)
        if self.run.metrics.sum != state["rows"]:
            said.append(
                f"{self.run.metrics.path} is not what the run wrote: some of its numbers are "
                "damaged or missing. Training does not depend on them and goes on."
            )
        for sentence in [*said, self.evaluator.notice, self._exactness()]:
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

    def _exactness(self) -> str:
        """Return what a resumed run cannot promise, where that is so."""
        spec = self.training.spec
        if spec.abilities.restorable or not self.settings.rollouts.streaming:
            return ""
        return (
            f"{spec.name} cannot be saved in mid-match: a resumed run begins fresh matches, and "
            "is not exactly the unbroken one."
        )

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
            self.run.checkpoints.save(training.iteration, self._state())
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

    def _state(self) -> dict[str, Any]:
        """Return what a checkpoint holds; call it when all rows are written."""
        rows = self.run.metrics.sum
        state = self.training.state()
        return {"settings": fingerprint(self.settings), "rows": rows, "training": state}

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
