"""A pipeline as somebody asks for it: a recipe with overrides and a budget, or a folder to resume.

Owns where its folder is and what may change when it goes on. Knows nothing of how a stage is done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError, RefusedError
from lanista.games import registry
from lanista.pipeline.budget import digests_of, read_budget, too_short, within
from lanista.pipeline.defaults import default_recipe
from lanista.pipeline.preflight import refuse_unready
from lanista.pipeline.recipe import (
    RECIPE,
    Budget,
    PipelineRecipe,
    is_pipeline,
    load_recipe,
    read_recipe,
    with_overrides,
)
from lanista.pipeline.recipes import find
from lanista.pipeline.regret_rule import leaves_regrets
from lanista.pipeline.resolve_recipe import settled
from lanista.pipeline.runner import saved_recipe
from lanista.pipeline.settings_summary import few_updates, summary
from lanista.runs.layout import CONFIG, DATABASE
from lanista.runs.settings import on_cluster

RUNS = Path("runs")


@dataclass(frozen=True)
class Request:
    """What is to be done, and where."""

    recipe: str = ""
    """A recipe's name, a file, or the folder of a pipeline to go on with; empty: give `game`."""
    output_dir: Path | None = None
    """Where everything goes; runs/RECIPE unless given."""
    budget: str | None = None
    """How long all of it may take, as 90s, 30m or 2h."""
    overrides: tuple[str, ...] = ()
    """`key=value` each, such as stages.rl.iterations=50."""
    slim: bool = False
    """Leave the replay and matches in flight out of the checkpoints of rl and league."""
    game: str | None = None
    """Instead of a recipe: a game, whose settings are chosen by what is known of it."""
    cluster: bool = False
    """Let the workers of its runs play on the machines of a cluster."""

    def __post_init__(self) -> None:
        if bool(self.recipe) == (self.game is not None):
            raise LanistaError("Give a recipe or --game: one of them, and not both.")
        if registry.is_python_file(self.recipe):
            raise LanistaError(
                f"{self.recipe} is a Python file and no recipe; for the game in it write "
                f"--game {self.recipe}."
            )

    def folder(self) -> Path:
        """Return the pipeline's folder, there or not yet."""
        path = Path(self.recipe)
        if self.recipe and path.is_dir() and (path / RECIPE).is_file():
            if self.output_dir is not None and self.output_dir.resolve() != path.resolve():
                raise LanistaError(
                    f"{path} is a pipeline to go on with, and --output-dir names another folder; "
                    "leave that out."
                )
            return path
        if self.recipe:
            _refuse_run(path)
        folder = self.output_dir or RUNS / self._name
        if folder.exists() and not folder.is_dir():
            raise LanistaError(f"--output-dir is {str(folder)!r}, which is a file; name a folder.")
        return folder

    @property
    def _name(self) -> str:
        if self.game is None:
            return find(self.recipe).stem
        return re.sub(r"\W+", "-", Path(self.game).stem).strip("-")

    def resolved(self, folder: Path, say: Callable[[str], None]) -> PipelineRecipe:
        """Return the pipeline with every number chosen; `say` hears what takes a while."""
        seconds = None if self.budget is None else read_budget(self.budget)
        saved = saved_recipe(folder) if (folder / RECIPE).is_file() else None
        recipe = self._asked(folder)
        if saved is None:
            if seconds is not None:
                say("Measuring how fast this machine is, to choose the numbers.")
                recipe = within(recipe, seconds)
            for sentence in self._about(recipe):
                say(sentence)
            return self._placed(recipe, say)
        _refuse_other_budget(folder, saved.budget, seconds)
        if saved.budget is None or recipe.budget is not None:
            return self._placed(recipe, say)
        if saved.budget.of not in digests_of(recipe):
            raise RefusedError(
                f"The numbers in {folder} were chosen for a time budget and another recipe; go on "
                f"with `lanista run {folder}`, or choose another --output-dir."
            )
        return self._placed(saved, say)

    def _placed(self, recipe: PipelineRecipe, say: Callable[[str], None]) -> PipelineRecipe:
        """Return the recipe with the workers of its runs on the cluster, if that is wanted."""
        for stage in ("rl", "league") if self.cluster else ():
            if (values := getattr(recipe.stages, stage)) is None:
                continue
            settings, notice = on_cluster(recipe.run_settings(stage))
            rollouts = {**values.get("rollouts", {}), "launcher": settings.rollouts.launcher}
            stages = recipe.stages.with_run(stage, {**values, "rollouts": rollouts})
            recipe = replace(recipe, stages=stages)
            if notice:
                say(notice)
        return recipe

    def _asked(self, folder: Path) -> PipelineRecipe:
        """Return the recipe, or what the folder has of it, with the overrides put in."""
        if self.game is not None:
            chosen = default_recipe(self.game, *self._of_game(), regrets=self._regrets())
            recipe = settled(load_recipe(self._changed(chosen)))
            refuse_unready(recipe, folder)
            return recipe
        recipe_path = Path(self.recipe)
        path = (
            recipe_path / RECIPE
            if recipe_path.is_dir() and folder == recipe_path
            else find(self.recipe)
        )
        try:
            recipe = settled(load_recipe(self._changed(read_recipe(path))))
            refuse_unready(recipe, folder)
            return recipe
        except LanistaError as error:
            raise type(error)(f"{path}: {error}") from error

    def _of_game(self) -> tuple[Mapping[str, Any], int]:
        """Return the game's settings and the seed that the overrides name."""
        words = [word for word in self.overrides if word.startswith(("game_settings", "seed="))]
        named = with_overrides({"game_settings": {}, "seed": 0}, words)
        return named["game_settings"], named["seed"]

    def _regrets(self) -> bool:
        """Whether nothing is asked for that regret learning has no use for."""
        words = [word.removeprefix("stages.rl.") for word in self.overrides]
        other = ("stages.", "shares")
        return not self.cluster and leaves_regrets(w for w in words if not w.startswith(other))

    def _changed(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return a recipe's values with the overrides put in."""
        overrides = list(self.overrides)
        if self.slim:
            overrides += [f"{place}checkpoints.slim=true" for place in _runs_in(values)]
        return with_overrides(values, overrides)

    def _about(self, recipe: PipelineRecipe) -> list[str]:
        """Return what a user should know of numbers that were chosen for them."""
        if self.game is None and self.budget is None:
            return []
        if recipe.last_run is None:
            return [sentence for sentence in [too_short(recipe.budget)] if sentence]
        settings = recipe.run_settings(recipe.last_run)
        sentences = [too_short(recipe.budget), few_updates(settings)]
        if self.game is not None:
            sentences.insert(0, summary(settings))
        return [sentence for sentence in sentences if sentence]


def _refuse_run(path: Path) -> None:
    """Refuse the folder of a single run, which other commands go on with."""
    if not ((path / CONFIG).is_file() and (path / DATABASE).is_file()):
        return
    if (path.resolve().parent / RECIPE).is_file():
        command = f"lanista run {path.parent}"
    elif path.suffix == ".run":
        command = f"lanista rl --output {path.with_suffix('')} --resume"
    else:
        command = f"lanista league --output-dir {path} --resume"
    raise LanistaError(
        f"{path} is the folder of a single run, not of a pipeline; go on with `{command}`."
    )


def _refuse_other_budget(folder: Path, before: Budget | None, seconds: float | None) -> None:
    if seconds is None or (before is not None and before.seconds == seconds):
        return
    was = "without a budget" if before is None else f"with one of {before.seconds:g} s"
    raise RefusedError(
        f"{folder} was begun {was}, and its numbers are settled; leave out --budget to go on, "
        "or choose another --output-dir."
    )


def _runs_in(values: dict[str, Any]) -> list[str]:
    """Return what the keys of each run in a recipe begin with."""
    if not is_pipeline(values):
        return [""]
    stages = values["stages"] if isinstance(values["stages"], dict) else {}
    return [f"stages.{name}." for name in ("rl", "league") if name in stages]
