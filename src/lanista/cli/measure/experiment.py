"""`lanista experiment FILE`: arms × seeds of a recipe, spread over the cores, one table at the end.

Shows how far the runs are. Knows nothing of how they are made.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import CLUSTER, optional
from lanista.cli.common.outputs import EXPERIMENT, Writes
from lanista.errors import LanistaError, nearest

if TYPE_CHECKING:
    from rich.table import Table

    from lanista.pipeline.experiment import Experiment, Job
    from lanista.report.comparison import Comparison
    from lanista.report.curves import Curve

SCREEN_SECONDS, LINE_SECONDS = 1.0, 30.0


@dataclass(frozen=True)
class ExperimentCommand:
    """Run the arms and seeds of an experiment, and compare them in one table and one plot."""

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """A YAML file with recipe, arms and seeds; see docs/guides/experiments.md."""
    output: Annotated[Path | None, optional("FOLDER"), Writes(EXPERIMENT)] = None
    """Where the runs and results go; FILE's name with .experiment, here, unless given."""
    jobs: Annotated[int | None, optional("N")] = None
    """How many runs go on side by side; as the file says, or as many as there are cores."""
    cluster: Annotated[str | None, CLUSTER] = None
    """Where the runs go on: on this machine (local), or on the machines of a Ray cluster that share
    the folder (auto is that of this machine); see docs/guides/cluster.md. Changes no number."""

    def run(self) -> int:
        """Run what is not done yet, print the table, and return 0, 1 for failures, 130."""
        from lanista.cluster.session import using

        with using(self.cluster):
            return self._run()

    def _run(self) -> int:
        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.cli.main import INTERRUPTED
        from lanista.pipeline.equal_cpu import with_equal_cpu
        from lanista.pipeline.experiment import jobs_of, load_experiment, run_jobs
        from lanista.pipeline.job_processes import starter_of

        experiment = load_experiment(self.file)
        folder = self.output or Path(f"{self.file.stem}.experiment")
        if self.jobs is not None and self.jobs < 1:
            raise LanistaError(f"--jobs is {self.jobs}; give at least 1.")
        refuse_unwritable_folder("--output", folder)
        curves_beside(experiment)  # What cannot be read should not wait until the end.
        jobs = jobs_of(experiment, folder)
        starter, code = starter_of(experiment.recipe.threads), 0
        at_once = self.jobs or experiment.jobs or starter.at_once
        try:
            with watching(jobs, experiment.metric) as watch:
                run_jobs(jobs, folder, at_once=at_once, watch=watch, start=starter.start)
            if experiment.equal_cpu and all(job.state == "done" for job in jobs):
                experiment = with_equal_cpu(experiment, jobs)
                jobs = jobs_of(experiment, folder)
                with watching(jobs, experiment.metric) as watch:
                    run_jobs(jobs, folder, at_once=at_once, watch=watch, start=starter.start)
        except KeyboardInterrupt:
            code = INTERRUPTED
        self._finish(experiment, jobs, folder)
        failed = [job for job in jobs if job.state == "failed"]
        return code or (1 if failed else 0)

    def _finish(self, experiment: Experiment, jobs: Sequence[Job], folder: Path) -> None:
        from lanista.cli.common.table import console, table
        from lanista.report.comparison import PLOT, RESULTS, write_comparison

        compared = comparison_of(experiment, jobs)
        failures = {job.name: job.why for job in jobs if job.state == "failed"}
        done = sum(job.state == "done" for job in jobs)
        overrides = {name: dict(values) for name, values in experiment.arms.items()}
        more = {"overrides": overrides, "failed": failures, "runs": len(jobs), "done": done}
        write_comparison(folder, compared, more)
        out = console()
        out.print(table(compared.columns(), compared.rows()))
        print(
            f"{experiment.metric}, {done} of {len(jobs)} runs done; {experiment.better} is better."
        )
        for sentence in unmeasured(experiment, jobs):
            print(sentence)
        for name, why in failures.items():
            print(f"failed: {name}: {why}")
        if done < len(jobs):
            print("Run the same command again to go on.")
        print(f"plot: {folder / PLOT}\nnumbers: {folder / RESULTS}")


