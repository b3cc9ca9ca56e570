"""Measures a recipe as it is: decisions a second, and what the time is spent on, by phase.

A `Rig` is a run in a temporary folder, iterated for some seconds at a time. Nothing of the user's
is touched. Owns what is measured; knows nothing of which settings to try.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from lanista.errors import LanistaError
from lanista.evaluation.evaluator import Evaluator
from lanista.league.population import Population
from lanista.profile.bottleneck import (
    CENTRAL,
    Seconds,
    Wall,
    answered,
    by_work,
    held_up,
    total,
    wall_of,
)
from lanista.profile.machine import Use, gpu_use, peak_memory, reading, used
from lanista.profile.noise import Spread, spread
from lanista.profile.subject import Subject, prepared
from lanista.rollout.experience_source import ExperienceSource
from lanista.rollout.timing import JUDGE, SAVE, WAIT, Phases, add_up
from lanista.runs.checkpoints import Checkpoints
from lanista.runs.settings import Rollouts, RunSettings
from lanista.training.collector_factory import device_of, prepare_torch
from lanista.training.learner_loop import LearnerLoop

_FEWEST_TO_WARM_UP, _MOST_TO_WARM_UP = 2, 12
_JUDGED = 128
"""Matches of an evaluation that are played to tell how long all of them take."""


@dataclass(frozen=True)
class Lap:
    """What some iterations in a row came to."""

    iterations: int
    decisions: int
    wall: float
    """Seconds."""
    use: Use
    """Of the machine; a little more than that time, since asking takes some."""
    own: Seconds
    """Wall-clock seconds by phase of the thread that learns."""
    played: Seconds
    """The same of those that play beside it, all together; none where it plays itself."""
    desk: Seconds
    """The same of the thread of central inference, without its waiting; none where there is none.
    Its phases are `central/PHASE`."""
    cpu: Seconds
    """CPU seconds by phase of all of them."""

    @property
    def rate(self) -> float:
        """Decisions a second."""
        return self.decisions / self.wall


@dataclass(frozen=True)
class Now:
    """Something that is done now and then: how long once, and every how many iterations."""

    wall: float
    cpu: float
    every: int


class Rig:
    """A run that is measured."""

    def __init__(self, subject: Subject, settings: RunSettings, folder: Path) -> None:
        self.settings, self.sentence = prepared(subject, settings, folder)
        if self.settings.learning.policy == "regret":
            raise LanistaError(
                "learning.policy is regret, whose traversals are not measured by phase; the "
                "numbers cpu_seconds and decisions of its run say what it takes."
            )
        self.folder = folder
        self.population = Population(self.settings, folder, LearnerLoop)
        try:
            self.population.enter(self.population.first_rows())
            self.population.meet(self.population.matchmake())
        except BaseException:
            self.population.close()
            raise
        self.device = device_of(self.settings)

    @property
    def trainings(self) -> list[LearnerLoop]:
        trainings = self.population.trainings.values()
        return [training for training in trainings if isinstance(training, LearnerLoop)]

    def iterate(self) -> None:
        """Do one iteration of every learner, and what a run does between two."""
        for _ in self.population.iterate():
            pass
        self.population.count(self.population.games(), [], [])

    def warm_up(self, seconds: float) -> None:
        """Iterate for so long, and until what is done only at the start is done.

        Networks are compiled for every shape they meet, so that may take some iterations.
        """
        prepare_torch(self.settings)
        wall_seconds: list[float] = []
        while (
            len(wall_seconds) < _FEWEST_TO_WARM_UP
            or sum(wall_seconds) < seconds
            or _cold(wall_seconds)
        ):
            began = time.perf_counter()
            self.iterate()
            wall_seconds.append(time.perf_counter() - began)

    def lap(self, seconds: float) -> Lap:
        """Iterate for about so long. The first iteration is not counted.

        It brings the caches back, and play that goes on beside learning into its stride.
        """
        prepare_torch(self.settings)
        self.iterate()
        self._settle()
        decisions, before, iterations = self._decisions(), reading(), 0
        self._taken()
        began = time.perf_counter()
        while not iterations or time.perf_counter() - began < seconds:
            self.iterate()
            iterations += 1
        self._settle()
        wall, phase_seconds = time.perf_counter() - began, self._taken()
        use = used(before, reading())
        return Lap(iterations, self._decisions() - decisions, wall, use, *phase_seconds)

    def save_once(self) -> Now:
        """Save as a run does."""
        began, cpu = time.perf_counter(), time.process_time()
        Checkpoints(self.folder / "checkpoints").save(1, {"learners": self.population.state()})
        every = self.settings.checkpoints.save_every
        return Now(time.perf_counter() - began, time.process_time() - cpu, every)

    def judge_once(self) -> Now | None:
        """Evaluate as a run does; of many matches a part is played and the rest reckoned."""
        evaluation = self.settings.evaluation
        if not evaluation.every:
            return None
        few = replace(evaluation, matches=min(evaluation.matches, _JUDGED))
        evaluator = Evaluator(
            replace(self.settings, evaluation=few), self.population.spec, self.folder
        )
        _ = evaluator.uniform_nash_conv  # Measured once a run, at its first evaluation.
        began, cpu = time.perf_counter(), time.process_time()
        for training in self.population.mains:
            evaluator.measure(training.learner.best, self.population.update, name=training.name)
        times = evaluation.matches / few.matches
        wall, spent = time.perf_counter() - began, time.process_time() - cpu
        return Now(wall * times, spent * times, evaluation.every)

    def _decisions(self) -> int:
        return sum(training.decisions for training in self.trainings)

    def _settle(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()

    def _taken(self) -> tuple[Seconds, Seconds, Seconds, Seconds]:
        """Return what phases took since the last time: own, played, at the desk, and CPU."""
        own: Seconds = {}
        played: Seconds = {}
        desk: Seconds = {}
        cpu: Seconds = {}
        for training in self.trainings:
            wall, spent = training.phases.taken()
            add_up(own, wall)
            add_up(cpu, spent)
            self._add_workers(training.collector, played, desk, cpu)
        return own, played, desk, cpu

    def _add_workers(
        self, collector: ExperienceSource, played: Seconds, desk: Seconds, cpu: Seconds
    ) -> None:
        """Add what workers and central inference took since the last time."""
        rollouts = self.settings.rollouts
        threads = rollouts.at_once and not rollouts.separate_processes
        # On a GPU a phase may wait for what itself asked for.
        waits = self.device != "cpu" or not threads
        for wall, spent in collector.worker_times():
            add_up(played, wall if waits else by_work(wall, spent))
            add_up(cpu, spent)
            if not rollouts.at_once:  # The learner's thread counted that as waiting.
                add_up(cpu, {WAIT: -sum(spent.values())})
            wall.clear()
            spent.clear()
        if (times := collector.server_times()) is not None:
            for into, phase_seconds in zip((desk, cpu), times, strict=True):
                add_up(
                    into,
                    {f"{CENTRAL}/{phase}": seconds for phase, seconds in phase_seconds.items()},
                )


def _cold(wall_seconds: list[float]) -> bool:
    """Whether the last iteration was so slow that more of its kind may come."""
    return len(wall_seconds) < _MOST_TO_WARM_UP and wall_seconds[-1] > 2 * min(wall_seconds)


@contextmanager
def rig(subject: Subject, settings: RunSettings) -> Iterator[Rig]:
    """Give a run of these settings in a folder of its own, which is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="lanista-profile-"))
    try:
        run = Rig(subject, settings, folder)
        try:
            yield run
        finally:
            run.population.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Profile:
    """What was measured of a recipe; it grows with every lap."""

    device: str
    rollouts: Rollouts
    laps: list[Lap] = field(default_factory=list)
    """Those that the rates come from."""
    settled: list[Lap] = field(default_factory=list)
    """Those that the phases come from, where a device has to be waited for; else the same."""
    saving: Now | None = None
    judging: Now | None = None
    memory: int | None = None
    """Bytes held at the peak."""
    gpu_memory: int | None = None
    gpu: float | None = None
    """Share of the time in which the GPU worked."""
    gpu_why: str = ""
    """Why that is not known."""

    @property
    def rates(self) -> list[float]:
        return [lap.rate for lap in self.laps]

    @property
    def rate(self) -> Spread:
        """Decisions a second, without what is done only now and then."""
        return spread(self.rates)

    def wall_shares(self) -> Seconds:
        """Return each phase's share of the wall time; they add up to 1."""
        laps = self._phased
        own, played = total(lap.own for lap in laps), total(lap.played for lap in laps)
        phase_seconds = held_up(own, played, sum(lap.wall for lap in laps), self.rollouts)
        phase_seconds = answered(phase_seconds, total(lap.desk for lap in laps))
        return self._shares(phase_seconds, {phase: now.wall for phase, now in self._now()})

    @property
    def wall(self) -> Wall:
        """What takes the most time."""
        return wall_of(self.wall_shares(), self.device, self.rollouts)

    def cpu_shares(self) -> Seconds:
        """Return each phase's share of the CPU time that phases were seen to take."""
        cpu = total(lap.cpu for lap in self._phased)
        return self._shares(cpu, {phase: now.cpu for phase, now in self._now()})

    @property
    def unseen(self) -> float:
        """The share of the CPU time that no phase saw: threads of torch, games outside."""
        laps = self._phased
        phase_cpu = sum(sum(lap.cpu.values()) for lap in laps)
        return max(0.0, 1 - phase_cpu / (sum(lap.use.cpu for lap in laps) or 1.0))

    @property
    def cpu_cores(self) -> float:
        """Cores that were busy with it, on average."""
        return sum(lap.use.cpu for lap in self.laps) / sum(lap.use.wall for lap in self.laps)

    @property
    def others(self) -> float | None:
        """Cores that others kept busy meanwhile; the most of all laps."""
        cores = [lap.use.others for lap in self.laps if lap.use.others is not None]
        return max(cores, default=None)

    @property
    def _phased(self) -> list[Lap]:
        return self.settled or self.laps

    def _now(self) -> list[tuple[str, Now]]:
        both = ((SAVE, self.saving), (JUDGE, self.judging))
        return [(phase, now) for phase, now in both if now is not None]

    def _shares(self, seconds: Seconds, once: Seconds) -> Seconds:
        """Spread what is done now and then over the iterations between."""
        iterations = sum(lap.iterations for lap in self._phased)
        every = {phase: now.every for phase, now in self._now()}
        spread_out = {
            phase: phase_seconds * iterations / every[phase]
            for phase, phase_seconds in once.items()
        }
        both = total([seconds, spread_out])
        whole = sum(both.values()) or 1.0
        return {phase: phase_seconds / whole for phase, phase_seconds in both.items()}


