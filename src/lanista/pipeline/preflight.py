"""Looks before a pipeline begins whether its game, players and device can be had here.

What is missing is said before the first stage and before anything is written. Knows nothing of how
a stage is done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import chdir, nullcontext
from pathlib import Path

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.pipeline.recipe import POLICIES, RECIPE, PipelineRecipe
from lanista.pipeline.runner import RECORDS, saved_recipe
from lanista.runs.players import player_of
from lanista.runs.settings import SELF
from lanista.training.collector_factory import device_of, refuse_graphs, refuse_without_gpu

_GIVEN = {SELF, "all", *POLICIES.values()}
"""Words for players that are always there, or that a stage before makes."""


def refuse_unready(recipe: PipelineRecipe, folder: Path) -> None:
    """Refuse a settled pipeline whose game cannot be made, or a player that is not there.

    Stages that `folder` has finished need nothing any more while the recipe stays the same. Words
    are read as in that folder.
    """
    same = (folder / RECIPE).is_file() and saved_recipe(folder) == recipe
    done = [name for name in recipe.stages.names if same and _finished(folder, name)]
    due = [name for name in recipe.stages.names if name in _WORDS and name not in done]
    if not due:
        return
    _refuse_devices(recipe, due)
    checked: set[str] = set()
    with chdir(folder) if folder.is_dir() else nullcontext():
        spec = registry.spec_of(recipe.game, seed=recipe.seed, **recipe.game_settings)
        for name in due:
            for word in dict.fromkeys(_WORDS[name](recipe)):
                if word in _GIVEN or word in checked:
                    continue
                try:
                    player_of(recipe.game, word, spec, recipe.seed)
                except LanistaError as error:
                    raise type(error)(f"stages.{name}: {error}") from error
                checked.add(word)


def _refuse_devices(recipe: PipelineRecipe, due: Iterable[str]) -> None:
    """Refuse a stage that learns on a GPU, or records work for one, where there is none."""
    for name in due:
        try:
            if name in ("rl", "league"):
                settings = recipe.run_settings(name)
                device_of(settings)
                refuse_graphs(settings)
            elif name == "imitate" and recipe.device == "cuda":
                refuse_without_gpu()
        except LanistaError as error:
            raise LanistaError(f"stages.{name}: {error}") from error


def _finished(folder: Path, stage: str) -> bool:
    try:
        record = json.loads((folder / RECORDS / f"{stage}.json").read_text(encoding="utf-8"))
        return "outputs" in record
    except (OSError, ValueError, TypeError):
        return False  # One that is damaged is refused when its stage is looked at.


def _recorded(recipe: PipelineRecipe) -> list[str]:
    assert recipe.stages.record is not None
    return [word for players in recipe.stages.record.lineups() for word in players]


def _imitated(recipe: PipelineRecipe) -> list[str]:
    assert recipe.stages.imitate is not None
    return list(recipe.stages.imitate.opponents)


def _met(recipe: PipelineRecipe, stage: str) -> list[str]:
    settings = recipe.run_settings(stage)
    start = settings.supervised_checkpoint
    return [*([start] if start else []), *settings.opponents, *settings.evaluation.bots]


def _judges(recipe: PipelineRecipe) -> list[str]:
    assert recipe.stages.evaluate is not None
    return list(recipe.stages.evaluate.opponents)


_WORDS: Mapping[str, Callable[[PipelineRecipe], list[str]]] = {
    "record": _recorded,
    "imitate": _imitated,
    "rl": lambda recipe: _met(recipe, "rl"),
    "league": lambda recipe: _met(recipe, "league"),
    "evaluate": _judges,
}
"""Whom each stage that plays needs."""
