"""`lanista tune`: searches a recipe's settings by time to strength, and says if that was worth it.

Reads flags and shows how far the search is. Knows nothing of how trials are run.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import GAMES, RECIPES, optional, switch
from lanista.cli.common.outputs import TUNING, Writes
from lanista.errors import LanistaError, RefusedError
from lanista.time_left import duration

if TYPE_CHECKING:
    from lanista.pipeline.timed_run import TimedRun
    from lanista.runs.settings import RunSettings
    from lanista.tuning.confirm import Arm
    from lanista.tuning.plan import Plan
    from lanista.tuning.study import Record, Study

SEARCH = tyro.conf.arg(metavar="KEY=RANGE ...", help_behavior_hint="(repeatable)")
SET = tyro.conf.arg(name="set", metavar="KEY=VALUE ...", help_behavior_hint="(repeatable)")
LINE_SECONDS = 30.0


@dataclass(frozen=True)
class Tune:
    """Search settings that reach a strength in the least CPU time.

    Trials are runs of their own, and hopeless ones are stopped early (ASHA). The winner is then
    compared with the recipe as it is, on fresh seeds."""

    output: Annotated[Path, tyro.conf.arg(metavar="FOLDER"), Writes(TUNING)]
    """Where the search goes: its trials, trials.csv and winner.yaml."""
    recipe: Annotated[tyro.conf.Positional[str], optional("[RECIPE]"), RECIPES] = ""
    """A recipe's name or a settings file; of a pipeline, its stage rl. Or give --game."""
    game: Annotated[str | None, optional("GAME"), GAMES] = None
    """Instead of a recipe: a game's name, family:NAME, or a Python file, with the settings that
    `lanista rl --game` chooses for it."""
    mark: Annotated[str | None, optional("MARK")] = None
    """What runs are to reach: nash_conv<=X, score:BOT>=X, or score>=X for the mean over the bots
    they are evaluated against; scores by the lower bound of their interval. The recipe's own mark
    unless given."""
    budget: Annotated[str | None, optional("TIME")] = None
    """CPU seconds of training that one run may take, as 90s, 30m or 2h; 60s unless given."""
    trials: Annotated[int | None, optional("N")] = None
    """How many settings are tried; 20 unless given."""
    seeds: Annotated[int | None, optional("N")] = None
    """Runs of a setting that is not stopped early; 2 unless given."""
    confirm: Annotated[int | None, optional("N")] = None
    """Fresh seeds on which the winner meets the defaults, 3 to 10; 3 unless given."""
    search: Annotated[tuple[tuple[str, ...], ...], SEARCH, tyro.conf.UseAppendAction] = ()
    """What is searched, such as learning.lr=log:1e-4..1e-2, learning.epochs=int:1..4 or
    learning.minibatches=choice:2,4,8; chosen by the recipe and printed unless given."""
    space: Annotated[Path | None, optional("FILE")] = None
    """The same in a YAML file."""
    settings: Annotated[tuple[tuple[str, ...], ...], SET, tyro.conf.UseAppendAction] = ()
    """Any setting of the recipe, for all trials and the defaults."""
    jobs: Annotated[int | None, optional("N")] = None
    """How many runs go on side by side; as many as there are cores unless given."""
    seed: Annotated[int | None, optional("N")] = None
    """Names what is random in the search; 0 unless given."""
    cpu: Annotated[bool, switch()] = False
    """Do not use a GPU."""
    resume: Annotated[bool, switch()] = False
    """Go on with the search in FOLDER; more --trials or another --confirm may be given, and what
    else is given again must be as it was."""

    def run(self) -> int:
        """Search, confirm, print the table and the sentence; return 0, or 130 when interrupted."""
        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.cli.main import INTERRUPTED
        from lanista.cluster.tasks import cores
        from lanista.pipeline.experiment import held
        from lanista.tuning.plan import PLAN
        from lanista.tuning.study import optuna

        optuna()  # What is missing should not wait until a recipe was measured.
        if self.jobs is not None and self.jobs < 1:
            raise LanistaError(f"--jobs is {self.jobs}; give at least 1.")
        if not self.resume and (self.output / PLAN).exists():
            raise RefusedError(f"{self.output} holds a search; add --resume to go on with it.")
        plan = self._resumed() if self.resume else self._new()
        refuse_unwritable_folder("--output", self.output)
        _say_plan(plan)
        try:
            with held(self.output) as lock:
                plan.save(self.output)
                return _run(plan, self.output, lock, self.jobs or cores())
        except KeyboardInterrupt:
            more = _command("tune", "--resume", "--output", self.output)
            print(f"Interrupted; go on with: {more}")
            return INTERRUPTED

    def _new(self) -> Plan:
        from lanista.tuning.plan import Plan, checked
        from lanista.tuning.space import default_space

        given = self._given()
        if "recipe" not in given:
            raise LanistaError("tune needs a recipe, or --game GAME.")
        given = self._marked(given)
        if "space" not in given:
            ranges = default_space(given["recipe"])
            given["space"] = {key: str(scope) for key, scope in ranges.items()}
        print("Measuring an iteration of the recipe.", file=sys.stderr, flush=True)
        return checked(Plan(**given))

    def _resumed(self) -> Plan:
        from lanista.tuning.plan import load_plan, resumed

        return resumed(load_plan(self.output), self._given(), self.output)

    @staticmethod
    def _marked(given: dict[str, Any]) -> dict[str, Any]:
        """Return what of a plan is given, with the recipe's own mark unless there is another."""
        from lanista.runs.marks import parse_mark

        mark = given.get("mark") or given["recipe"].mark
        if mark is None:
            raise LanistaError("tune needs --mark, such as nash_conv<=0.05 or score:BOT>=0.6.")
        return {**given, "mark": str(parse_mark(mark, "mark"))}

    def _given(self) -> dict[str, Any]:
        """Return what of a plan the flags give."""
        from lanista.pipeline.budget import read_budget
        from lanista.runs.marks import parse_mark

        given: dict[str, Any] = {}
        if self.mark is not None:
            given["mark"] = str(parse_mark(self.mark))
        if self.recipe or self.game:
            given |= {"name": self.recipe or self.game, "recipe": self._recipe()}
        elif self.settings or self.cpu:
            flag = "--set" if self.settings else "--cpu"
            raise LanistaError(f"{flag} changes a recipe, and none was given; name it too.")
        if self.budget is not None:
            given["budget"] = read_budget(self.budget)
        if self.search or self.space:
            given["space"] = self._space()
        for name in ("trials", "seeds", "confirm", "seed"):
            if getattr(self, name) is not None:
                given[name] = getattr(self, name)
        return given

    def _recipe(self) -> RunSettings:
        """Return the settings that are searched around."""
        from lanista.pipeline.defaults import default_settings
        from lanista.pipeline.recipes import settings_of, taken_from
        from lanista.pipeline.regret_rule import leaves_regrets
        from lanista.runs.settings import apply_overrides

        if self.recipe and self.game:
            raise LanistaError(f"A recipe and --game {self.game} were given; leave one out.")
        words = [word for group in self.settings for word in group]
        if self.cpu:
            words.append("device=cpu")
        if self.game:
            varied = [*words, *(self._space() if self.search or self.space else ())]
            regrets = leaves_regrets(varied)
            return apply_overrides(default_settings(self.game, regrets=regrets), words)
        if notice := taken_from(self.recipe):
            print(notice, file=sys.stderr, flush=True)
        return apply_overrides(settings_of(self.recipe), words)

    def _space(self) -> dict[str, str]:
        from lanista.runs.serialise import read_yaml
        from lanista.tuning.space import parse_words, read_space

        if self.search and self.space:
            raise LanistaError("--search and --space both say what is searched; leave one out.")
        words = [word for group in self.search for word in group]
        if self.space is not None:
            ranges = read_space(read_yaml(self.space), str(self.space))
        else:
            ranges = parse_words(words)
        return {key: str(scope) for key, scope in ranges.items()}


