"""Keeps the best evaluated policy of a run without a league, and says when it is handed over.

Owns the files of policies that were judged and the events about them. What is the best is decided
in `evaluation.best_policy`. Knows nothing of iterations and checkpoints.
"""

from __future__ import annotations

import hashlib

from lanista.evaluation.best_policy import BEST, OUTPUT, BestPolicy, Strength, best_body
from lanista.evaluation.evaluator import Judgement
from lanista.files import write_bytes
from lanista.nets.files.policy_file import load_policy, policy_bytes
from lanista.nets.policy import Policy
from lanista.runs.folder import Run, policy_path
from lanista.runs.schema import EventRow
from lanista.runs.settings import RunSettings
from lanista.training.loops import AnyLoop


class BestKeeper:
    """The best policy of a run, on disk and in the run's events."""

    def __init__(self, run: Run, settings: RunSettings) -> None:
        self.run = run
        self.on = settings.evaluation.keep_best and settings.league is None
        """Leagues promote by rules of their own."""
        self.judges_start = bool(
            self.on and settings.evaluation.every and settings.supervised_checkpoint
        )
        """Whether the policy that the run begins from is evaluated first."""
        self.best = BestPolicy()

    def load(self) -> str:
        """Read what the run's events say; return a sentence where the best policy is not there."""
        if not self.on:
            return ""
        best = BestPolicy()
        best.load(self.run.metrics)
        if best.digest and not (path := policy_path(self.run.folder, best.digest)).is_file():
            return (
                f"{path} is not there any more, the best policy, of update {best.update}; the best "
                "one is chosen among those from here on."
            )
        self.best = best
        return ""

    def judged(self, judgement: Judgement, main: AnyLoop, update: int, *, last: bool) -> str:
        """Keep the judged policy if it is the best, or go back to the best one.

        Returns a sentence where something should be said; of what is handed over only if this was
        the `last` evaluation.
        """
        strength = Strength.of(judgement)
        if not self.on or strength is None:
            return ""
        if self.best.challenged(strength):
            try:
                digest = self._kept(judgement, main, update)
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                return f"The best policy, of update {update}, could not be kept: {why}."
            self._event(EventRow(update, BEST, main.name, best_body(digest, strength)))
            return ""
        outdone = self.best.outdone(strength)
        if outdone != self.best.handed_over:
            body = {"digest": self.best.digest if outdone else ""}
            self._event(EventRow(update, OUTPUT, main.name, body))
        if not (outdone and last):
            return ""
        weaker = "weaker" if strength.exact else "significantly weaker"
        return (
            f"{self.run.output.name} is the policy of update {self.best.update} with "
            f"{self.best.strength}; the last one, of update {update}, is {weaker} with "
            f"{strength} and stays in the run's checkpoint (evaluation.keep_best)."
        )

    def output(self, main: AnyLoop, update: int) -> tuple[Policy, int]:
        """Return the policy to hand over, and the update it is of."""
        if not self.best.handed_over:
            return main.learner.best, update
        path = policy_path(self.run.folder, self.best.digest)
        return load_policy(path, main.spec).policy, self.best.update

    def _event(self, event: EventRow) -> None:
        self.run.metrics.add_rows([event])
        self.best.apply(event)

    def _kept(self, judgement: Judgement, main: AnyLoop, update: int) -> str:
        """Return the digest of the judged policy, whose file is there from now on."""
        data = judgement.policy or policy_bytes(main.learner.best, main.spec, step=update)
        digest = hashlib.sha256(data).hexdigest()
        path = policy_path(self.run.folder, digest)
        if not path.is_file():
            write_bytes(path, data)
        return digest
