"""The search's memory and its choices: Optuna's study in a SQLite file, TPE and ASHA.

The only module that knows Optuna. Trials are numbers and values here; what is run for them is the
business of `search`.
"""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from lanista.errors import LanistaError
from lanista.tuning.space import Range, Space

STUDY = "study.db"
REDUCTION = 3
"""ASHA: of those that come to a rung, one in so many goes on."""
RUNGS = (1, 3)
"""Rungs within a run of the first seed, in parts of `WHOLE`: a ninth and a third of the budget."""
WHOLE = 9
"""The step of a whole run; that of two seeds is twice as many, and so on."""
State = Literal["done", "stopped", "failed"]
_LOST, _STATE, _RUNS, _WHY = "lost", "state", "runs", "why"


@dataclass(frozen=True)
class Record:
    """A trial that has ended."""

    number: int
    values: Mapping[str, Any]
    state: State
    cost: float | None
    """The mean over its runs; of a stopped one as far as it came."""
    runs: tuple[Mapping[str, Any], ...]
    """Of each seed: seed, seconds (None: the mark was not reached), best, cost."""
    why: str = ""


def optuna() -> ModuleType:
    """Return Optuna, quiet; refuse in a sentence where it is missing."""
    try:
        import optuna as module
    except ImportError as error:
        raise LanistaError(
            "lanista tune needs Optuna, which is not installed; run pip install 'lanista[tune]'."
        ) from error
    module.logging.set_verbosity(module.logging.WARNING)
    return module


class Study:
    """A study in a folder."""

    def __init__(self, folder: Path, space: Space, *, seed: int, parallel: bool) -> None:
        """Open the folder's study, or begin one; `parallel`: several trials are out at once."""
        self.optuna = optuna()
        self.path = folder / STUDY
        self.distributions = {key: _distribution(self.optuna, it) for key, it in space.items()}
        self.storage, self.study = self._opened()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self.optuna.exceptions.ExperimentalWarning)
            # A search that goes on must not draw again what it drew first.
            self.study.sampler = self.optuna.samplers.TPESampler(
                seed=seed + len(self.study.trials), constant_liar=parallel
            )
        self.out: dict[int, Any] = {}
        """Trials that are being run, by number."""

    def _opened(self) -> tuple[Any, Any]:
        from sqlalchemy.exc import DatabaseError

        # By its path: in a URL some letters of a folder's name mean something else.
        creator = partial(sqlite3.connect, self.path, check_same_thread=False)
        self._refuse_damaged()
        try:
            storage = self.optuna.storages.RDBStorage(
                f"sqlite:///{STUDY}", engine_kwargs={"creator": creator}
            )
            return storage, self.optuna.create_study(
                storage=storage,
                study_name="lanista tune",
                direction="minimize",
                load_if_exists=True,
                pruner=self.optuna.pruners.SuccessiveHalvingPruner(
                    min_resource=RUNGS[0], reduction_factor=REDUCTION
                ),
            )
        except DatabaseError as error:
            raise self._unreadable(error.orig) from error

    def _refuse_damaged(self) -> None:
        """Read every page: one damaged far inside would end a search in the middle."""
        connection = sqlite3.connect(self.path)
        try:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.DatabaseError as error:
            raise self._unreadable(error) from error
        finally:
            connection.close()
        if verdict != "ok":
            raise self._unreadable(" ".join(verdict.split()))

    def _unreadable(self, reason: object) -> LanistaError:
        return LanistaError(
            f"{self.path} cannot be read as a study of a search ({reason}); move it away to begin "
            "a new search."
        )

    def close(self) -> None:
        """Let go of the file."""
        self.storage.remove_session()
        self.storage.engine.dispose()

    def enqueue(self, values: Mapping[str, Any]) -> None:
        """Have these values tried next."""
        self.study.enqueue_trial(dict(values))

    def try_lost_again(self) -> None:
        """Put what a killed search was running back in the queue."""
        running = self.study.get_trials(states=(self.optuna.trial.TrialState.RUNNING,))
        for trial in running:
            self.storage.set_trial_user_attr(trial._trial_id, _LOST, True)
            self.study.tell(trial.number, state=self.optuna.trial.TrialState.FAIL)
            if trial.params:
                self.enqueue(trial.params)

    @property
    def empty(self) -> bool:
        """Whether nothing was tried or queued yet."""
        return not self.study.get_trials(deepcopy=False)

    def ask(self) -> tuple[int, dict[str, Any]]:
        """Begin a trial; return its number and values."""
        trial = self.study.ask(self.distributions)
        self.out[trial.number] = trial
        return trial.number, dict(trial.params)

    def hopeless(self, number: int, step: int, cost: float) -> bool:
        """Record what a trial costs at a step; return whether ASHA stops it there."""
        self.out[number].report(cost, step)
        return bool(self.out[number].should_prune())

    def end(self, record: Record) -> None:
        """Record how a trial ended; one that failed has cost more than any that did not."""
        trial, states = self.out.pop(record.number), self.optuna.trial.TrialState
        trial.set_user_attr(_STATE, record.state)
        trial.set_user_attr(_RUNS, json.dumps([dict(run) for run in record.runs]))
        trial.set_user_attr(_WHY, record.why)
        if record.state == "done":
            self.study.tell(trial, record.cost)
        else:
            self.study.tell(trial, state=states.PRUNED)

    def records(self) -> list[Record]:
        """Return the trials that have ended, by number; those lost in a kill are left out."""
        return [
            self._record(trial)
            for trial in self.study.get_trials(deepcopy=False)
            if trial.state.is_finished() and _LOST not in trial.user_attrs
        ]

    def best(self) -> Record | None:
        """Return the trial that costs least of those run with all seeds; None: there is none."""
        whole = [record for record in self.records() if record.state == "done"]
        return min(whole, key=lambda record: record.cost or 0.0, default=None)

    def _record(self, trial: Any) -> Record:
        attributes = trial.user_attrs
        try:
            runs = tuple(json.loads(attributes[_RUNS]))
            state, why = attributes[_STATE], attributes[_WHY]
        except (KeyError, TypeError, ValueError) as error:
            raise LanistaError(
                f"Trial {trial.number} in {self.path} was not written by lanista tune; move the "
                "file away to begin a new search."
            ) from error
        return Record(trial.number, dict(trial.params), state, trial.value, runs, why)


def _distribution(optuna: ModuleType, scope: Range) -> Any:
    if scope.kind == "choice":
        return optuna.distributions.CategoricalDistribution(scope.choices)
    low, high = scope.ends()
    log = scope.kind.startswith("log")
    if scope.whole:
        return optuna.distributions.IntDistribution(low, high, log=log)
    return optuna.distributions.FloatDistribution(low, high, log=log)
