"""Sweeps of a recipe with a mark: what alters its learning is judged by the time to the mark."""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest
import warm_python
from test_profile_sweep import CPU, WHERE, Invented

from lanista.errors import LanistaError
from lanista.pipeline import job_processes
from lanista.profile.advice import as_json, config_text, trial_row
from lanista.profile.changes import STEPS
from lanista.profile.noise import FEWEST_PAIRS, Spread, inverse
from lanista.profile.subject import Subject, subject_of
from lanista.profile.sweep import Pairs, RigMeter, Sweep
from lanista.profile.time_to_mark import PATIENCE, MarkMeter
from lanista.runs.settings import fingerprint, load_settings

MARK = "nash_conv<=0.5"
KUHN = load_settings(
    {
        "game": "kuhn",
        "iterations": 200,
        "network": {"width": 16, "layers": 1},
        "learning": {"lr": 0.01, "epochs": 2, "minibatches": 2},
        "rollouts": {"matches": 256},
        "device": "cpu",
        "mark": MARK,
    }
)
TIMED = f"CPU seconds to {MARK}"


class InventedWays(Invented):
    """A meter of made-up ways to the mark."""

    def __call__(self, old, new, *, give_up=False):
        found = super().__call__(old, new, give_up=give_up)
        return Pairs(found.old, found.new, found.idle, TIMED)


def swept(rate, way, directions=tuple(STEPS), **more):
    sweep = Sweep(KUHN, Invented(rate), CPU, InventedWays(way), **more)
    sweep.search(directions)
    sweep.confirm()
    return sweep


@pytest.fixture
def warm(monkeypatch):
    """Runs are forked from a process that has torch."""

    def begin(command, pass_fds, **how):
        return warm_python.Popen(command, **how)

    stand_in = SimpleNamespace(Popen=begin, PIPE=subprocess.PIPE, STDOUT=subprocess.STDOUT)
    monkeypatch.setattr(job_processes, "subprocess", stand_in)


def ratios(pairs):
    return [new / old for old, new in zip(pairs.old, pairs.new, strict=True)]


# Who decides.


def test_what_alters_the_learning_is_judged_by_the_mark_and_all_else_by_throughput():
    """With twice the matches throughput doubles, and the mark is twice as far."""
    matches, slots = KUHN.rollouts.matches, KUHN.rollouts.resolved_slots(2)

    def rate(settings):
        more = settings.rollouts.resolved_slots(2) == slots // 2
        return settings.rollouts.matches * (2.0 if more else 1.0)

    sweep = swept(rate, lambda s: 1 / s.rollouts.matches, ["slots", "batch"])
    assert sweep.now.rollouts.matches == matches
    assert sweep.now.rollouts.slots == slots // 2
    assert [trial.timed for trial in sweep.trials if trial.change.alters] == [TIMED]
    assert {trial.timed for trial in sweep.trials if not trial.change.alters} == {""}
    assert f"by {TIMED}" in trial_row(sweep.trials[-1])[3]


def test_what_is_slower_and_sooner_at_the_mark_is_kept_and_promised_by_it():
    sweep = swept(lambda s: 1 / s.rollouts.matches, lambda s: s.rollouts.matches / 2048, ["batch"])
    assert sweep.now.rollouts.matches == 16 * KUHN.rollouts.matches
    assert sweep.promise.timed == TIMED
    assert sweep.promise.faster.value == pytest.approx(16, rel=0.05)
    text = config_text(Subject("small", KUHN), sweep, WHERE)
    # 16 × 256 matches over 2,048 are 2 marks a second.
    assert re.search(
        r"^# Measured there: 0\.5\d* \[0\.4|^# Measured there: 0\.49", text, re.MULTILINE
    )
    assert f"] {TIMED}.\n" in text
    assert "decisions a second" not in text
    assert sweep.check(sweep.now).holds
    promise = as_json(Subject("small", KUHN), WHERE, None, sweep, (), interrupted=False)["sweep"]
    assert promise["promise"]["rate"] is None
    assert promise["promise"]["seconds_to_mark"]["value"] == pytest.approx(0.5, rel=0.02)
    assert promise["trials"][0]["timed"] == TIMED


def test_changes_that_alter_nothing_are_promised_by_throughput_also_with_a_mark():
    slots = KUHN.rollouts.resolved_slots(2)
    sweep = swept(lambda s: slots / s.rollouts.resolved_slots(2), lambda s: 0.1, ["slots"])
    assert sweep.kept_changes
    assert sweep.promise.timed == ""


def test_a_recipe_that_all_changes_together_did_not_beat_is_promised_its_own_throughput():
    sweep = Sweep(KUHN, Invented(lambda s: 777.0), CPU, InventedWays(lambda s: s.rollouts.matches))
    sweep.search(["batch"])
    assert sweep.kept_changes
    sweep.to_mark = InventedWays(lambda s: 1.0)
    sweep.confirm()
    assert sweep.taken_back
    assert sweep.promise.rate.value == pytest.approx(777, rel=0.02)
    assert (sweep.promise.timed, sweep.promise.faster) == ("", None)


def test_seconds_to_a_mark_have_the_bounds_of_the_rate_the_other_way_round():
    assert inverse(Spread(2.0, 1.0, 4.0, 0.5, 8.0, 5)) == Spread(0.5, 0.25, 1.0, 0.125, 2.0, 5)


