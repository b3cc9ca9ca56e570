"""Sweeps: what is faster is kept, noise is not, and a promise is tested."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
import yaml
from pipeline_runs import SMALL
from planted_games import game_file

from lanista.errors import LanistaError
from lanista.evaluation.score import t_quantile
from lanista.profile.advice import config_text, outcome_sentence, promised, trial_row
from lanista.profile.bottleneck import CENTRAL
from lanista.profile.changes import (
    ALTERING,
    STEPS,
    Change,
    Place,
    changes,
    needed,
    order_of,
)
from lanista.profile.noise import (
    FEWEST_PAIRS,
    better,
    hopeless,
    outcome,
    promise,
    ratio,
    spread,
)
from lanista.profile.subject import Subject
from lanista.profile.sweep import Pairs, RigMeter, Sweep, loaded
from lanista.rollout.timing import INFER, LEARN, OBSERVE
from lanista.runs.serialise import SettingsError
from lanista.runs.settings import load_settings

CPU = Place(cores=2, seats=2, device="cpu", bf16=True)
KUHN = load_settings({"game": "kuhn", "network": SMALL, "rollouts": {"matches": 64}})
WHERE = {"cpu": "a CPU", "cores": 2, "gpu": None}


# The decision.


def noisy(rng, mean, deviation, count):
    return [mean * math.exp(rng.gauss(0, deviation)) for _ in range(count)]


@pytest.mark.parametrize(("pairs", "deviation"), [(5, 0.01), (5, 0.2), (12, 0.05)])
def test_pure_noise_is_kept_in_at_most_5_of_100_sweeps(pairs, deviation):
    rng = random.Random(f"{pairs} {deviation}")
    kept = 0
    for _ in range(1000):
        # What slows the machine down for a while slows both of a pair.
        drift = noisy(rng, 1.0, 0.3, pairs)
        old = [a * b for a, b in zip(noisy(rng, 1e4, deviation, pairs), drift, strict=True)]
        new = [a * b for a, b in zip(noisy(rng, 1e4, deviation, pairs), drift, strict=True)]
        kept += better(ratio(old, new))
    assert kept <= 50


def test_giving_up_early_keeps_no_more_noise():
    rng, kept = random.Random(4), 0
    for _ in range(1000):
        old, new = noisy(rng, 1e4, 0.1, 5), noisy(rng, 1e4, 0.1, 5)
        given_up = any(hopeless(old[:n], new[:n]) for n in range(2, 5))
        kept += not given_up and better(ratio(old, new))
    assert kept <= 50


def test_an_improvement_larger_than_the_noise_is_kept():
    rng, kept = random.Random(5), 0
    for _ in range(200):
        old, new = noisy(rng, 1e4, 0.02, 5), noisy(rng, 1.2e4, 0.02, 5)
        kept += better(ratio(old, new))
    assert kept > 190


def test_the_ratio_is_the_mean_of_log_ratios_with_students_interval():
    old, new = [100.0, 200.0, 400.0], [200.0, 200.0, 1600.0]
    found = ratio(old, new)
    assert found.value == pytest.approx(2.0)  # The logs to base 2 are 1, 0 and 2.
    half = t_quantile(2) * 1.0 / math.sqrt(3)
    assert found.low == pytest.approx(2 ** (1 - half))
    assert found.high == pytest.approx(2 ** (1 + half))
    # The mean of three more has the same noise once more.
    assert found.next_low == pytest.approx(2 ** (1 - half * math.sqrt(2)))
    assert found.next_high == pytest.approx(2 ** (1 + half * math.sqrt(2)))


def test_fewer_pairs_than_asked_for_never_keep_anything():
    many = FEWEST_PAIRS
    assert better(ratio([1.0] * many, [2.0, 2.1, *[2.0] * (many - 2)]))
    assert not better(ratio([1.0] * (many - 1), [2.0, 2.1, *[2.0] * (many - 3)]))
    assert spread([7.0]).high == math.inf


def test_only_what_is_plainly_slower_in_every_pair_is_given_up():
    assert not hopeless([100.0], [50.0])
    assert hopeless([100.0, 100.0], [50.0, 94.0])
    assert not hopeless([100.0, 100.0], [50.0, 96.0])


# The promise.


def test_a_promise_is_held_by_rates_like_those_it_was_made_from():
    rng, held = random.Random(6), 0
    for _ in range(500):
        old, new = noisy(rng, 1e4, 0.05, 5), noisy(rng, 1.5e4, 0.05, 5)
        given = promise(old, new)
        again = outcome(given, noisy(rng, 1e4, 0.05, 5), noisy(rng, 1.5e4, 0.05, 5))
        held += again.holds
    assert held >= 0.94 * 500  # Below its lower end lie 2.5 % of means to come.


def test_a_promise_is_held_or_not_by_what_is_measured_afterwards():
    given = promise([100.0] * 5, [150.0, 148.0, 152.0, 149.0, 151.0])
    good = outcome(given, [90.0] * 5, [135.0] * 5)
    bad = outcome(given, [100.0] * 5, [120.0] * 5)
    assert good.measured == pytest.approx(1.5)
    assert good.holds
    assert outcome_sentence(good) == "promised 1.47 to 1.53 times as fast, measured 1.50: held"
    assert not bad.holds
    assert outcome_sentence(bad) == "promised 1.47 to 1.53 times as fast, measured 1.20: not held"


def test_more_than_promised_is_held():
    given = promise([100.0] * 5, [150.0, 148.0, 152.0, 149.0, 151.0])
    assert outcome(given, [100.0] * 5, [300.0] * 5).holds


def test_without_a_change_the_rate_itself_is_promised():
    given = promise([1000.0, 1010.0, 990.0, 1005.0, 995.0], None)
    assert outcome(given, [1000.0] * 5, None).holds
    slow = outcome(given, [900.0] * 5, None)
    assert not slow.holds
    assert outcome_sentence(slow).endswith("decisions a second, measured 900: not held")


# The search, with rates that are made up.


class Invented:
    """A meter whose rates follow from the settings."""

    def __init__(self, rate, idle=2.0):
        self.rate, self.idle, self.asked = rate, idle, []
        self.rng = random.Random(1)

    def __call__(self, old, new, *, give_up=False):
        self.asked.append((old, new))
        both = Pairs(idle=self.idle)
        for _ in range(FEWEST_PAIRS):
            both.old.append(self.rate(old) * math.exp(self.rng.gauss(0, 0.01)))
            if new is not None:
                both.new.append(self.rate(new) * math.exp(self.rng.gauss(0, 0.01)))
        return both


def swept(rate, settings=KUHN, directions=tuple(STEPS), **more):
    sweep = Sweep(settings, Invented(rate), CPU, **more)
    sweep.search(directions)
    sweep.confirm()
    return sweep


def test_a_direction_is_followed_as_far_as_it_helps():
    sweep = swept(lambda s: min(s.rollouts.matches, 256.0), directions=["batch"])
    assert sweep.now.rollouts.matches == 256
    assert [trial.verdict for trial in sweep.trials] == ["kept", "kept", "not better"]
    assert sweep.promise.faster.value == pytest.approx(4, rel=0.05)


def test_changes_are_kept_together_and_the_promise_is_about_all_of_them():
    sweep = swept(lambda s: s.rollouts.workers * (2.0 if s.learning.precision == "bf16" else 1.0))
    assert (sweep.now.rollouts.workers, sweep.now.learning.precision) == (2, "bf16")
    assert sweep.promise.faster.value == pytest.approx(4, rel=0.05)
    assert sweep.now.learning.minibatches == KUHN.learning.minibatches


def test_a_sweep_never_goes_back_where_it_came_from():
    stream = load_settings({"game": "kuhn", "rollouts": {"mode": "stream", "slots": 8}})
    sweep = swept(lambda s: s.rollouts.slots, stream, ["slots"])
    tried = [trial.change.overrides[0] for trial in sweep.trials]
    assert tried == [f"rollouts.slots={n}" for n in (16, 32, 64, 128)]


def test_with_keep_learning_nothing_is_tried_that_alters_it():
    sweep = swept(lambda s: 1.0, keep_learning=True)
    assert sweep.trials
    assert not [trial for trial in sweep.trials if trial.change.alters]
    everything = swept(lambda s: 1.0)
    altering = [trial for trial in everything.trials if trial.change.alters]
    assert len(everything.trials) == len(sweep.trials) + len(altering)
    assert all(trial_row(trial)[2].startswith("yes: ") for trial in altering)


def test_settings_that_do_not_go_together_are_skipped_with_the_reason():
    settings = load_settings({"game": "kuhn", "league": {"mains": 2}})
    sweep = swept(lambda s: 1.0, settings, ["workers"])
    assert {trial.verdict for trial in sweep.trials} == {"refused"}
    assert all("learners" in trial.why for trial in sweep.trials)


def test_what_fails_while_it_is_measured_is_told_and_the_sweep_goes_on():
    def rate(settings):
        if settings.learning.compile:
            raise RuntimeError("no compiler")
        return 1.0

    sweep = swept(rate, directions=["compile", "threads"])
    assert [trial.verdict for trial in sweep.trials] == ["failed", "not better"]
    assert sweep.trials[0].why == "RuntimeError: no compiler"


def test_what_does_not_prove_faster_than_the_recipe_is_taken_back():
    sweep = Sweep(KUHN, Invented(lambda s: float(s.rollouts.workers)), CPU)
    sweep.search(["workers"])
    assert sweep.kept_changes
    sweep.meter = Invented(lambda s: 1.0)
    sweep.confirm()
    assert sweep.taken_back
    assert sweep.kept_changes == []
    assert sweep.now == KUHN
    assert sweep.promise.faster is None


@pytest.mark.parametrize(("again", "held"), [(2.0, True), (1.1, False)])
def test_the_written_settings_are_measured_again(tmp_path, again, held):
    sweep = swept(lambda s: float(s.rollouts.workers), directions=["workers"])
    file = tmp_path / "fast.yaml"
    file.write_text(config_text(Subject("kuhn-ppo", KUHN), sweep, WHERE), encoding="utf-8")
    read = load_settings(file)
    assert read == sweep.now
    sweep.meter = Invented(lambda s: again if s.rollouts.workers == 2 else 1.0)
    assert sweep.check(read).holds == held
    assert sweep.meter.asked == [(KUHN, read)]


def test_the_written_settings_say_what_was_changed_and_what_else_is_learned():
    sweep = swept(lambda s: s.rollouts.workers * (2.0 if s.learning.precision == "bf16" else 1.0))
    text = config_text(Subject("kuhn-ppo", KUHN), sweep, WHERE)
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert any("learning.precision: fp32 → bf16  (something else is learned" in c for c in comments)
    workers = next(comment for comment in comments if "rollouts.workers" in comment)
    assert "learned" not in workers
    assert any("decisions a second" in comment for comment in comments)
    assert yaml.safe_load(text)["rollouts"]["workers"] == 2


@pytest.mark.parametrize(("directions", "than"), [(["workers"], " as the recipe"), ([], "")])
def test_the_written_settings_promise_what_the_screen_does(directions, than):
    sweep = swept(lambda s: float(s.rollouts.workers), directions=directions)
    assert (sweep.promise.faster is not None) == bool(directions)
    text = config_text(Subject("kuhn-ppo", KUHN), sweep, WHERE)
    assert f"# Expected there: {promised(sweep.promise)}{than}.\n" in text


def test_a_promise_made_while_others_kept_the_cores_busy_is_doubtful():
    sweep = Sweep(KUHN, Invented(lambda s: 1.0, idle=0.4), CPU)
    sweep.confirm()
    assert sweep.doubt == "0.4 cores idle, 1 needed"
    sweep.meter = Invented(lambda s: 1.0, idle=2.0)
    sweep.check(KUHN)
    assert sweep.doubt  # The promise stays what it is.
    assert "busy machine" in config_text(Subject("kuhn-ppo", KUHN), sweep, WHERE)
    quiet = swept(lambda s: 1.0, directions=[])
    assert quiet.doubt == ""
    assert "busy machine" not in config_text(Subject("kuhn-ppo", KUHN), quiet, WHERE)


def test_on_busy_cores_what_is_faster_is_kept_and_the_rest_is_not_measurable():
    sweep = Sweep(KUHN, Invented(lambda s: float(s.threads), idle=0.4), CPU)
    sweep.search(["threads", "workers"])
    assert [trial.verdict for trial in sweep.trials] == ["kept", *["not measurable"] * 2]


# What is tried.


def test_every_change_can_be_set_and_changes_something():
    found = [change for name in STEPS for change in changes(name, KUHN, KUHN, CPU)]
    keys = {text.partition("=")[0] for change in found for text in change.overrides}
    assert {"rollouts.workers", "rollouts.lag", "learning.precision", "threads"} <= keys
    for change in found:
        changed = change.applied(KUHN)
        assert changed != KUHN
        back = Change(change.before, change.overrides)
        assert back.applied(changed) == KUHN


def test_no_more_cores_are_asked_for_than_there_are():
    one = replace(CPU, cores=1, bf16=False)
    found = [change for name in STEPS for change in changes(name, KUHN, KUHN, one)]
    keys = {text.partition("=")[0] for change in found for text in change.overrides}
    assert not keys & {"rollouts.workers", "threads", "learning.precision"}


def test_fp16_is_for_gpus():
    def words(place):
        return [change.overrides for change in changes("precision", KUHN, KUHN, place)]

    assert words(CPU) == [("learning.precision=bf16",)]
    on_gpu = replace(CPU, device="cuda")
    assert words(on_gpu) == [("learning.precision=bf16",), ("learning.precision=fp16",)]


def test_on_a_gpu_play_is_recorded_and_nothing_is_tried_that_is_for_the_cpu():
    on_gpu = replace(CPU, device="cuda", cores=16)
    (change,) = changes("graphs", KUHN, KUHN, on_gpu)
    assert change.overrides == ("rollouts.graphs=true",)
    assert change.alters == ""
    assert changes("graphs", change.applied(KUHN), KUHN, on_gpu) == []
    assert changes("graphs", KUHN, KUHN, CPU) == []
    for name in ("shards", "threads"):
        assert changes(name, KUHN, KUHN, on_gpu) == []
    apart = {"workers": 2, "launcher": "processes"}
    assert changes("graphs", load_settings({"rollouts": apart}), KUHN, on_gpu) == []
    central = load_settings({"rollouts": apart | {"inference": "central"}})
    assert len(changes("graphs", central, central, on_gpu)) == 1
    lstm = load_settings({"game": "kuhn", "network": {"kind": "lstm"}})
    assert len(changes("graphs", lstm, lstm, on_gpu)) == 1


def test_processes_share_a_gpu_and_are_tried_in_the_place_of_threads():
    on_gpu = replace(CPU, device="cuda", cores=16)
    threads = load_settings({"rollouts": {"workers": 2, "launcher": "threads", "graphs": True}})
    (change,) = changes("launcher", threads, threads, on_gpu)
    assert change.overrides == ("rollouts.launcher=processes", "rollouts.processes_on_gpu=true")
    assert change.alters == ""
    assert changes("launcher", threads, threads, CPU) == []
    apart = change.applied(threads)
    (back,) = changes("launcher", apart, apart, on_gpu)
    assert back.overrides == ("rollouts.launcher=threads",)
    assert changes(
        "graphs", replace(apart, rollouts=replace(apart.rollouts, graphs=False)), apart, on_gpu
    )
    found = [change.overrides[0] for change in changes("inference", apart, apart, on_gpu)]
    assert found == ["rollouts.processes_on_gpu=false", "rollouts.inference=central"]
    for name in ("lag", "workers"):
        ways = [change.overrides for change in changes(name, KUHN, KUHN, on_gpu)]
        assert any("rollouts.processes_on_gpu=true" in way for way in ways)
        assert any("rollouts.launcher=threads" in way for way in ways)


def test_a_sweep_on_a_gpu_comes_from_a_small_recipe_to_updates_of_65_536_decisions():
    """With a rate that rises with rows a step, recorded play and two workers, as measured."""
    streamed = {"mode": "stream", "unrolls": 256, "unroll_length": 64}
    first = load_settings({"game": "arena", "rollouts": streamed})

    def rate(settings):
        rollouts = settings.rollouts
        rows = rollouts.resolved_slots(2) * 2 / rollouts.workers
        return (
            (2.0 if rollouts.graphs else 1.0)
            * (2.0 if rollouts.lag else 1.0)
            * (1.5 if rollouts.workers == 2 else 1.0)
            * rows**0.5
            * rollouts.unrolls**0.3
        )

    sweep = Sweep(first, Invented(rate, idle=16.0), Place(16, 2, "cuda", bf16=True))
    sweep.search(order_of(LEARN))
    rollouts = sweep.now.rollouts
    assert rollouts.graphs
    assert rollouts.lag == 1
    assert rollouts.launcher == "threads"
    assert rollouts.unrolls * rollouts.unroll_length >= 65_536


def at_once(settings):
    """How many shards of a step are worked on at once."""
    rollouts, shards = settings.rollouts, settings.learning.shards
    return float(min(shards, rollouts.workers)) if rollouts.launcher != "serial" else 1.0


def test_where_learning_is_the_wall_shards_in_threads_are_found_first_and_as_many_as_help():
    sweep = Sweep(KUHN, Invented(at_once, idle=4.0), replace(CPU, cores=4), keep_learning=True)
    sweep.search(order_of(LEARN)[:1])
    assert [trial.verdict for trial in sweep.trials] == ["kept", "kept"]
    assert sweep.trials[0].change.overrides == (
        "learning.shards=2", "rollouts.workers=2", "rollouts.launcher=threads",
    )  # fmt: skip
    rollouts = sweep.now.rollouts
    assert (sweep.now.learning.shards, rollouts.workers, rollouts.launcher) == (4, 4, "threads")


def test_shards_leave_more_workers_and_processes_as_they_are():
    asking = {"workers": 4, "launcher": "processes", "inference": "central"}
    now = load_settings({"game": "kuhn", "rollouts": asking})
    (change,) = changes("shards", now, now, replace(CPU, cores=4))
    assert change.overrides == ("learning.shards=2",)


def test_fewer_threads_are_found_where_they_are_faster_and_never_taken_back():
    rollouts = {"workers": 8, "launcher": "threads"}
    now = load_settings({"game": "kuhn", "rollouts": rollouts})
    sweep = Sweep(now, Invented(lambda s: 1.0 / s.rollouts.workers), replace(CPU, cores=16))
    sweep.search(["workers"])
    assert sweep.now.rollouts.workers == 1
    grown = load_settings({"game": "kuhn", "rollouts": rollouts | {"workers": 16}})
    assert changes("workers", grown, now, replace(CPU, cores=16)) == []


def test_central_inference_is_tried_for_processes_alone_and_leaves_the_learning_the_same():
    assert changes("inference", KUHN, KUHN, CPU) == []
    now = load_settings({"game": "kuhn", "rollouts": {"workers": 2, "launcher": "processes"}})
    (change,) = changes("inference", now, now, CPU)
    assert change.overrides == ("rollouts.inference=central",)
    assert change.alters == ""
    asking = change.applied(now)
    (back,) = changes("inference", asking, asking, CPU)
    assert back.overrides == ("rollouts.inference=worker",)
    sweep = Sweep(now, Invented(lambda s: 2.0 if s == asking else 1.0), CPU, keep_learning=True)
    sweep.search(["inference"])
    assert sweep.now == asking
    assert len(sweep.trials) == 1


def test_the_most_promising_for_the_wall_comes_first_and_everything_comes():
    assert order_of(LEARN)[0] == "shards"
    assert order_of(INFER)[0] == "slots"
    assert order_of(OBSERVE)[0] == "workers"
    assert "inference" in order_of(CENTRAL)[:2]
    walls = (LEARN, INFER, OBSERVE, CENTRAL, "rest")
    assert all(sorted(order_of(wall)) == sorted(STEPS) for wall in walls)


def test_every_altering_setting_exists():
    for key in ALTERING:
        with pytest.raises((SettingsError, LanistaError)):
            Change((f"{key}=nonsense",), ()).applied(KUHN)


def test_too_few_idle_cores_are_said():
    two = load_settings({"rollouts": {"workers": 2, "launcher": "threads"}})
    assert needed(two) == 2
    assert loaded(two, 1.1) == "1.1 cores idle, 2 needed"
    assert loaded(two, 1.9) == ""
    assert loaded(two, None) == ""
    assert needed(replace(two, rollouts=replace(two.rollouts, lag=1))) == 3


@pytest.mark.parametrize(
    ("launcher", "workers", "shards", "lag", "cores"),
    [
        ("serial", 1, 4, 0, 1),
        ("serial", 4, 4, 1, 1),
        ("threads", 4, 2, 0, 4),
        ("threads", 2, 4, 0, 2),
        ("threads", 4, 2, 1, 6),
        ("processes", 2, 4, 0, 2),
        ("processes", 2, 4, 1, 4),
    ],
)
def test_shards_need_cores_only_where_they_run_at_once(launcher, workers, shards, lag, cores):
    rollouts = {"launcher": launcher, "workers": workers, "lag": lag}
    settings = load_settings({"rollouts": rollouts, "learning": {"shards": shards}})
    assert needed(settings) == cores


# The search, measured.


def test_more_matches_side_by_side_are_kept_where_every_call_has_a_price(tmp_path):
    game = game_file(tmp_path, decisions=100_000)
    rollouts = {"matches": 8, "slots": 4}
    settings = load_settings({"game": game, "network": SMALL, "rollouts": rollouts})
    subject = Subject("planted", settings)
    # By CPU seconds, so that what else the machine does decides nothing.
    meter = RigMeter(subject, 0.1, FEWEST_PAIRS, by=lambda lap: lap.decisions / lap.use.cpu)
    sweep = Sweep(settings, meter, CPU)
    sweep.search(["slots"])
    assert [trial.verdict for trial in sweep.trials] == ["kept"]
    assert sweep.now.rollouts.slots == 8