def comparison_of(experiment: Experiment, jobs: Sequence[Job]) -> Comparison:
    """Return the curves of the runs that are done, and of what is shown beside them."""
    from lanista.report.comparison import Comparison

    arms = {
        arm: [
            job.curve(experiment.metric, experiment.x)
            for job in jobs
            if job.arm == arm and job.state == "done"
        ]
        for arm in experiment.arms
    }
    arms |= curves_beside(experiment)
    return Comparison(experiment.title, experiment.metric, arms, experiment.x, experiment.better)


def curves_beside(experiment: Experiment) -> dict[str, list[Curve]]:
    """Return the curves of others, by arm."""
    from lanista.report.comparison import read_lines

    arms: dict[str, list[Curve]] = {}
    for file in experiment.beside:
        for arm, curves in read_lines(Path(file), experiment.metric, experiment.x).items():
            if arm in arms or arm in experiment.arms:
                raise LanistaError(f"{file} has an arm {arm!r}, as others do; rename one of them.")
            arms[arm] = curves
    return arms


def unmeasured(experiment: Experiment, jobs: Sequence[Job]) -> list[str]:
    """Return a sentence if runs ended without the number that was to be compared."""
    for job in jobs:
        if job.state == "done" and experiment.metric not in (names := job.measures()):
            return [
                f"{job.name} did not measure {experiment.metric}; see evaluation in its settings, "
                f"and the experiment's metric: {nearest(experiment.metric, names)}"
            ]
    return []


@contextmanager
def watching(jobs: Sequence[Job], metric: str) -> Iterator[Callable[[], None]]:
    """Give a function that shows how far the jobs are, no more often than is of use."""
    if not sys.stderr.isatty():
        yield _Lines(jobs, metric)
        return
    from rich.live import Live

    from lanista.terminal import console

    with Live(console=console(sys.stderr), auto_refresh=False, transient=True) as live:
        yield _Paced(lambda: live.update(progress_table(jobs, metric), refresh=True))


class _Paced:
    def __init__(self, show: Callable[[], None]) -> None:
        self.show, self.shown = show, 0.0

    def __call__(self) -> None:
        if time.monotonic() - self.shown >= SCREEN_SECONDS:
            self.shown = time.monotonic()
            self.show()


class _Lines:
    """Plain lines: one when a job begins or ends, and now and then how far the others are."""

    def __init__(self, jobs: Sequence[Job], metric: str) -> None:
        self.jobs, self.metric = jobs, metric
        self.states = {job: job.state for job in jobs}
        self.shown = time.monotonic()
        done = sum(job.state == "done" for job in jobs)
        print(f"{len(jobs)} runs, {done} of them done before.", file=sys.stderr, flush=True)

    def __call__(self) -> None:
        for job in self.jobs:
            if job.state != self.states[job]:
                self.states[job] = job.state
                self._say(job)
        if time.monotonic() - self.shown >= LINE_SECONDS:
            self.shown = time.monotonic()
            for job in self.jobs:
                if job.state == "running":
                    self._say(job)

    def _say(self, job: Job) -> None:
        cells = [cell for cell in progress_cells(job, self.metric)[2:] if cell]
        print(f"{job.name}: {', '.join(cells)}", file=sys.stderr, flush=True)


def progress_table(jobs: Sequence[Job], metric: str) -> Table:
    """Return what a terminal shows meanwhile: running and failed jobs, and a count of the rest."""
    from lanista.cli.common.table import table

    shown = [job for job in jobs if job.state in ("running", "failed")]
    count = {state: sum(job.state == state for job in jobs) for state in ("done", "waiting")}
    result = table(
        ["arm", "seed", "state", "updates", metric], [progress_cells(j, metric) for j in shown]
    )
    result.caption = f"{count['done']} done, {count['waiting']} waiting"
    return result


def progress_cells(job: Job, metric: str) -> list[str]:
    """Return a job's line: arm, seed, state, updates, the newest number."""
    state = f"failed: {job.why}" if job.state == "failed" else job.state
    cells = [job.arm, str(job.seed), state]
    if job.state == "waiting":
        return [*cells, "", ""]
    update, newest = job.progress(metric)
    value = f"{newest:.3f}" if newest is not None else ""
    return [*cells, f"{update:,} of {job.settings.updates:,}", value]
