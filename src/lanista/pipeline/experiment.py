"""Arms × seeds of a recipe: each a run in a process of its own, spread over the cores.

The folder tells what is done, so the same command goes on after any kill. Jobs end with the
process that started them. Knows nothing of learning: a job is `lanista rl` on a settings file.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from lanista.errors import LanistaError, RefusedError, nearest
from lanista.files import remove_leftovers, write_text
from lanista.games.driver_files import environment_for, existing
from lanista.games.registry import is_python_file, python_path
from lanista.pipeline.job_processes import LOST, Process, Start, start_here
from lanista.pipeline.recipes import settings_of
from lanista.report.curves import Curve, Look
from lanista.runs.folder import folder_of
from lanista.runs.layout import DATABASE
from lanista.runs.reader import UNREADABLE, RunReader
from lanista.runs.serialise import build, read_yaml
from lanista.runs.settings import (
    RunSettings,
    apply_overrides,
    differences,
    load_settings,
    to_yaml,
)

Axis = Literal["decisions", "main_decisions", "cpu_seconds", "wall_seconds"]
State = Literal["waiting", "running", "done", "failed"]
INTERRUPTED = 130
MAIN_DECISIONS = "main/decisions"
"""The number of a league that says what its main alone learned from."""
POLL_SECONDS = 0.2
HELD_SECONDS = 15.0
# What `python -m lanista` does, and leaves when nobody holds the other end of its input any more.
_COMMAND = (
    "import sys; from lanista.pipeline.experiment import leave_with_parent; leave_with_parent(); "
    "from lanista.cli.main import main; sys.exit(main())"
)


@dataclass(frozen=True)
class Experiment:
    """What is compared."""

    recipe: Any
    """What all arms begin from: a settings file, a recipe's name, or settings written here."""
    arms: Mapping[str, Mapping[str, Any]]
    """By name: what an arm sets otherwise, as `learning.lr: 1e-3`; {} for nothing."""
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    """Every arm is run once with each."""
    metric: str = "exact/nash_conv"
    """The number compared, by its name in a run's metrics."""
    better: Literal["lower", "higher"] = "lower"
    """Which numbers are better."""
    x: tuple[Axis, ...] = ("decisions", "cpu_seconds")
    """What the number is drawn against."""
    jobs: int = 0
    """How many runs go on side by side; 0: as many as there are cores."""
    equal_cpu: str = ""
    """An arm whose CPU seconds all others are given too: each is run a second time with as many
    iterations as take that long; empty: no."""
    beside: tuple[str, ...] = ()
    """Files of measurements made elsewhere, one JSON object a line, shown in the same table."""
    title: str = ""
    """What stands above the plot; the file's name unless given."""

    def __post_init__(self) -> None:
        if not self.arms or not self.seeds:
            raise LanistaError("An experiment needs at least one arm and one seed.")
        if len(set(self.seeds)) < len(self.seeds):
            raise LanistaError(f"seeds is {list(self.seeds)} and names one twice.")
        for name in self.arms:
            if not re.fullmatch(r"\w[\w .,+()=-]*", name):
                raise LanistaError(
                    f"Arm {name!r} cannot name a folder; use letters, digits, spaces, and .,+()=-"
                )
        if self.equal_cpu and self.equal_cpu not in self.arms:
            raise LanistaError(
                f"equal_cpu is {self.equal_cpu!r}, which is no arm; "
                f"{nearest(self.equal_cpu, self.arms)}"
            )
        if self.jobs < 0:
            raise LanistaError(f"jobs is {self.jobs}; give 0 or more.")

    def settings_of(self, arm: str, seed: int) -> RunSettings:
        """Return the settings of one run."""
        # JSON is YAML, on one line.
        values = {**self.arms[arm], "seed": seed}
        overrides = [f"{key}={json.dumps(value)}" for key, value in values.items()]
        try:
            # A mark changes no run, so one begun before the recipe named it goes on.
            return apply_overrides(replace(self.recipe, mark=None), overrides)
        except LanistaError as error:
            raise LanistaError(f"Arm {arm!r}: {error}") from error


