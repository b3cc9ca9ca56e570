"""`lanista run`: a whole pipeline from a recipe, or on with the one in a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import RECIPES, optional, switch
from lanista.cli.common.outputs import PIPELINE, Writes
from lanista.errors import LanistaError, RefusedError

if TYPE_CHECKING:
    from lanista.pipeline.recipe import Budget, PipelineRecipe

SET = tyro.conf.arg(name="set", metavar="KEY=VALUE ...", help_behavior_hint="(repeatable)")
RUNS = Path("runs")


@dataclass(frozen=True)
class RunCommand:
    """Do a whole pipeline: record, imitate, rl, league, evaluate, report.

    What is done is skipped, so the same command, or the folder alone, goes on after a stop."""

    recipe: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RECIPE_OR_FOLDER"), RECIPES]
    """A recipe's name, a file, or the folder of a pipeline to go on with."""
    output_dir: Annotated[Path | None, optional("FOLDER"), Writes(PIPELINE)] = None
    """Where everything goes; runs/RECIPE unless given."""
    budget: Annotated[str | None, optional("TIME")] = None
    """How long all of it may take, as 90s, 30m or 2h; turned into numbers once, when it begins."""
    settings: Annotated[tuple[tuple[str, ...], ...], SET, tyro.conf.UseAppendAction] = ()
    """Any setting, such as stages.rl.iterations=50."""
    slim: Annotated[bool, switch()] = False
    """Leave the replay and matches in flight out of the checkpoints of rl and league, so that the
    folder can be moved; the same as checkpoints.slim of these stages."""
    seed: Annotated[int | None, optional("N")] = None
    """Names everything that is random."""
    cpu: Annotated[bool, switch()] = False
    """Do not use a GPU."""

    def run(self) -> int:
        """Do what is due, say where things are, and return 0, or 130 when interrupted."""
        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.cli.train.stage_view import view
        from lanista.interrupt import stopping
        from lanista.pipeline.runner import conduct

        folder = self._folder()
        recipe = self._recipe(folder)
        refuse_unwritable_folder("--output-dir", folder)
        with view() as screen, stopping(screen.said) as stop:
            code = conduct(recipe, folder, audience=screen, stop=stop)
        if code:
            print(f"Interrupted, and saved; go on with: lanista run {folder}")
        else:
            say(recipe, folder)
        return code

    def _folder(self) -> Path:
        from lanista.pipeline.recipe import RECIPE
        from lanista.pipeline.recipes import find

        given = Path(self.recipe)
        if given.is_dir() and (given / RECIPE).is_file():
            if self.output_dir is not None and self.output_dir.resolve() != given.resolve():
                raise LanistaError(
                    f"{given} is a pipeline to go on with, and --output-dir names another folder; "
                    "leave that out."
                )
            return given
        self._refuse_run(given)
        folder = self.output_dir or RUNS / find(self.recipe).stem
        if folder.exists() and not folder.is_dir():
            raise LanistaError(f"--output-dir is {str(folder)!r}, which is a file; name a folder.")
        return folder

    def _refuse_run(self, given: Path) -> None:
        """Refuse the folder of a single run, which other commands go on with."""
        from lanista.pipeline.recipe import RECIPE
        from lanista.runs.layout import CONFIG, DATABASE

        if not ((given / CONFIG).is_file() and (given / DATABASE).is_file()):
            return
        if (given.resolve().parent / RECIPE).is_file():
            command = f"lanista run {given.parent}"
        elif given.suffix == ".run":
            command = f"lanista rl --output {given.with_suffix('')} --resume"
        else:
            command = f"lanista league --output-dir {given} --resume"
        raise LanistaError(
            f"{given} is the folder of a single run, not of a pipeline; go on with `{command}`."
        )

    def _recipe(self, folder: Path) -> PipelineRecipe:
        """Return the pipeline that the words on the command line ask for, settled."""
        from lanista.pipeline.budget import digest_of, read_budget, within
        from lanista.pipeline.recipe import RECIPE
        from lanista.pipeline.runner import saved_recipe

        seconds = None if self.budget is None else read_budget(self.budget)
        saved = saved_recipe(folder) if (folder / RECIPE).is_file() else None
        recipe = self._asked(folder)
        if saved is None:
            if seconds is None:
                return recipe
            print("Measuring how fast this machine is, to choose the numbers.", flush=True)
            return within(recipe, seconds)
        self._refuse_other_budget(folder, saved.budget, seconds)
        if saved.budget is None or recipe.budget is not None:
            return recipe
        if saved.budget.of != digest_of(recipe):
            raise RefusedError(
                f"The numbers in {folder} were chosen for a time budget and another recipe; go on "
                f"with `lanista run {folder}`, or choose another --output-dir."
            )
        return saved

    def _asked(self, folder: Path) -> PipelineRecipe:
        """Return the recipe, or what the folder has of it, with the flags put in."""
        from lanista.pipeline.preflight import refuse_unready
        from lanista.pipeline.recipe import RECIPE, load_recipe, read_recipe, with_overrides
        from lanista.pipeline.recipes import find
        from lanista.pipeline.resolve_recipe import settled

        given = Path(self.recipe)
        path = given / RECIPE if given.is_dir() and folder == given else find(self.recipe)
        overrides = [text for group in self.settings for text in group]
        if self.seed is not None:
            overrides.append(f"seed={self.seed}")
        if self.cpu:
            overrides.append("device=cpu")
        try:
            values = read_recipe(path)
            if self.slim:
                overrides += [f"{place}checkpoints.slim=true" for place in _runs_in(values)]
            recipe = settled(load_recipe(with_overrides(values, overrides)))
            refuse_unready(recipe, folder)
            return recipe
        except LanistaError as error:
            raise type(error)(f"{path}: {error}") from error

    def _refuse_other_budget(
        self, folder: Path, before: Budget | None, seconds: float | None
    ) -> None:
        if seconds is None or (before is not None and before.seconds == seconds):
            return
        was = "without a budget" if before is None else f"with one of {before.seconds:g} s"
        raise RefusedError(
            f"{folder} was begun {was}, and its numbers are settled; leave out --budget to go on, "
            "or choose another --output-dir."
        )


