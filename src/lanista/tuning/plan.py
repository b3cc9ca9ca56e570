"""What a search is: recipe, mark, budget, seeds, space; kept in a file so that it can go on.

Makes a trial's settings from the recipe's. Owns the checks that come before anything runs. Knows
nothing of Optuna and of processes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from lanista.errors import LanistaError, RefusedError
from lanista.files import write_text
from lanista.pipeline.experiment import Job
from lanista.pipeline.timed_run import (
    LOOKS,
    Goal,
    TimedRun,
    goal_of,
    judged_by,
    judges_of,
    size_beside,
)
from lanista.runs.layout import DATABASE
from lanista.runs.marks import Mark, parse_mark
from lanista.runs.reader import RunReader
from lanista.runs.serialise import load, plain
from lanista.runs.settings import RunSettings, apply_overrides, differences
from lanista.tuning.space import Range, own_values, parse_space

PLAN = "tune.yaml"
FEWEST_CONFIRMED, MOST_CONFIRMED = 3, 10
"""Seeds: with fewer no difference can be shown, with more the exact test takes long."""
_PROBED_ITERATIONS = 4
MAY_GROW = ("trials", "confirm")
"""What a search that goes on may be given otherwise."""


@dataclass(frozen=True)
class Plan:
    """A search over settings."""

    name: str
    """What the user called the recipe or game."""
    recipe: RunSettings
    """What is searched around: the defaults."""
    mark: str
    """What runs are to reach."""
    space: Mapping[str, str]
    """Ranges by key, as they are written."""
    budget: float = 60.0
    """CPU seconds of training that a run may take."""
    trials: int = 20
    """How many settings are tried."""
    seeds: int = 2
    """Runs of a setting that is not stopped early: seeds 1, 2, …"""
    confirm: int = 3
    """Fresh seeds for the winner and for the recipe as it is."""
    seed: int = 0
    """Names what is random in the search."""
    iteration_seconds: float = 0.0
    """CPU seconds of an iteration of the recipe, measured when the search began."""
    untrained: float = 0.0
    """Uniform play's NashConv where that is the mark; else 0."""

    def __post_init__(self) -> None:
        for name in ("trials", "seeds"):
            if getattr(self, name) < 1:
                raise LanistaError(f"--{name} is {getattr(self, name)}; give at least 1.")
        if not FEWEST_CONFIRMED <= self.confirm <= MOST_CONFIRMED:
            raise LanistaError(
                f"--confirm is {self.confirm}; give {FEWEST_CONFIRMED} to {MOST_CONFIRMED} seeds: "
                "with fewer no difference can be shown."
            )

    @property
    def target(self) -> Mark:
        return parse_mark(self.mark)

    @property
    def ranges(self) -> dict[str, Range]:
        return parse_space(self.space)

    @property
    def defaults(self) -> dict[str, Any] | None:
        """The recipe's own values of what is searched; None: not all lie in the space."""
        return own_values(self.recipe, self.ranges)

    @property
    def bots(self) -> tuple[str, ...]:
        """Whom runs are evaluated against."""
        return judges_of(self.target, self.recipe)

    @property
    def goal(self) -> Goal:
        """What its runs are timed by."""
        return Goal(self.target, self.bots, self.budget, self.untrained)

    @property
    def search_seeds(self) -> range:
        return range(1, self.seeds + 1)

    @property
    def fresh_seeds(self) -> range:
        return range(self.seeds + 1, self.seeds + 1 + self.confirm)

    def settings(self, values: Mapping[str, Any]) -> RunSettings:
        """Return the recipe with some values put in: what a winner's file has."""
        return apply_overrides(
            self.recipe, [f"{key}={json.dumps(_rounded(value))}" for key, value in values.items()]
        )

    def run_settings(self, values: Mapping[str, Any], seed: int) -> RunSettings:
        """Return the settings of a run to be timed: evaluated by the mark alone, and often."""
        settings = self.settings(values)
        return replace(judged_by(self.target, settings, self._every(settings)), seed=seed)

    def _every(self, settings: RunSettings) -> int:
        """Return after how many iterations about a LOOKS-th of the budget is spent."""
        size = size_beside(settings, self.recipe)
        return round(self.budget / LOOKS / (self.iteration_seconds * size or self.budget))

    def timed_run(self, arm: str, values: Mapping[str, Any], seed: int, folder: Path) -> TimedRun:
        """Return a run of the recipe with some values put in, on its way to the mark."""
        return TimedRun(Job(arm, seed, self.run_settings(values, seed), folder), self.goal)

    def save(self, folder: Path) -> None:
        """Keep the plan in a search's folder."""
        folder.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(plain(self), sort_keys=False, allow_unicode=True)
        write_text(folder / PLAN, text)