def _run(plan: Plan, folder: Path, lock: int, at_once: int) -> int:
    from contextlib import closing

    from lanista.tuning.confirm import DEFAULTS, beats, confirm, verdict
    from lanista.tuning.results import write_confirmation, write_trials, write_winner
    from lanista.tuning.search import Search
    from lanista.tuning.study import Study

    with closing(Study(folder, plan.ranges, seed=plan.seed, parallel=at_once > 1)) as study:
        view = _Lines(plan, study)

        def ended(record: Record) -> None:
            write_trials(folder, plan, study.records())
            view.ended(record)

        Search(plan, study, folder, at_once=at_once, ended=ended, watch=view.watch).run(lock)
        winner = study.best()
    if winner is None:
        raise LanistaError(
            f"No trial came to its end; see why in {folder / 'trials.csv'}, or search less widely."
        )
    view.confirming(winner)
    arms = confirm(plan, winner, folder, lock, at_once=at_once, watch=view.confirmed)
    write_confirmation(folder, arms)
    best, defaults = _other(arms, DEFAULTS), arms[DEFAULTS]
    sentence = verdict(plan, best, defaults)
    file = write_winner(folder, plan, winner, sentence)
    _say_result(plan, arms)
    print(sentence)
    if best is not None and beats(best, defaults):
        print(f"Next: {_command('rl', '--config', file, '--output', 'policy.safetensors')}")
    else:
        more = _command("tune", "--resume", "--trials", 2 * plan.trials, "--output", folder)
        print(f"The best trial is in {file} all the same. Next, to search on: {more}")
    return 0


