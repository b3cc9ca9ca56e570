"""Training from a script: imitate, train, run a recipe, exploit. What is interrupted is saved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lanista.api.callbacks import Callbacks, OnNotice, OnStage, OnUpdate, say, watching
from lanista.api.players import PlayerLike, word_of
from lanista.api.results import ExploitResult, ImitationResult, PipelineResult, TrainingResult
from lanista.api.settings import Recipe, overrides, run_settings
from lanista.errors import LanistaError
from lanista.evaluation.lineup import game_played_by
from lanista.evaluation.score import Estimate
from lanista.exploiters.best_response import ResponseSettings, best_response
from lanista.interrupt import stopping
from lanista.output_paths import refuse_unwritable, refuse_unwritable_folder
from lanista.pipeline import recipes
from lanista.pipeline.budget import run_within
from lanista.pipeline.recipe import EVALUATION, REPORT, Imitating, PipelineRecipe
from lanista.pipeline.request import Request
from lanista.pipeline.runner import conduct
from lanista.pipeline.settings_summary import few_updates, summary
from lanista.pipeline.stage_learn import task_of
from lanista.runs.folder import folder_of
from lanista.runs.serialise import build
from lanista.training import loop
from lanista.training.imitate import imitate as do_imitate
from lanista.training.time_limit import TimeLimit

OnEpoch = Callable[[Mapping[str, float]], object]
"""Is called with the numbers of an epoch once it is saved."""


def recipe_names() -> list[str]:
    """Return the names of the recipes that come with the project."""
    return recipes.recipe_names()


def train(
    recipe: Recipe | None = None,
    *,
    output: str | Path,
    minutes: float | None = None,
    resume: bool = False,
    checkpoint: str | Path | None = None,
    on_update: OnUpdate | None = None,
    on_notice: OnNotice | None = None,
    verbose: bool = False,
    **settings: Any,
) -> TrainingResult:
    """Train a policy by reinforcement learning, or go on with a run, and return where it is.

    `recipe` is a recipe's name (`recipe_names()`), a settings file, a run folder, or a dict with
    the same keys; without it, settings are chosen by what is known of the `game`. `settings` change
    it, as `iterations=20, learning={"lr": 1e-3}`; a wrong one raises a `LanistaError` that names
    the nearest. `minutes` are turned into iterations once, by measuring the first few; where they
    turn out slower, the run ends in time all the same. The policy goes to `output`, its run folder
    is `output` + `.run`.

    `on_update(update, values)` is called after every update; if it returns True, the run is saved
    and ends. `on_notice(sentence)` hears what a user should know. `verbose` shows progress as the
    command line does. Ctrl-C ends the run after its iteration, saves it and raises
    KeyboardInterrupt; with `resume=True` the same call goes on, at the newest good checkpoint or at
    `checkpoint`.
    """
    output = Path(output)
    refuse_unwritable("--output", output)
    resume = resume or checkpoint is not None
    limit = None if minutes is None or resume else TimeLimit.of_minutes(minutes)
    chosen = run_settings(recipe, settings, output, resume=resume)
    if isinstance(recipe, str | Path) and (sentence := recipes.taken_from(str(recipe))):
        (on_notice or say)(sentence)
    if limit is not None:
        chosen = run_within(chosen, limit.left)
    if recipe is None and not resume:
        for sentence in filter(None, (summary(chosen), few_updates(chosen))):
            (on_notice or say)(sentence)
    with watching(on_update, on_notice, verbose=verbose) as (callbacks, observers, stop):
        code = loop.train(
            chosen,
            output,
            resume=resume,
            checkpoint=None if checkpoint is None else Path(checkpoint),
            stop=stop,
            observers=observers,
            limit=limit,
        )
    return TrainingResult(
        policy_path=output,
        folder=folder_of(output),
        digest=_digest(output),
        updates=callbacks.update,
        complete=code == 0 and not (limit and limit.cut),
        values=callbacks.values,
    )


def imitate(
    data_dir: str | Path | None = None,
    *,
    output: str | Path,
    game: str | None = None,
    game_settings: Mapping[str, Any] | None = None,
    resume: bool = False,
    device: str = "auto",
    threads: int = 0,
    on_epoch: OnEpoch | None = None,
    **settings: Any,
) -> ImitationResult:
    """Learn to play as recorded players did, write `output`, and return how near the clone comes.

    `data_dir` has replays, as `play(record=...)` writes them; `feedback_dir` has live feedback.
    `settings` are those of a recipe's imitate stage: `players`, `network`, `imitation`,
    `opponents`, `evaluation_matches`, `temperature` and so on, as
    `imitation={"epochs": 5}, network={"width": 64}`. `game` is for replays of a game from a Python
    file, and for a bot that plays where there are no replays (`imitation={"dagger": {"teacher":
    "kiter", "rounds": 4}}`), with `game_settings`. `device` is cpu, cuda, or auto: a GPU where
    there is one; `threads` 0: as many as torch takes. `on_epoch(values)` is called after every
    epoch. Ctrl-C saves and raises KeyboardInterrupt; `resume=True` goes on after the last epoch
    that was saved.
    """
    folders = {"data_dir": data_dir, **settings}
    stage = build(Imitating, {key: _word(value) for key, value in folders.items()})
    output = Path(output)
    refuse_unwritable("--output", output)
    task = task_of(
        stage, output, game=game, game_settings=game_settings, threads=threads, device=device
    )
    callbacks = Callbacks(None if on_epoch is None else _epoch_callback(on_epoch))
    try:
        done = do_imitate(
            task, resume=resume, stop=lambda: callbacks.stopped, observers=[callbacks]
        )
    finally:
        callbacks.raise_error()
    if done.interrupted:
        raise KeyboardInterrupt
    best = next(entry for entry in done.history if entry["epoch"] == done.best_epoch)
    return ImitationResult(
        output, done.digest, done.epochs, done.best_epoch, best["held_out_nll"],
        tuple(done.history), done.report, done.strength,
    )  # fmt: skip


def run(
    recipe: str | Path = "",
    *,
    game: str | None = None,
    output_dir: str | Path | None = None,
    budget: str | None = None,
    slim: bool = False,
    on_stage: OnStage | None = None,
    on_notice: OnNotice | None = None,
    **settings: Any,
) -> PipelineResult:
    """Do a whole pipeline: record, imitate, rl, league, evaluate, report; return what it made.

    `recipe` is a recipe's name, a file, or the folder of a pipeline to go on with; without one,
    `game` is learned by settings chosen for it. Everything goes to `output_dir`, `runs/RECIPE` or
    `runs/GAME` unless given. `settings` change the recipe, as
    `stages={"rl": {"iterations": 50}}, seed=1`. `budget` is how long all of it may take, as `30m`.
    `slim` leaves the replay buffer out of checkpoints, so that the folder can be moved.
    `on_stage(name)` is called when a stage begins, `on_notice(sentence)` with what a user should
    know. What is done is skipped, so the same call goes on after Ctrl-C, which saves and raises
    KeyboardInterrupt.
    """
    request = Request(
        recipe=str(recipe),
        output_dir=None if output_dir is None else Path(output_dir),
        budget=budget,
        overrides=overrides(settings),
        slim=slim,
        game=game,
    )
    tell = on_notice or say
    folder = request.folder()
    chosen = request.resolved(folder, tell)
    refuse_unwritable_folder("--output-dir", folder)
    callbacks = Callbacks(on_notice=tell, on_stage=on_stage)
    with stopping(tell) as interrupted:
        code = conduct(
            chosen,
            folder,
            observers=[callbacks],
            stop=lambda: callbacks.stopped or interrupted(),
        )
    callbacks.raise_error()
    if code:
        raise KeyboardInterrupt
    return _pipeline_result(chosen, folder)


def exploit(
    victim: PlayerLike,
    *,
    output: str | Path,
    game: str | None = None,
    game_settings: Mapping[str, Any] | None = None,
    recipe: Recipe | None = None,
    resume: bool = False,
    on_update: OnUpdate | None = None,
    on_notice: OnNotice | None = None,
    verbose: bool = False,
    **settings: Any,
) -> ExploitResult:
    """Train a best response to one frozen player, and measure it on deals it has never seen.

    `victim` is a policy, `champion:GAME`, a bot's name (with `game` and `game_settings`) or
    `file.py:Bot`. `settings` are `train_steps`, `responses`, `starts`, `games`, `threshold`,
    `unit`, `network`, `seed` and the others of `lanista exploit`; `recipe` has settings to train
    with. The response goes to `output`, its numbers to `output` + `.json`. Returns what the
    response scores and gains, and whether that is a ceiling or a lower bound. Ctrl-C saves and
    raises KeyboardInterrupt;
    `resume=True` goes on. `on_update` is called after every update; if it returns True, all is
    saved and a `LanistaError` says so. `on_notice` and `verbose` are those of `train`.
    """
    output, word = Path(output), word_of(victim)
    refuse_unwritable("--output", output)
    name, made_with = game_played_by(word, game, game_settings or {})
    values = {"game": name, "game_settings": made_with, "exact": True, **settings}
    if recipe is not None:
        values["base"] = run_settings(recipe, {}, output)
    chosen = build(ResponseSettings, _listed(values))
    if resume and not folder_of(output).is_dir():
        raise LanistaError(f"There is no run {folder_of(output)} to resume; leave out --resume.")
    with watching(on_update, on_notice, verbose=verbose) as (_, observers, stop):
        done = best_response(word, chosen, output, resume=resume, stop=stop, observers=observers)
    if done is None:
        raise LanistaError(f"The response to {word} was stopped, and saved; go on with resume.")
    record = done.record
    return ExploitResult(
        victim=word,
        policy_path=done.policy_path,
        digest=done.digest,
        score=Estimate(**record["score"]),
        gain=Estimate(**record["gain"]),
        exact_gain=record["exact_gain"],
        called=done.reading.called,
        admitted=done.admitted,
        record=record,
    )


def _epoch_callback(on_epoch: OnEpoch) -> OnUpdate:
    """Return a callback of updates that passes each epoch on; what it returns stops nothing."""

    def on_update(epoch: int, values: Mapping[str, float]) -> None:
        on_epoch({name: value for name, value in values.items() if name != "best_epoch"})

    return on_update


def _pipeline_result(recipe: PipelineRecipe, folder: Path) -> PipelineResult:
    stages = recipe.stages
    evaluation = None
    if stages.evaluate:
        evaluation = json.loads((folder / EVALUATION).read_text(encoding="utf-8"))
    return PipelineResult(
        folder=folder,
        stages=tuple(stages.names),
        policy_path=folder / recipe.policy if recipe.policy else None,
        evaluation=evaluation,
        report=folder / REPORT / "report.html" if stages.report else None,
    )


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _word(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _listed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values in which one start stands for a list of one."""
    starts = values.get("starts")
    return {**values, "starts": [starts]} if isinstance(starts, str) else dict(values)
