"""Turns a time budget into numbers of matches, epochs and iterations, once, before a pipeline.

A rehearsal does every stage in small and times it; the plan is a pure function of what it found.
Only the rehearsal reads a clock.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lanista.errors import LanistaError
from lanista.pipeline.recipe import (
    Budget,
    PipelineRecipe,
    load_recipe,
    recipe_values,
)
from lanista.pipeline.rehearsal import LONG_ENOUGH, rehearse
from lanista.pipeline.resolve_recipe import settled
from lanista.pipeline.stage_play import opponents_of
from lanista.runs.former_keys import spellings
from lanista.runs.serialise import plain
from lanista.runs.settings import RunSettings
from lanista.time_left import duration

Rates = Mapping[str, float]
"""What was measured, by name; see `Rehearsed`."""
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_FEWEST_EPOCHS = 4
"""Fewer demonstrations are recorded where there would not be time to go over all so often."""
_JUDGED_SHARE = 0.2
"""Of a run's time, beyond which its evaluations have fewer matches."""
_FEWEST_JUDGED = 20
_PLANNED_SHARE = 0.93
"""Of a single run's iterations that would fit: schedules then come to their end in time, though
some iterations take longer than those that were measured."""
_SHORTEST = 1.0
"""Seconds that are planned with where loading took all there were."""
_REHEARSAL = "rehearsal/seconds"
_FEWEST_REHEARSALS = 10
"""How many times as long as its rehearsal a budget is at least, to be mostly work."""


def read_budget(text: str) -> float:
    """Return the seconds in `90s`, `30m` or `2h`."""
    number_and_unit = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if not number_and_unit or float(number_and_unit[1]) <= 0:
        raise LanistaError(f"--budget is {text!r}; write it as 90s, 30m or 2h.")
    return float(number_and_unit[1]) * _UNITS[number_and_unit[2]]


def digest_of(recipe: PipelineRecipe) -> str:
    """Return the digest of a recipe as it was before a budget changed its numbers."""
    return digests_of(recipe)[0]


def digests_of(recipe: PipelineRecipe) -> list[str]:
    """Return that digest, and those which earlier versions gave to the same recipe."""
    values = recipe_values(replace(recipe, budget=None, device="auto"))
    texts = [json.dumps(spelt, sort_keys=True) for spelt in spellings(values)]
    return [hashlib.sha256(text.encode()).hexdigest() for text in texts]


def within(recipe: PipelineRecipe, seconds: float) -> PipelineRecipe:
    """Return a settled pipeline with its numbers chosen so that it takes about `seconds`."""
    began = time.perf_counter()
    rates = rehearse(recipe, min(LONG_ENOUGH, seconds / 200))
    return plan(recipe, seconds, rates | {_REHEARSAL: time.perf_counter() - began})


def run_within(
    settings: RunSettings, seconds: float, say: Callable[[str], None] = lambda sentence: None
) -> RunSettings:
    """Return the settings of a single run with iterations that take about `seconds` from now on.

    `say` hears what so little time cannot do.
    """
    recipe = settled(load_recipe(plain(settings)))
    planned = within(recipe, max(seconds, _SHORTEST))
    if sentence := too_short(planned.budget):
        say(sentence)
    timed = planned.run_settings(recipe.stages.names[0])
    iterations = max(1, int(_PLANNED_SHARE * timed.iterations))
    every = timed.evaluation.every and max(1, int(_PLANNED_SHARE * timed.evaluation.every))
    save_every = min(settings.checkpoints.save_every, every or iterations)
    return replace(
        settings,
        iterations=iterations,
        evaluation=replace(settings.evaluation, every=every, matches=timed.evaluation.matches),
        checkpoints=replace(settings.checkpoints, save_every=save_every),
        league=timed.league,
    )


def too_short(budget: Budget | None) -> str:
    """Return a sentence about a budget of which measuring took over a half; empty: it did not."""
    if budget is None or (measured := budget.rates.get(_REHEARSAL, 0.0)) <= budget.seconds / 2:
        return ""
    return (
        f"A budget of {duration(budget.seconds)} cannot be kept: measuring how fast this machine "
        f"is took {duration(measured)}. The numbers are those for half of the budget, and at least "
        f"the smallest of each stage; give {duration(_FEWEST_REHEARSALS * measured)} or more."
    )


