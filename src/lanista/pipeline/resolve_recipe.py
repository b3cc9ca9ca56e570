"""Settles a pipeline before it begins: defaults are written out, the user's files get whole paths.

Knows nothing of how a stage is done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lanista.games import registry
from lanista.pipeline.recipe import DATA, TOP, WORDS, Imitating, Story
from lanista.runs.serialise import SettingsError, plain
from lanista.runs.settings import SELF


def settled(story: Story) -> Story:
    """Return the pipeline with every default written out, and every file of the user's absolute.

    Stages run inside the pipeline's folder and name its files without a path, so that nothing in
    their tables depends on where the folder lies. Settling twice changes nothing.
    """
    found = registry.entry(story.game)
    game_settings = {
        name: _absolute(value) if name.endswith("_path") and value else value
        for name, value in registry.check_settings(found, story.game_settings).items()
    }
    game = _absolute(story.game) if story.game.endswith(".py") else story.game
    story = replace(story, game=game, game_settings=game_settings)
    place = _Placed(set(registry.bot_names(found)) | {SELF, "all"})
    stages = story.stages
    if stages.record:
        seats = tuple(",".join(map(place.word, each)) for each in stages.record.lineups())
        stages = replace(stages, record=replace(stages.record, seats=seats))
    if stages.imitate:
        stages = replace(stages, imitate=_imitating(story, stages.imitate))
    for name in ("rl", "league"):
        if getattr(stages, name) is not None:
            stages = stages.with_run(name, _running(story, name, place))
    if stages.evaluate:
        _refuse_nobody(story, "evaluate")
        opponents = tuple(map(place.word, stages.evaluate.opponents))
        stages = replace(stages, evaluate=replace(stages.evaluate, opponents=opponents))
    if stages.report and story.last_run is None:
        raise SettingsError("stages.report has no run to report on; add an rl or league stage.")
    return replace(story, stages=stages)


@dataclass(frozen=True)
class _Placed:
    known: set[str]

    def word(self, word: str) -> str:
        """Return a player's word as it is understood inside the folder."""
        if word in self.known or word in WORDS.values():
            return word
        return WORDS.get(word) or _absolute(word)


def _absolute(file: str) -> str:
    """Return the whole path of a file or folder that is there, and anything else as it is."""
    return str(Path(file).resolve()) if Path(file).exists() else file


def _imitating(story: Story, given: Imitating) -> Imitating:
    if given.data_dir is None and given.feedback_dir is None and story.stages.record is None:
        raise SettingsError(
            "stages.imitate has nothing to learn from; add a record stage, or set data_dir or "
            "feedback_dir."
        )
    folders: dict[str, Any] = {
        name: _absolute(folder)
        for name in ("data_dir", "feedback_dir", "reports_live_dir")
        if (folder := getattr(given, name)) and folder != DATA
    }
    if story.stages.record is not None and given.data_dir is None:
        folders["data_dir"] = DATA
    return replace(given, **folders)


def _running(story: Story, stage: str, place: _Placed) -> dict[str, Any]:
    """Return the settings of a run as they are written into the folder's recipe."""
    settings = story.run_settings(stage)
    values: dict[str, Any] = plain(settings)
    for opponent in values["rollouts"]["opponents"]:
        opponent["player"] = place.word(opponent["player"])
    values["evaluation"]["bots"] = [place.word(word) for word in values["evaluation"]["bots"]]
    start = values["supervised_checkpoint"]
    values["supervised_checkpoint"] = place.word(start) if start else None
    return {
        name: value
        for name, value in values.items()
        if name not in TOP or value != getattr(story, name)
    }


def _refuse_nobody(story: Story, stage: str) -> None:
    if story.policy_before(stage) is None:
        raise SettingsError(f"stages.{stage} has no policy before it; add an imitate or rl stage.")
