"""Where recipes are found, and what `lanista rl` does without one.

A recipe is the settings file of a run or of a whole pipeline; those that come with the program are
named without folder and suffix.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from lanista.errors import LanistaError, nearest
from lanista.installed_files import shared_folders
from lanista.learn.settings import Learning
from lanista.pipeline.recipe import RECIPE, PipelineRecipe, is_pipeline, load_recipe, read_recipe
from lanista.runs.serialise import SettingsError
from lanista.runs.settings import Replay, Rollouts, RunSettings, load_settings


def alphastar(game: str = "arena", *, anchored: bool = True) -> RunSettings:
    """Return the AlphaStar recipe: V-trace, TD(λ), UPGO, and KL to the supervised policy.

    `behaviour` is its trust region: V-trace has none, and with advantages of one size a single
    update can leave everything that was learned.
    """
    terms = {"policy": 1.0, "value": 0.5, "upgo": 1.0, "entropy": 0.001, "behaviour": 0.5}
    if anchored:
        terms["anchor_forward"] = 0.1
    return RunSettings(
        game=game,
        iterations=200,
        learner_updates=2,
        learning=Learning(policy="vtrace", terms=terms, lam=0.95, gamma=0.998),
        rollouts=Rollouts(mode="stream", unrolls=64, unroll_length=64),
        replay=Replay(size=512, minimum=64, batch=64, staleness=20),
    )


def folders() -> list[Path]:
    """Return where the program's own recipes may lie: beside its source, or where pip put them."""
    return shared_folders("recipes")


def recipe_names() -> list[str]:
    """Return the names of the program's own recipes."""
    return sorted({path.stem for folder in folders() for path in folder.glob("*.yaml")})


def about_recipe(path: Path) -> str:
    """Return the first sentence of the remark that a recipe begins with."""
    lines = itertools.takewhile(
        lambda line: line.startswith("# "), path.read_text(encoding="utf-8").splitlines()
    )
    return re.split(r"(?<=\.) ", " ".join(line[2:] for line in lines), maxsplit=1)[0]


def find(word: str) -> Path:
    """Return the file that `word` names: itself, that of a run or pipeline folder, or a recipe."""
    path = Path(word)
    for name in (RECIPE, "config.yaml"):
        if (path / name).is_file():
            return path / name
    if path.is_file():
        return path
    for folder in folders():
        if (folder / f"{word}.yaml").is_file():
            return folder / f"{word}.yaml"
    raise LanistaError(
        f"{word!r} is neither a settings file nor a run folder nor a recipe; "
        f"{nearest(word, recipe_names())}"
    )


def settings_of(word: str, stage: str = "rl") -> RunSettings:
    """Return the settings of a run that `word` names; of a pipeline, those of its rl stage.

    Where that has none, the league stage stands in for it, and the other way round.
    """
    path = find(word)
    values = read_recipe(path)
    if not is_pipeline(values):
        _refuse_plan(path, values)
        return load_settings(path)
    try:
        recipe = load_recipe(values)
        return recipe.run_settings(_stage(recipe, stage), start=None)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def taken_from(word: str, stage: str = "rl") -> str:
    """Return a sentence about the stage whose settings `settings_of` takes; empty: of no pipeline.

    A user may not know that the file is a pipeline's, and would miss what earlier stages make.
    """
    values = read_recipe(find(word))
    if not is_pipeline(values):
        return ""
    recipe = load_recipe(values)
    chosen = _stage(recipe, stage)
    sentence = f"Taken is the stage {chosen} of the pipeline {word}"
    before = recipe.stages.names[: recipe.stages.names.index(chosen)]
    if not before:
        return f"{sentence}."
    return (
        f"{sentence} alone: what its earlier stages make ({', '.join(before)}) is not there; "
        "`lanista run` does them all."
    )


def _stage(recipe: PipelineRecipe, stage: str) -> str:
    there = [name for name in (stage, "rl", "league") if name in recipe.stages.names]
    if not there:
        names = ", ".join(recipe.stages.names)
        raise SettingsError(f"a pipeline of {names} has no rl stage; use `lanista run`.")
    return there[0]


def _refuse_plan(path: Path, values: object) -> None:
    """Name the command that turns another program's plan into settings, where a file is one."""
    if not isinstance(values, Mapping):
        return
    foreign = {str(name) for name in values} - {field.name for field in fields(RunSettings)}
    if not foreign:
        return
    from lanista.importers.formats import plan_of  # Formats of others load where one is suspected.

    if foreign <= plan_of(values).names:
        raise SettingsError(
            f"{path} is a plan of another program; make settings of it with "
            f"`lanista config import {path} --output FILE`."
        )