def plan(recipe: PipelineRecipe, seconds: float, rates: Rates) -> PipelineRecipe:
    """Return the pipeline with numbers that fit into `seconds` at these rates.

    The rehearsal is part of that time, but takes no more than half of it from the rest.
    """
    whole_budget, seconds = seconds, max(seconds / 2, seconds - rates.get(_REHEARSAL, 0.0))
    names = [name for name in recipe.stages.names if name != "report"]
    shares = {name: recipe.shares.get(name, 1.0) for name in names}
    seconds_by_stage = {
        name: seconds * share / sum(shares.values()) for name, share in shares.items()
    }
    stages = recipe.stages
    if stages.record:
        stages = replace(stages, record=_recording(recipe, seconds_by_stage, rates))
    planned = replace(recipe, stages=stages)
    if stages.imitate:
        stages = replace(stages, imitate=_imitating(planned, seconds_by_stage["imitate"], rates))
    for name in ("rl", "league"):
        if getattr(stages, name) is not None:
            stages = stages.with_run(name, _running(recipe, name, seconds_by_stage[name], rates))
    if stages.evaluate:
        games = _even(
            seconds_by_stage["evaluate"] * rates["evaluate/matches"] / len(opponents_of(recipe))
        )
        stages = replace(stages, evaluate=replace(stages.evaluate, games=games))
    rounded_rates = {name: float(f"{value:.6g}") for name, value in rates.items()}
    budget = Budget(seconds=whole_budget, of=digest_of(recipe), rates=rounded_rates)
    return replace(recipe, stages=stages, budget=budget)


def _recording(recipe: PipelineRecipe, seconds_by_stage: Mapping[str, float], rates: Rates) -> Any:
    stage = recipe.stages.record
    assert stage is not None
    matches = seconds_by_stage["record"] * rates["record/matches"]
    if recipe.stages.imitate:
        imitation = recipe.stages.imitate.imitation
        rounds = imitation.dagger.rounds
        epochs = min(_FEWEST_EPOCHS, imitation.epochs) + rounds * imitation.dagger.epochs
        one = rates["imitate/decisions_a_match"] * (
            1 / rates["imitate/gathered"] + epochs / rates["imitate/learned"]
        )
        learning_seconds = _time_to_learn(recipe, seconds_by_stage["imitate"], rates)
        # Half of it is for the rounds that follow, where there are any.
        matches = min(matches, learning_seconds / (2 if rounds else 1) / one)
    # Imitation holds out one deal of two, and each is played in both seats.
    fewest = 4 if recipe.stages.imitate else 2
    return replace(stage, matches=max(fewest, _even(matches / len(stage.seats))))


def _imitating(recipe: PipelineRecipe, seconds: float, rates: Rates) -> Any:
    """Return how often imitation goes over all that is recorded, or how long its rounds are."""
    stage, recorded = recipe.stages.imitate, recipe.stages.record
    assert stage is not None
    if stage.imitation.dagger.teacher or stage.imitation.dagger.rounds:
        return _taught(recipe, seconds, rates)
    matches = recorded.matches * len(recorded.seats) if recorded else rates["imitate/matches"]
    decisions = matches * rates["imitate/decisions_a_match"]
    learning_seconds = (
        _time_to_learn(recipe, seconds, rates) - decisions / rates["imitate/gathered"]
    )
    epochs = max(1, int(learning_seconds * rates["imitate/learned"] / decisions))
    return replace(stage, imitation=replace(stage.imitation, epochs=epochs))