def load_experiment(path: Path) -> Experiment:
    """Return the experiment in a YAML file; its recipe may lie beside that file."""
    values = read_yaml(path)
    if not isinstance(values, dict) or "recipe" not in values or "arms" not in values:
        raise LanistaError(f"{path} is no experiment; it needs the keys recipe and arms.")
    values = {"title": path.stem, **values}
    if isinstance(values["arms"], dict):
        values["arms"] = {str(name): arm or {} for name, arm in values["arms"].items()}
    try:
        if isinstance(values["recipe"], str):
            beside = path.parent / values["recipe"]
            values["recipe"] = settings_of(str(beside) if beside.exists() else values["recipe"])
        else:
            values["recipe"] = load_settings(values["recipe"] or {})
        values["beside"] = [str(path.parent / str(file)) for file in values.get("beside") or ()]
        experiment = build(Experiment, values)
        for arm in experiment.arms:
            experiment.settings_of(
                arm, experiment.seeds[0]
            )  # A mistake should not wait for its turn.
    except LanistaError as error:
        raise LanistaError(f"{path}: {error}") from error
    return experiment


@dataclass(eq=False)
class Job:
    """One arm with one seed: where it lies and how far it is."""

    arm: str
    seed: int
    settings: RunSettings
    folder: Path
    program: Sequence[str] = (sys.executable, "-c", _COMMAND)
    """What runs, before the arguments of `lanista`."""
    state: State = "waiting"
    why: str = ""
    """Of a failed job: the last line of its log."""
    lost: bool = False
    """Its machine is gone, so that it is to be started again."""
    process: Process | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return f"{self.arm}, seed {self.seed}"

    @property
    def config(self) -> Path:
        return self.folder / f"seed-{self.seed}.yaml"

    @property
    def output(self) -> Path:
        return self.folder / f"seed-{self.seed}.safetensors"

    @property
    def log(self) -> Path:
        return self.folder / f"seed-{self.seed}.log"

    @property
    def mark(self) -> Path:
        """Lies there once the run has ended well."""
        return self.folder / f"seed-{self.seed}.done"

    def prepare(self) -> None:
        """Write the run's settings, or find that they are those it was begun with."""
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self.folder)
        if self.config.exists() and (self.mark.exists() or folder_of(self.output).exists()):
            for key, old, new in differences(load_settings(self.config), self.settings):
                raise RefusedError(
                    f"{self.name} was begun with {key} = {old!r} and now has {new!r}; give "
                    "another --output, or move that run's files away."
                )
        else:
            write_text(self.config, to_yaml(self.settings))
        self.state = "done" if self.mark.exists() else "waiting"

    def command(self) -> list[str]:
        """Return what is run, as arguments of `lanista`."""
        command = ["rl", "--config", str(self.config), "--output", str(self.output)]
        return [*command, "--resume"] if folder_of(self.output).exists() else command

    def start(self, lock: int, start: Start = start_here) -> None:
        """Begin the run, or go on with it, in a process that ends with this one."""
        threads = str(self.settings.threads)
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": threads}
        environment |= environment_for(existing(_python_files(self.settings)))
        self.process = start([*self.program, *self.command()], self.log, environment, lock)
        self.state, self.why, self.lost = "running", "", False

    def look(self) -> None:
        """See whether the process has ended, and how."""
        if self.process is None or self.process.poll() is None:
            return
        code = self.process.returncode
        assert code is not None
        _close(self.process)
        self.process = None
        self.lost = code == LOST
        if code == 0:
            write_text(self.mark, "")
            self.state = "done"
        elif code in (INTERRUPTED, LOST):
            self.state = "waiting"
        else:
            self.state, self.why = "failed", _ending(self.log, code)

    def kill(self) -> None:
        """End the process and all that it started, at once."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        _close(self.process)
        self.process, self.state = None, "waiting"

    def stop(self) -> None:
        """End a run at once whose numbers are enough: it counts as done."""
        self.kill()
        write_text(self.mark, "")
        self.state = "done"

    def progress(self, metric: str) -> tuple[int, float | None]:
        """Return the last update, and the newest value of `metric` if there is one."""
        if not (folder_of(self.output) / DATABASE).exists():
            return 0, None
        with self._reading() as run:
            update = run.newest_update()
            values = [row.value for row in run.metric(metric)] if update else []
        return update, next((value for value in reversed(values) if value is not None), None)

    def measures(self) -> set[str]:
        """Return the names of all that the run measured."""
        with self._reading() as run:
            return run.measured()

    def curve(self, metric: str, x: Sequence[str]) -> Curve:
        """Return how `metric` went, with what had been spent by then."""
        looks = []
        for number, values in self.numbers(metric, "decisions", MAIN_DECISIONS, *x).items():
            # Without a league all decisions are the main's.
            main = values.get(MAIN_DECISIONS, values.get("decisions"))
            values |= {} if main is None else {"main_decisions": main}
            if metric in values:
                spent = {name: values[name] for name in x if name in values}
                looks.append(Look(number, values[metric], spent))
        return Curve(self.seed, tuple(looks))

    def numbers(self, *names: str, since: int = 0) -> dict[int, dict[str, float]]:
        """Return some numbers of each update from `since` on that has any, in order."""
        values_by_update: dict[int, dict[str, float]] = {}
        if not (folder_of(self.output) / DATABASE).exists():
            return values_by_update
        with self._reading() as run:
            rows = run.metric(*names, since=since) if run.newest_update() else []
        for row in rows:
            if row.value is not None:
                values_by_update.setdefault(row.update, {})[row.name] = row.value
        return dict(sorted(values_by_update.items()))

    @contextmanager
    def _reading(self) -> Iterator[RunReader]:
        path = folder_of(self.output) / DATABASE
        try:
            with closing(RunReader(path)) as run:
                yield run
        except UNREADABLE as error:
            raise LanistaError(f"{path} cannot be read: {error}.") from error


def _python_files(settings: RunSettings) -> list[Path]:
    """Return the Python files of the game and of the bots that the settings name."""
    words = (settings.game, *settings.opponents, *settings.evaluation.bots)
    return [python_path(word) for word in words if is_python_file(word)]


def _ending(log: Path, code: int) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.exists() else []
    log_lines = [line.strip() for line in lines if line.strip()]
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"{how}: {log_lines[-1]}" if log_lines else how


def _close(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()


def jobs_of(experiment: Experiment, folder: Path) -> list[Job]:
    """Return all jobs, a seed of every arm before the next seed, those done marked so."""
    jobs = [
        Job(arm, seed, experiment.settings_of(arm, seed), folder / arm)
        for seed in experiment.seeds
        for arm in experiment.arms
    ]
    for job in jobs:
        job.prepare()
    return jobs


def run_jobs(
    jobs: Sequence[Job],
    folder: Path,
    *,
    at_once: int,
    watch: Callable[[], None] = lambda: None,
    start: Start = start_here,
) -> None:
    """Run all jobs that are not done, `at_once` side by side; `watch` is called in between.

    A failed job does not stop the others; one whose machine was lost is gone on with elsewhere.
    Interrupted, the jobs save and end before this does.
    """
    with held(folder) as lock:
        waiting = [job for job in jobs if job.state != "done"]
        running: list[Job] = []
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    job = waiting.pop(0)
                    job.start(lock, start)
                    running.append(job)
                time.sleep(POLL_SECONDS)
                for job in running:
                    job.look()
                waiting += [job for job in running if job.lost]
                running = [job for job in running if job.state == "running"]
                watch()
        finally:
            _end(running)


def _end(running: Sequence[Job]) -> None:
    """Ask what still runs to save and end; kill it if this process is told to hurry."""
    processes = [job.process for job in running if job.process is not None]
    try:
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            process.wait()
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for job in running:
            job.look()


@contextmanager
def held(folder: Path) -> Iterator[int]:
    """Hold the folder against other processes, and give the handle that holds it.

    Jobs inherit the handle, so that whoever comes after a kill waits until the last one is gone.
    """
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    until = time.monotonic() + HELD_SECONDS
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if time.monotonic() > until:
                    raise RefusedError(
                        f"Another process is working on {folder}; wait for it, or "
                        "give another --output."
                    ) from error
                time.sleep(POLL_SECONDS)
        yield handle
    finally:
        os.close(handle)


def leave_with_parent() -> None:
    """End this process at once when whoever started it is gone: its input then ends.

    A run is safe to kill at any point, so nothing is tidied up.
    """

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