# The way to the mark, measured.


def test_a_larger_batch_that_throughput_would_keep_is_not_kept_by_the_time_to_the_mark(warm):
    """Equal rows are learned from once, so throughput grows; a step still teaches no more."""
    rollouts, subject = KUHN.rollouts, Subject("small", KUHN)
    larger = replace(KUHN, rollouts=replace(rollouts, matches=32 * rollouts.matches))
    by_throughput = RigMeter(subject, 0.1, 2, by=lambda lap: lap.decisions / lap.use.cpu)
    assert min(ratios(by_throughput(KUHN, larger))) > 2
    meter = MarkMeter(subject, "cpu", FEWEST_PAIRS)
    seconds = meter.first_way()
    assert meter.budgets["cpu_seconds"] == pytest.approx(PATIENCE * seconds)
    assert 0 < meter.budgets["wall_seconds"] < math.inf
    pairs = meter(KUHN, larger, give_up=True)
    assert len(pairs.old) == 2  # Given up: it was plainly slower in both.
    assert max(ratios(pairs)) < 1
    assert pairs.timed == TIMED
    assert pairs.idle is None


def test_every_pair_has_a_seed_of_its_own_and_both_of_a_pair_the_same(monkeypatch):
    meter, seeds = MarkMeter(Subject("small", KUHN), "cpu", FEWEST_PAIRS), []
    outcome = SimpleNamespace(outcome=SimpleNamespace(cost=1.0))
    monkeypatch.setattr(
        meter, "_run", lambda settings, seed, goal: seeds.append((settings.seed, seed)) or outcome
    )
    other = replace(KUHN, seed=99)
    for _ in range(2):
        meter(KUHN, other)
    of_old = [seed for own, seed in seeds if own != 99]
    of_new = [seed for own, seed in seeds if own == 99]
    assert of_old == of_new == [*range(2 * FEWEST_PAIRS)]


def test_a_recipe_that_does_not_reach_its_mark_is_refused(warm):
    few = replace(KUHN, iterations=2)
    with pytest.raises(LanistaError, match=r"came to 0\.\d+ in its 2 iterations; give more"):
        MarkMeter(Subject("small", few), "cpu", FEWEST_PAIRS).first_way()


def test_cpu_seconds_count_unless_a_device_or_several_cores_are_to_save_time():
    def clock(settings, device="cpu"):
        meter = MarkMeter(Subject("small", settings), device, FEWEST_PAIRS)
        return meter.goal.clock

    assert clock(KUHN) == "cpu_seconds"
    assert clock(KUHN, "cuda") == "wall_seconds"
    two = replace(KUHN, rollouts=replace(KUHN.rollouts, workers=2, launcher="threads"))
    assert clock(two) == "wall_seconds"


def test_a_run_may_take_as_long_as_the_budget_of_the_clock_that_counts(monkeypatch):
    meter, goals = MarkMeter(Subject("small", KUHN), "cpu", FEWEST_PAIRS), []
    meter.budgets = {"cpu_seconds": 40.0, "wall_seconds": 70.0}
    outcome = SimpleNamespace(outcome=SimpleNamespace(cost=1.0))
    monkeypatch.setattr(meter, "_run", lambda settings, seed, goal: goals.append(goal) or outcome)
    two = replace(KUHN, rollouts=replace(KUHN.rollouts, workers=2, launcher="threads"))
    for other in (replace(KUHN, seed=99), two):
        meter(KUHN, other)
    assert {(goal.clock, goal.budget) for goal in goals} == {*meter.budgets.items()}


def test_no_way_is_timed_from_a_policy_that_an_earlier_stage_has_not_made():
    subject = Subject("small", replace(KUHN, supervised_checkpoint="imitation"), "rl")
    with pytest.raises(LanistaError, match="a policy that is not there yet"):
        MarkMeter(subject, "cpu", FEWEST_PAIRS).first_way()


# Marks in settings.


def test_a_mark_makes_no_other_run():
    assert fingerprint(KUHN) == fingerprint(replace(KUHN, mark=None))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"mark": "0.05"}, "mark is '0.05'; write it as"),
        ({"mark": "nash_conv<=0"}, "only at an equilibrium"),
        ({"mark": MARK, "league": {}}, "a league's strength grows with its pool"),
    ],
)
def test_a_mark_that_says_nothing_is_refused_with_the_settings(settings, sentence):
    with pytest.raises(LanistaError, match=sentence):
        load_settings(settings)


@pytest.mark.parametrize(
    ("mark", "sentence"),
    [
        ("score>=0.6", "evaluated against nobody"),
        ("score:random>=0.9999", "the lower bound of a policy that wins every match"),
        ("nash_conv<=3", "reached before anything is learned"),
    ],
)
def test_a_mark_that_no_sweep_could_use_is_refused_before_a_run(mark, sentence):
    settings = replace(KUHN, mark=mark)
    with pytest.raises(LanistaError, match=sentence):
        MarkMeter(Subject("small", settings), "cpu", FEWEST_PAIRS)


def test_the_recipe_kuhn_ppo_names_a_mark():
    assert subject_of("kuhn-ppo").settings.mark == "nash_conv<=0.1"
