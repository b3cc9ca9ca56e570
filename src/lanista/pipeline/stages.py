"""The stages of a pipeline, in order; and the last of them, which writes the report."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from lanista.pipeline.recipe import EVALUATION, POLICIES, REPORT, PipelineRecipe, run_folder
from lanista.pipeline.stage import Stage, Stop
from lanista.pipeline.stage_learn import imitate_stage, is_whole, run_stage
from lanista.pipeline.stage_play import evaluate_stage, record_stage
from lanista.report.exports import write_report
from lanista.report.reading import read_run
from lanista.training.observers import Observer


def report_stage(recipe: PipelineRecipe) -> Stage:
    """Return the stage that writes the report of the last run."""
    last = recipe.last_run
    assert last is not None
    folder = Path(run_folder(last))

    def work(observer: Observer, stop: Stop) -> bool:
        is_whole(last)  # Refuses one that was taken away since; its stage is done and skipped.
        evaluation = Path(EVALUATION) if recipe.stages.evaluate else None
        write_report(read_run(folder), Path(REPORT), evaluation=evaluation, pipeline=Path())
        return True

    read = [POLICIES[last], *([EVALUATION] if recipe.stages.evaluate else [])]
    settings = {"of": str(folder), "updates": recipe.run_settings(last).updates}
    return Stage("report", settings, tuple(read), (REPORT,), (), work)


_MAKERS: dict[str, Callable[[PipelineRecipe], Stage]] = {
    "record": record_stage,
    "imitate": imitate_stage,
    "rl": partial(run_stage, name="rl"),
    "league": partial(run_stage, name="league"),
    "evaluate": evaluate_stage,
    "report": report_stage,
}


def stages_of(recipe: PipelineRecipe) -> list[Stage]:
    """Return the stages of a settled pipeline, in order."""
    return [_MAKERS[name](recipe) for name in recipe.stages.names]