def _runs_in(values: dict[str, Any]) -> list[str]:
    """Return what the keys of each run in a recipe begin with."""
    from lanista.pipeline.recipe import is_pipeline

    if not is_pipeline(values):
        return [""]
    stages = values["stages"] if isinstance(values["stages"], dict) else {}
    return [f"stages.{name}." for name in ("rl", "league") if name in stages]


def say(recipe: PipelineRecipe, folder: Path) -> None:
    """Print what a finished pipeline came to, and where it is."""
    from lanista.pipeline.recipe import EVALUATION, REPORT

    if recipe.stages.evaluate:
        _say_evaluation(json.loads((folder / EVALUATION).read_text(encoding="utf-8")))
    if recipe.policy:
        print(f"policy: {folder / recipe.policy}")
    if recipe.stages.report:
        print(f"report: {folder / REPORT / 'report.html'}")


def _say_evaluation(found: dict[str, Any]) -> None:
    from lanista.cli.common.table import console, interval, table
    from lanista.evaluate.score import Estimate

    def shown(value: dict[str, Any] | None) -> str:
        return interval(None if value is None else Estimate(**value))

    rows = []
    for bout in found["bouts"]:
        standing = bout["standing"]
        counts = [f"{standing[name]:,}" for name in ("matches", "wins", "draws", "losses")]
        rows.append(
            [bout["opponent"], *counts, shown(standing["score"]), shown(standing["win_rate"])]
        )
    out = console()
    out.print(
        f"{found['game']}: {found['name']} ({found['digest'][:12]}), {found['manner']}; every deal "
        "in all seats\n[95 % intervals]: score over deals, wins/n Wilson's"
    )
    columns = ("opponent", "n", "wins", "draws", "losses", "score", "wins/n")
    out.print(table(columns, rows))
    if found["exact"]:
        out.print(f"exact NashConv: {found['exact']['value']:.4f}")
