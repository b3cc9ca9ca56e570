"""The stages that learn: imitation, reinforcement learning, the league.

Each is a run that goes on from its newest checkpoint. Knows nothing of how learning works.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lanista.errors import RefusedError
from lanista.pipeline.recipe import POLICIES, Imitating, PipelineRecipe, run_folder
from lanista.pipeline.stage import (
    Stage,
    Stop,
    common_inputs,
    game_file,
    policy_files,
)
from lanista.runs.checkpoints import Checkpoints
from lanista.runs.folder import folder_of
from lanista.runs.layout import CONFIG, DATABASE
from lanista.runs.serialise import plain
from lanista.runs.settings import RunSettings, may_change
from lanista.training.imitate import CHECKPOINTS, Task, imitate
from lanista.training.imitation_numbers import json_path
from lanista.training.loop import train
from lanista.training.observers import Observer

_OTHER_RESULTS = ("iterations", "evaluation")
"""What may change in a run and yet changes what a stage makes: how long it learns, and the
opponents by which a league promotes a policy."""


def imitate_stage(recipe: PipelineRecipe) -> Stage:
    """Return the stage that learns to play as others did."""
    stage = recipe.stages.imitate
    assert stage is not None
    output = Path(POLICIES["imitate"])
    game, settings = recipe.game, recipe.game_settings
    task = task_of(
        stage, output, game=game, game_settings=settings, threads=1, device=recipe.device
    )

    def work(observer: Observer, stop: Stop) -> bool:
        run = folder_of(output)
        if run.exists() and not Checkpoints(run / CHECKPOINTS).numbers():
            shutil.rmtree(run)  # Killed before anything was learned.
        try:
            done = imitate(task, resume=run.exists(), stop=stop, observers=[observer])
            return not done.interrupted
        except KeyboardInterrupt:
            if stop():
                return False
            raise

    folders = (stage.data_dir, stage.feedback_dir, stage.reports_live_dir)
    reads = (*game_file(recipe), *(folder for folder in folders if folder))
    makes = (str(output), str(json_path(output)))
    settings = common_inputs(recipe) | plain(stage)
    return Stage("imitate", settings, reads, makes, (str(folder_of(output)),), work)


def task_of(
    stage: Imitating,
    output: Path,
    *,
    game: str | None,
    game_settings: Mapping[str, Any] | None = None,
    threads: int,
    device: str,
) -> Task:
    """Return what imitation is to do, from the settings of its stage.

    `game_settings` count where a teacher plays: recorded matches bring their own.
    """
    data, feedback, reports = (
        None if folder is None else Path(folder)
        for folder in (stage.data_dir, stage.feedback_dir, stage.reports_live_dir)
    )
    return Task(
        output=output,
        data_dir=data,
        feedback_dir=feedback,
        reports_live_dir=reports,
        players=stage.players,
        irrelevant=stage.irrelevant,
        network=stage.network,
        imitation=stage.imitation,
        game=game,
        game_settings={} if data or feedback else dict(game_settings or {}),
        opponents=stage.opponents,
        evaluation_matches=stage.evaluation_matches,
        temperature=stage.temperature,
        threads=threads,
        device=device,
    )


def run_stage(recipe: PipelineRecipe, name: str) -> Stage:
    """Return the stage `rl` or `league`."""
    settings, output = recipe.run_settings(name), Path(POLICIES[name])
    folder = Path(run_folder(name))

    def work(observer: Observer, stop: Stop) -> bool:
        code = train(
            settings,
            output,
            folder=folder,
            resume=is_whole(name),
            stop=stop,
            observers=[observer],
        )
        return code == 0

    reads = (*game_file(recipe), *_files(settings))
    makes, keeps = (str(output),), (str(folder),)
    inputs = _run_inputs(settings)
    return Stage(name, inputs, reads, makes, keeps, work, grows="iterations", free=_free)


def is_whole(name: str) -> bool:
    """Return whether the run of the stage `rl` or `league` is there; False: nothing of it is.

    One of which a part was taken away is refused, with what to move so that it is done again.
    """
    folder, output = Path(run_folder(name)), Path(POLICIES[name])
    if all((folder / file).is_file() for file in (CONFIG, DATABASE)):
        return True
    leftovers = [output] if output.exists() else []
    leftovers += [folder] if folder.is_dir() and any(folder.iterdir()) else []
    if not leftovers:
        return False
    moved = " and ".join(str(Path.cwd() / path) for path in leftovers)
    raise RefusedError(
        f"There is no whole run in {Path.cwd() / folder} any more; move {moved} away, and the "
        f"stage {name} is done again."
    )


def _free(key: str) -> bool:
    """Whether a setting of a run may change without making the stage's results other ones."""
    return may_change(key) and key.partition(".")[0] not in _OTHER_RESULTS


def _run_inputs(settings: RunSettings) -> dict[str, Any]:
    return {name: value for name, value in plain(settings).items() if not _free(name)}


def _files(settings: RunSettings) -> list[str]:
    """Return the policy files that a run begins from or meets."""
    start = settings.supervised_checkpoint
    words = [*([start] if start else []), *settings.opponents, *settings.evaluation.bots]
    return policy_files(words)