def profile(
    subject: Subject,
    seconds: float,
    repeats: int,
    *,
    say: Callable[[str], None] = lambda sentence: None,
    lap: Callable[[], None] = lambda: None,
    into: list[Profile] | None = None,
) -> Profile:
    """Measure a recipe as it is; `into` gets the profile before it is whole."""
    settings = subject.settings
    with rig(subject, settings) as run:
        if run.sentence:
            say(run.sentence)
        measured = Profile(run.device, run.settings.rollouts)
        if into is not None:
            into.append(measured)
        on_gpu = run.device != "cpu"
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        run.warm_up(seconds / 2)
        for _ in range(repeats):
            measured.laps.append(run.lap(seconds))
            measured.memory = peak_memory()
            lap()
        if on_gpu:
            measured.gpu, measured.gpu_why = gpu_use()
            measured.gpu_memory = torch.cuda.max_memory_allocated()
        measured.saving, measured.judging = run.save_once(), run.judge_once()
    if on_gpu:
        measured.settled.append(settled_lap(subject, seconds, _wait_for_stream))
    return measured


def settled_lap(subject: Subject, seconds: float, settle: Callable[[], None]) -> Lap:
    """Return a lap in which every thread calls `settle` whenever its phase changes."""
    Phases.usual = settle
    try:
        with rig(subject, subject.settings) as run:
            run.warm_up(seconds / 2)
            return run.lap(seconds)
    finally:
        Phases.usual = None


def _wait_for_stream() -> None:
    # Those of other threads go on: their time counts in their own phases.
    torch.cuda.current_stream().synchronize()
