"""Does a pipeline in small and times it, before its budget is planned. Reads a clock."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from statistics import median

from lanista.pipeline.recipe import POLICIES, PipelineRecipe
from lanista.pipeline.runner import conduct
from lanista.pipeline.stage_play import opponents_of
from lanista.training.imitate import DECISIONS
from lanista.training.observers import Observer

LONG_ENOUGH = 1.0
"""A stage that took so many seconds in the rehearsal is taken for measured."""
_MOST_TIMES = 7
_GROWING = ("record", "imitate", "evaluate")
"""Stages that are rehearsed in larger portions until they take long enough."""
_REHEARSED_ITERATIONS = 4
_Mark = tuple[str, float, int]
"""What happened, when, and how many are meant."""


def rehearse(recipe: PipelineRecipe, long_enough: float = LONG_ENOUGH) -> dict[str, float]:
    """Do the pipeline in small and return what was measured."""
    rates: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="lanista-rehearsal-") as place:
        size = _Size()
        for number in range(_MOST_TIMES):
            clock = Clock()
            small = size.of(recipe)
            conduct(small, Path(place) / f"{number}", observers=[clock])
            rates |= clock.rates(small)
            if min(clock.spent.get(name, long_enough) for name in _GROWING) >= long_enough:
                break
            if not {"record", "imitate"} & {*recipe.stages.names}:
                break
            size = size.grown()
            # What learns by playing is measured once: its iterations do not change in size.
            recipe = replace(recipe, stages=replace(recipe.stages, rl=None, league=None))
            recipe = _without_missing(recipe)
    return rates


def _without_missing(recipe: PipelineRecipe) -> PipelineRecipe:
    """Return a pipeline whose evaluation names no policy that it does not make."""
    stage = recipe.stages.evaluate
    if stage is None:
        return recipe
    missing = {file for name, file in POLICIES.items() if name not in recipe.stages.names}
    words = tuple(word for word in stage.opponents if word not in missing)
    evaluate = replace(stage, opponents=words) if words and recipe.policy else None
    return replace(recipe, stages=replace(recipe.stages, evaluate=evaluate))


@dataclass(frozen=True)
class _Size:
    """How small a rehearsal is."""

    matches: int = 64
    games: int = 16

    def grown(self) -> _Size:
        return _Size(self.matches * 4, self.games * 2)

    def of(self, recipe: PipelineRecipe) -> PipelineRecipe:
        """Return the pipeline in this size."""
        stages = recipe.stages
        if stages.record:
            stages = replace(stages, record=replace(stages.record, matches=self.matches))
        if stages.imitate:
            dagger = stages.imitate.imitation.dagger
            short = replace(
                dagger,
                rounds=min(1, dagger.rounds),
                matches=min(dagger.matches, self.matches),
                epochs=1,
            )
            once = replace(stages.imitate.imitation, epochs=1, dagger=short)
            played = min(self.games, stages.imitate.evaluation_matches)
            stages = replace(
                stages,
                imitate=replace(stages.imitate, imitation=once, evaluation_matches=played),
            )
        for name in ("rl", "league"):
            if getattr(stages, name) is not None:
                values = {**getattr(stages, name), "iterations": _REHEARSED_ITERATIONS}
                if values.get("evaluation", {}).get("every"):
                    last = {**values["evaluation"], "every": _REHEARSED_ITERATIONS}
                    values["evaluation"] = last
                stages = stages.with_run(name, values)
        if stages.evaluate:
            stages = replace(stages, evaluate=replace(stages.evaluate, games=self.games))
        return replace(recipe, stages=replace(stages, report=None))


@dataclass
class Clock(Observer):
    """Times the stages of a rehearsal."""

    spent: dict[str, float] = field(default_factory=dict)
    """Seconds by stage."""
    marks: dict[str, list[_Mark]] = field(default_factory=dict)
    """By stage."""
    decisions: dict[str, int] = field(default_factory=dict)
    """By stage: how many a run learned from in all."""
    name: str = ""

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        self.decisions[self.name] = int(values.get("decisions", 0))

    def stage_started(self, name: str) -> None:
        self.name = name
        self.marks[name] = [("stage", time.perf_counter(), 0)]

    def work_started(self, total: int, unit: str, upto: float = 1.0) -> None:
        self._mark(unit, total)

    def work_at(self, count: int) -> None:
        self._mark("at", count)

    def stage_finished(self, name: str) -> None:
        self._mark("finished", 0)
        self.spent[name] = self.marks[name][-1][1] - self.marks[name][0][1]

    def _mark(self, mark: str, count: int) -> None:
        self.marks[self.name].append((mark, time.perf_counter(), count))

    def rates(self, small: PipelineRecipe) -> dict[str, float]:
        """Return what this rehearsal of `small` says."""
        rates: dict[str, float] = {}
        stages = small.stages
        if stages.record:
            matches = stages.record.matches * len(stages.record.seats)
            rates["record/matches"] = matches / self.spent["record"]
        if stages.imitate:
            rates |= self._imitation(small)
        for name in ("rl", "league"):
            if name in self.marks:
                rates |= self._run(name, small)
        if stages.evaluate:
            matches = stages.evaluate.games * len(opponents_of(small))
            rates["evaluate/matches"] = matches / self.spent["evaluate"]
        return rates

    def _imitation(self, small: PipelineRecipe) -> dict[str, float]:
        stage, recorded = small.stages.imitate, small.stages.record
        assert stage is not None
        marks = self.marks["imitate"]
        begun = next(mark for mark in marks if mark[0] == DECISIONS)
        learned = next(mark for mark in marks if mark[0] == "at" and mark[2] == begun[2])
        matches = recorded.matches * len(recorded.seats) if recorded else 1.0
        last = next(mark for mark in reversed(marks) if mark[0] == "at")
        played = (marks[-1][1] - last[1]) / max(1, stage.evaluation_matches)
        rates = self._labelled(small, begun, learned, marks)
        return rates | {
            "imitate/matches": float(matches),
            "imitate/decisions_a_match": begun[2] / matches,
            "imitate/gathered": begun[2] / (begun[1] - marks[0][1]),
            "imitate/learned": begun[2] / (learned[1] - begun[1]),
            "imitate/a_match_of_each": played if stage.evaluation_matches else 0.0,
        }

    def _labelled(
        self, small: PipelineRecipe, begun: _Mark, learned: _Mark, marks: list[_Mark]
    ) -> dict[str, float]:
        """Return decisions of a match of DAgger, and how many are played and labelled a second."""
        assert small.stages.imitate is not None
        dagger = small.stages.imitate.imitation.dagger
        if not dagger.rounds and small.has_recordings:
            return {}
        decisions, seconds = begun[2], begun[1] - marks[0][1]
        if dagger.rounds:
            *_, later = (mark for mark in marks if mark[0] == DECISIONS)
            decisions, seconds = later[2] - begun[2], later[1] - learned[1]
        return {
            "imitate/labelled_a_match": decisions / dagger.matches,
            "imitate/labelled": decisions / seconds,
        }

    def _run(self, name: str, small: PipelineRecipe) -> dict[str, float]:
        """Return iterations a second, decisions of each, and what the last one's judgement took."""
        settings = small.run_settings(name)
        times = [mark[1] for mark in self.marks[name] if mark[0] == "at"]
        durations = [later - now for now, later in pairwise(times[:: settings.learner_updates])]
        usual = median(durations[:-1])
        judged = max(0.0, durations[-1] - usual) if settings.evaluation.every else 0.0
        return {
            f"{name}/iterations": 1 / usual,
            f"{name}/decisions": self.decisions[name] / settings.iterations,
            f"{name}/judgement_seconds": judged,
        }