def _rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def load_plan(folder: Path) -> Plan:
    """Return the plan in a search's folder."""
    from lanista.games import registry

    if not (folder / PLAN).is_file():
        raise LanistaError(f"{folder} holds no search to go on with; leave out --resume.")
    plan = load(Plan, folder / PLAN)
    recipe = plan.recipe
    # The folder may come from somebody else: what cannot be used or trusted is refused here.
    registry.spec_of(recipe.game, seed=recipe.seed, **recipe.game_settings)
    _refuse_impossible(plan)
    return plan


def resumed(saved: Plan, given: Mapping[str, Any], folder: Path) -> Plan:
    """Return a saved plan with what was given again; refuse what makes it another search."""
    if "recipe" in given:
        now_given = replace(given["recipe"], mark=saved.recipe.mark)  # The search has its own.
        for key, before, now in differences(saved.recipe, now_given):
            raise _other_search(folder, f"{key} of the recipe", before, now)
    for name in ("mark", "space", "budget", "seeds", "seed"):
        if name in given and given[name] != getattr(saved, name):
            raise _other_search(folder, f"--{name}", getattr(saved, name), given[name])
    return replace(saved, **{name: given[name] for name in MAY_GROW if name in given})


def _other_search(folder: Path, what: str, before: object, now: object) -> RefusedError:
    return RefusedError(
        f"The search in {folder} was begun with {what} {before!r}, and now it is {now!r}; leave it "
        "out, or name another --output."
    )


def checked(plan: Plan) -> Plan:
    """Return the plan with what is measured of its recipe; refuse what could not come to an end."""
    recipe = plan.recipe
    if recipe.league is not None:
        raise LanistaError(
            f"{plan.name} trains a league, whose strength grows with its pool; give a recipe with "
            "an rl stage."
        )
    _refuse_impossible(plan)
    goal = goal_of(plan.target, recipe, plan.budget, by="--mark", called=plan.name)
    with tempfile.TemporaryDirectory() as folder:
        # Whoever cannot be met and what cannot be measured is refused there.
        seconds = _iteration_seconds(plan, Path(folder))
    return replace(plan, iteration_seconds=seconds, untrained=goal.untrained)


def _refuse_impossible(plan: Plan) -> None:
    """Refuse a mark nobody reaches, and ranges with a value that settings cannot have."""
    parse_mark(plan.mark)
    for key, scope in plan.ranges.items():
        for value in scope.ends():
            try:
                plan.settings({key: value})
            except LanistaError as error:
                raise LanistaError(f"The range {scope} of {key}: {error}") from error


def _iteration_seconds(plan: Plan, folder: Path) -> float:
    """Train a few iterations of the recipe and return the CPU seconds of one."""
    from lanista.training.loop import train

    settings = replace(plan.run_settings({}, seed=0), iterations=_PROBED_ITERATIONS)
    settings = replace(settings, evaluation=replace(settings.evaluation, every=0))
    train(settings, folder / "probe.safetensors", folder=folder / "run", findings=False)
    with closing(RunReader(folder / "run" / DATABASE)) as run:
        seconds = [row.value or 0.0 for row in run.metric("cpu_seconds")]
    steps = settings.learner_updates
    # The first iteration loads what later ones have.
    return (seconds[-1] - seconds[steps - 1]) / (_PROBED_ITERATIONS - 1)
