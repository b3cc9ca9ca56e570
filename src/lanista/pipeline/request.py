"""A pipeline as somebody asks for it: a recipe with overrides and a budget, or a folder to resume.

Owns where its folder is and what may change when it goes on. Knows nothing of how a stage is done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError, RefusedError
from lanista.pipeline.budget import digests_of, read_budget, within
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
from lanista.pipeline.resolve_recipe import settled
from lanista.pipeline.runner import saved_recipe
from lanista.runs.layout import CONFIG, DATABASE

RUNS = Path("runs")


@dataclass(frozen=True)
class Request:
    """What is to be done, and where."""

    recipe: str
    """A recipe's name, a file, or the folder of a pipeline to go on with."""
    output_dir: Path | None = None
    """Where everything goes; runs/RECIPE unless given."""
    budget: str | None = None
    """How long all of it may take, as 90s, 30m or 2h."""
    overrides: tuple[str, ...] = ()
    """`key=value` each, such as stages.rl.iterations=50."""
    slim: bool = False
    """Leave the replay and matches in flight out of the checkpoints of rl and league."""

    def folder(self) -> Path:
        """Return the pipeline's folder, there or not yet."""
        path = Path(self.recipe)
        if path.is_dir() and (path / RECIPE).is_file():
            if self.output_dir is not None and self.output_dir.resolve() != path.resolve():
                raise LanistaError(
                    f"{path} is a pipeline to go on with, and --output-dir names another folder; "
                    "leave that out."
                )
            return path
        _refuse_run(path)
        folder = self.output_dir or RUNS / find(self.recipe).stem
        if folder.exists() and not folder.is_dir():
            raise LanistaError(f"--output-dir is {str(folder)!r}, which is a file; name a folder.")
        return folder

    def resolved(self, folder: Path, say: Callable[[str], None]) -> PipelineRecipe:
        """Return the pipeline with every number chosen; `say` hears what takes a while."""
        seconds = None if self.budget is None else read_budget(self.budget)
        saved = saved_recipe(folder) if (folder / RECIPE).is_file() else None
        recipe = self._asked(folder)
        if saved is None:
            if seconds is None:
                return recipe
            say("Measuring how fast this machine is, to choose the numbers.")
            return within(recipe, seconds)
        _refuse_other_budget(folder, saved.budget, seconds)
        if saved.budget is None or recipe.budget is not None:
            return recipe
        if saved.budget.of not in digests_of(recipe):
            raise RefusedError(
                f"The numbers in {folder} were chosen for a time budget and another recipe; go on "
                f"with `lanista run {folder}`, or choose another --output-dir."
            )
        return saved

    def _asked(self, folder: Path) -> PipelineRecipe:
        """Return the recipe, or what the folder has of it, with the overrides put in."""
        recipe_path = Path(self.recipe)
        path = (
            recipe_path / RECIPE
            if recipe_path.is_dir() and folder == recipe_path
            else find(self.recipe)
        )
        overrides = list(self.overrides)
        try:
            values = read_recipe(path)
            if self.slim:
                overrides += [f"{place}checkpoints.slim=true" for place in _runs_in(values)]
            recipe = settled(load_recipe(with_overrides(values, overrides)))
            refuse_unready(recipe, folder)
            return recipe
        except LanistaError as error:
            raise type(error)(f"{path}: {error}") from error


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