def _other(arms: Mapping[str, Arm], name: str) -> Arm | None:
    return next((arm for arm in arms.values() if arm.name != name), None)


def _command(*words: object) -> str:
    return shlex.join(["lanista", *map(str, words)])


def _say_plan(plan: Plan) -> None:
    ranges = ", ".join(f"{key} {scope}" for key, scope in plan.space.items())
    most = plan.trials * plan.seeds + 2 * plan.confirm
    print(
        f"Searching {ranges}.\n{plan.mark} within {plan.budget:g} CPU s a run, trials: "
        f"{plan.trials}, seeds of each: {plan.seeds}, fresh seeds for winner and defaults: "
        f"{plan.confirm}; at most {most} runs, {duration(most * plan.budget)} of CPU time.",
        file=sys.stderr,
        flush=True,
    )


def _say_result(plan: Plan, arms: Mapping[str, Arm]) -> None:
    from lanista.cli.common.table import console, table
    from lanista.tuning.confirm import shown

    columns = ["settings", "seeds", "reached", "median CPU s", "interval", "best value"]
    rows = []
    for arm in arms.values():
        low, high, coverage = arm.interval
        bests = [outcome.best for outcome in arm.outcomes if outcome.best is not None]
        best = plan.target.best(bests)
        rows.append([
            arm.name, str(len(arm.seeds)), str(arm.reached), shown(arm.median, plan),
            f"{shown(low, plan)} to {shown(high, plan)} ({coverage:.0%})",
            "—" if best is None else f"{best:.4g}",
        ])  # fmt: skip
    console().print(table(columns, rows))
    for failure in [failure for arm in arms.values() for failure in arm.failures]:
        print(f"failed: {failure}")


class _Lines:
    """A line for each trial that ends, and one now and then, with the time that is left."""

    def __init__(self, plan: Plan, study: Study) -> None:
        self.plan, self.study = plan, study
        self.before = len(study.records())
        self.began = self.shown = time.monotonic()
        if self.before:
            self._say(f"{self.before} trials were done before.")

    def ended(self, record: Record) -> None:
        """Say what came of a trial."""
        runs = [
            "not reached" if run["seconds"] is None else f"{run['seconds']:.3g} s"
            for run in record.runs
        ]
        best = self.study.best()
        leader = "" if best is None else f"; best {best.cost:.3g} by trial {best.number}"
        how = f"{record.state} ({record.why})" if record.why else record.state
        self._say(f"trial {record.number}: {', '.join(runs)}, {how}{leader}; {self._left()}")

    def watch(self) -> None:
        """Say now and then that the search goes on."""
        if time.monotonic() - self.shown >= LINE_SECONDS:
            done = len(self.study.records())
            self._say(f"{done} of {self.plan.trials} trials; {self._left()}")

    def confirming(self, winner: Record) -> None:
        """Say that the search is over."""
        self.began = time.monotonic()
        values = ", ".join(
            f"{key} {f'{value:.3g}' if isinstance(value, float) else value}"
            for key, value in winner.values.items()
        )
        self._say(f"Trial {winner.number} is the fastest: {values}. Now fresh seeds.")

    def confirmed(self, runs: Sequence[TimedRun]) -> None:
        """Say now and then how far the fresh seeds are."""
        if time.monotonic() - self.shown >= LINE_SECONDS:
            waiting = [run for run in runs if not run.ended]
            left = sum(max(0.0, self.plan.budget - run.spent) for run in waiting)
            seconds = self._seconds(left, sum(run.spent for run in runs))
            done = len(runs) - len(waiting)
            self._say(f"{done} of {len(runs)} fresh runs; about {seconds} left, or less")

    def _left(self) -> str:
        """Return how long the rest takes if it goes on like this, fresh seeds included."""
        records = self.study.records()
        new = records[self.before :]
        if not new:
            return "how long it takes shows when a trial has ended"
        spent = sum(run["spent"] for record in new for run in record.runs)
        best = self.study.best()
        fresh = 2 * self.plan.confirm * (self.plan.budget if best is None else best.cost or 0.0)
        trials = spent / len(new) * max(0, self.plan.trials - len(records))
        return f"about {self._seconds(trials + fresh, spent)} left"

    def _seconds(self, left: float, spent: float) -> str:
        """Return how long `left` CPU seconds take, by what those `spent` since the start took."""
        return duration(left * (time.monotonic() - self.began) / spent) if spent else "some time"

    def _say(self, sentence: str) -> None:
        self.shown = time.monotonic()
        print(sentence, file=sys.stderr, flush=True)