def _taught(recipe: PipelineRecipe, seconds: float, rates: Rates) -> Any:
    """Return rounds of DAgger with as many matches as there is time to play and to learn from.

    Round r plays M matches and goes over the recorded decisions and those of rounds 1 to r.
    """
    stage, recorded = recipe.stages.imitate, recipe.stages.record
    assert stage is not None
    imitation, dagger = stage.imitation, stage.imitation.dagger
    played, epochs = dagger.rounds, dagger.epochs * dagger.rounds * (dagger.rounds + 1) / 2
    spent = 0.0
    if recipe.has_recordings:
        matches = recorded.matches * len(recorded.seats) if recorded else rates["imitate/matches"]
        decisions = matches * rates["imitate/decisions_a_match"]
        spent = decisions * (
            1 / rates["imitate/gathered"] + imitation.all_epochs / rates["imitate/learned"]
        )
    else:  # The teacher plays a round by itself, which all others go over too.
        played, epochs = played + 1, epochs + imitation.all_epochs
    a_match = rates["imitate/labelled_a_match"] * (
        played / rates["imitate/labelled"] + epochs / rates["imitate/learned"]
    )
    fitting = _even((_time_to_learn(recipe, seconds, rates) - spent) / a_match)
    return replace(
        stage, imitation=replace(imitation, dagger=replace(dagger, matches=max(4, fitting)))
    )


def _time_to_learn(recipe: PipelineRecipe, seconds: float, rates: Rates) -> float:
    """Return what is left of imitation's time when its clone has played its matches."""
    stage = recipe.stages.imitate
    assert stage is not None
    # Half of it at least is for learning, however much the recipe wants to be played.
    return max(seconds / 2, seconds - stage.evaluation_matches * rates["imitate/a_match_of_each"])


def _running(recipe: PipelineRecipe, stage: str, seconds: float, rates: Rates) -> dict[str, Any]:
    """Return a run's settings with iterations that fit, and as many judgements as before."""
    settings = recipe.run_settings(stage)
    every, before = settings.evaluation.every, settings.iterations
    judgements = -(-before // every) if every else 0
    if judgements and settings.league is None and settings.evaluation.keep_best:
        judgements += recipe.stages.imitate is not None  # The clone is judged before it learns.
    judging_seconds = judgements * rates[f"{stage}/judgement_seconds"]
    matches = _judged_matches(settings.evaluation.matches, judging_seconds / seconds)
    judging_seconds *= matches / settings.evaluation.matches
    playing_seconds = max(seconds / 2, seconds - judging_seconds)
    a_second = rates[f"{stage}/iterations"]
    exploiters = _exploiters(settings) / (rates[f"{stage}/decisions"] * before)
    # What exploiters are trained on grows with the run, so an iteration costs that much more.
    iterations = max(1, int(playing_seconds * a_second / (1 + exploiters)))
    values = dict(getattr(recipe.stages, stage))
    values["iterations"] = iterations
    if every:
        scaled = max(1, round(every * iterations / before))
        values["evaluation"] = {**values["evaluation"], "every": scaled, "matches": matches}
    if settings.league is not None:
        values["league"] = _stretched(plain(settings.league), iterations / before)
    return values


def _judged_matches(matches: int, share: float) -> int:
    """Return how many matches an evaluation has, if all of them would take a share of the time.

    Where play is dear, so is being judged; learning comes first.
    """
    if share <= _JUDGED_SHARE:
        return matches
    return max(min(_FEWEST_JUDGED, matches), _even(matches * _JUDGED_SHARE / share))


def _exploiters(settings: RunSettings) -> int:
    """Return how many decisions the exploiters of a run are trained on, all together."""
    league = settings.league
    if league is None:
        return 0
    interval = league.exploiter_check_interval
    count = (settings.iterations - 1) // interval if interval else 0
    return count * league.exploiter_train_steps


def _stretched(league: dict[str, Any], by: float) -> dict[str, Any]:
    """Return a league's settings with as many exploiters in a run that is `by` times as long."""
    if every := league["exploiter_check_interval"]:
        league["exploiter_check_interval"] = max(1, round(every * by))
    league["exploiter_train_steps"] = max(1, round(league["exploiter_train_steps"] * by))
    return league


def _even(number: float) -> int:
    """Return a whole number of pairs of matches, at least one."""
    return max(2, int(number) // 2 * 2)
