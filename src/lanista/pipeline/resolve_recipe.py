"""Settles a pipeline before it begins: defaults are written out, the user's files get whole paths.

Knows nothing of how a stage is done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lanista.games import registry
from lanista.pipeline.recipe import DATA, TOP, WORDS, Imitating, PipelineRecipe
from lanista.runs.serialise import SettingsError, plain
from lanista.runs.settings import SELF


def settled(recipe: PipelineRecipe) -> PipelineRecipe:
    """Return the pipeline with every default written out, and every file of the user's absolute.

    Stages run inside the pipeline's folder and name its files without a path, so that nothing in
    their tables depends on where the folder lies. Settling twice changes nothing.
    """
    entry = registry.entry(recipe.game)
    game_settings = {
        name: _absolute(value) if name.endswith("_path") and value else value
        for name, value in registry.check_settings(entry, recipe.game_settings).items()
    }
    game = _absolute(recipe.game) if recipe.game.endswith(".py") else recipe.game
    recipe = replace(recipe, game=game, game_settings=game_settings)
    place = _Placed(set(registry.all_bot_names(entry)) | {SELF, "all"})
    stages = recipe.stages
    if stages.record:
        seats = tuple(",".join(map(place.word, lineup)) for lineup in stages.record.lineups())
        stages = replace(stages, record=replace(stages.record, seats=seats))
    if stages.imitate:
        stages = replace(stages, imitate=_imitating(recipe, stages.imitate))
    for name in ("rl", "league"):
        if getattr(stages, name) is not None:
            stages = stages.with_run(name, _running(recipe, name, place))
    if stages.evaluate:
        _refuse_nobody(recipe, "evaluate")
        opponents = tuple(map(place.word, stages.evaluate.opponents))
        stages = replace(stages, evaluate=replace(stages.evaluate, opponents=opponents))
    if stages.report and recipe.last_run is None:
        raise SettingsError("stages.report has no run to report on; add an rl or league stage.")
    return replace(recipe, stages=stages)


@dataclass(frozen=True)
class _Placed:
    names: set[str]

    def word(self, word: str) -> str:
        """Return a player's word as it is understood inside the folder."""
        if word in self.names or word in WORDS.values():
            return word
        return WORDS.get(word) or _absolute(word)


def _absolute(file: str) -> str:
    """Return the whole path of a file or folder that is there, and anything else as it is."""
    return str(Path(file).resolve()) if Path(file).exists() else file


def _imitating(recipe: PipelineRecipe, stage: Imitating) -> Imitating:
    if not recipe.has_recordings and stage.imitation.dagger.teacher is None:
        raise SettingsError(
            "stages.imitate has nothing to learn from; add a record stage, or set data_dir, "
            "feedback_dir or imitation.dagger.teacher."
        )
    folders: dict[str, Any] = {
        name: _absolute(folder)
        for name in ("data_dir", "feedback_dir", "reports_live_dir")
        if (folder := getattr(stage, name)) and folder != DATA
    }
    if recipe.stages.record is not None and stage.data_dir is None:
        folders["data_dir"] = DATA
    return replace(stage, **folders)


def _running(recipe: PipelineRecipe, stage: str, place: _Placed) -> dict[str, Any]:
    """Return the settings of a run as they are written into the folder's recipe."""
    settings = recipe.run_settings(stage)
    values: dict[str, Any] = plain(settings)
    for opponent in values["rollouts"]["opponents"]:
        opponent["player"] = place.word(opponent["player"])
    values["evaluation"]["bots"] = [place.word(word) for word in values["evaluation"]["bots"]]
    start = values["supervised_checkpoint"]
    values["supervised_checkpoint"] = place.word(start) if start else None
    return {
        name: value
        for name, value in values.items()
        if name not in TOP or value != getattr(recipe, name)
    }


def _refuse_nobody(recipe: PipelineRecipe, stage: str) -> None:
    if recipe.policy_before(stage) is None:
        raise SettingsError(f"stages.{stage} has no policy before it; add an imitate or rl stage.")
