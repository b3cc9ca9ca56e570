"""`lanista run`: a whole pipeline from a recipe, or on with the one in a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import CLUSTER, GAMES, RECIPES, optional, switch
from lanista.cli.common.outputs import PIPELINE, Writes
from lanista.cli.train.tracker_flags import TensorBoardFolder, WandbProject

if TYPE_CHECKING:
    from lanista.pipeline.recipe import PipelineRecipe
    from lanista.pipeline.request import Request

SET = tyro.conf.arg(name="set", metavar="KEY=VALUE ...", help_behavior_hint="(repeatable)")


@dataclass(frozen=True)
class RunCommand:
    """Do a whole pipeline: record, imitate, rl, league, evaluate, report.

    Instead of a recipe, --game has settings chosen for the game: it trains, evaluates and reports.
    What is done is skipped, so the same command, or the folder alone, goes on after a stop."""

    recipe: Annotated[tyro.conf.Positional[str], optional("[RECIPE_OR_FOLDER]"), RECIPES] = ""
    """A recipe's name, a file, or the folder of a pipeline to go on with; or give --game."""
    game: Annotated[str | None, optional("GAME"), GAMES] = None
    """Instead of a recipe: a game's name, family:NAME, or a Python file."""
    output_dir: Annotated[Path | None, optional("FOLDER"), Writes(PIPELINE)] = None
    """Where everything goes; runs/RECIPE (or runs/GAME) unless given."""
    budget: Annotated[str | None, optional("TIME")] = None
    """How long all of it may take, as 90s, 30m or 2h; turned into numbers once, when it begins."""
    settings: Annotated[tuple[tuple[str, ...], ...], SET, tyro.conf.UseAppendAction] = ()
    """Any setting, such as stages.rl.iterations=50."""
    slim: Annotated[bool, switch()] = False
    """Leave the replay and matches in flight out of the checkpoints of rl and league, so that the
    folder can be moved; the same as checkpoints.slim of these stages."""
    seed: Annotated[int | None, optional("N")] = None
    """Random seed."""
    cpu: Annotated[bool, switch()] = False
    """Do not use a GPU."""
    view: Annotated[bool, switch()] = False
    """Serve the pages of `lanista view` over the folder meanwhile, and print their address."""
    cluster: Annotated[str | None, CLUSTER] = None
    """Play on the machines of a Ray cluster: auto is that of this machine; see
    docs/guides/cluster.md. Changes no number."""
    tensorboard: TensorBoardFolder = None
    """Mirror the numbers there for TensorBoard, a folder for each stage that learns."""
    wandb: WandbProject = None
    """Mirror the numbers to a project of Weights & Biases, a run for each stage that learns
    (WANDB_MODE=offline works too)."""

    def run(self) -> int:
        """Do what is due, say where things are, and return 0, or 130 when interrupted."""
        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.cli.train.pages import pages_beside
        from lanista.cli.train.stage_view import view
        from lanista.cluster.session import using
        from lanista.interrupt import stopping
        from lanista.pipeline.runner import conduct
        from lanista.training.trackers import Trackers

        request = self._request()
        folder = request.folder()
        recipe = request.resolved(folder, say=lambda sentence: print(sentence, flush=True))
        refuse_unwritable_folder("--output-dir", folder)
        pages = pages_beside(folder, self.view)
        with using(self.cluster), pages, view() as screen, stopping(screen.message) as stop:
            trackers = Trackers(self.tensorboard, self.wandb)
            observers = [screen, *trackers.of(folder, screen.message)]
            code = conduct(recipe, folder, observers=observers, stop=stop, name_setting=self._typed)
        if code:
            print(f"Interrupted, and saved; go on with: lanista run {folder}")
        else:
            say(recipe, folder)
        if self.view:
            print(f"pages: lanista view {folder}")
        return code

    def _typed(self, key: str) -> str:
        """Return what the user typed for a setting of the recipe; its key where it is in a file."""
        from lanista.cli.common.resumed import flag_of

        flags = {} if self.seed is None else {"seed": "--seed"}
        words = [text for group in self.settings for text in group]
        # A recipe of a single run has no stages, and the keys of its one stage.
        own = key.removeprefix("stages.rl.").removeprefix("stages.league.")
        return flag_of(key, flags, words) or flag_of(own, {}, words) or key

    def _request(self) -> Request:
        from lanista.cluster.session import LOCAL, checked
        from lanista.pipeline.request import Request

        named = self.cluster is not None and checked(self.cluster) != LOCAL
        overrides = [text for group in self.settings for text in group]
        if self.seed is not None:
            overrides.append(f"seed={self.seed}")
        if self.cpu:
            overrides.append("device=cpu")
        return Request(
            self.recipe, self.output_dir, self.budget, tuple(overrides), self.slim, self.game, named
        )


def say(recipe: PipelineRecipe, folder: Path) -> None:
    """Print what a finished pipeline came to, and where it is."""
    from lanista.pipeline.recipe import EVALUATION, REPORT

    if recipe.stages.evaluate:
        _say_evaluation(json.loads((folder / EVALUATION).read_text(encoding="utf-8")))
    if recipe.policy:
        print(f"policy: {folder / recipe.policy}")
    if recipe.stages.report:
        print(f"report: {folder / REPORT / 'report.html'}")


def _say_evaluation(evaluation: dict[str, Any]) -> None:
    from lanista.cli.common.table import console, interval, table
    from lanista.evaluation.score import Estimate

    def shown(value: dict[str, Any] | None) -> str:
        return interval(None if value is None else Estimate(**value))

    rows = []
    many = any(bout["standing"].get("first_place") for bout in evaluation["bouts"])
    for bout in evaluation["bouts"]:
        standing = bout["standing"]
        counts = [f"{standing[name]:,}" for name in ("matches", "wins", "draws", "losses")]
        rates = ["score", "win_rate", *["first_place"] * many]
        rows.append([bout["opponent"], *counts, *(shown(standing.get(name)) for name in rates)])
    out = console()
    out.print(
        f"{evaluation['game']}: {evaluation['name']} ({evaluation['digest'][:12]}), "
        f"{evaluation['manner']}; every deal in all seats\n"
        "[95 % intervals]: score over deals, wins/n Wilson's"
    )
    columns = ["opponent", "n", "wins", "draws", "losses", "score", "wins/n"]
    out.print(table([*columns, *["first place"] * many], rows))
    if evaluation["exact"]:
        out.print(f"exact NashConv: {evaluation['exact']['value']:.4f}")
