"""Profiles: planted slowness is named, shares are shares, and nothing is left behind."""

from __future__ import annotations

import gc
import hashlib
import json
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pipeline_runs import SMALL, untrained
from planted_games import bot_file, game_file

from lanista.errors import LanistaError
from lanista.nets.settings import Network
from lanista.profile.advice import phase_rows, remedy, wall_sentence
from lanista.profile.bottleneck import CENTRAL, answered, by_work, held_up, place_of, wall_of
from lanista.profile.machine import has_bf16, peak_memory, reading, used
from lanista.profile.measure import Profile, _cold, profile, rig, settled_lap
from lanista.profile.subject import Subject, subject_of
from lanista.rollout.timing import (
    INFER,
    JUDGE,
    LEARN,
    OBSERVE,
    OPPONENTS,
    PHASES,
    REST,
    SAMPLE,
    SAVE,
    SIMULATE,
    WAIT,
    Phases,
)
from lanista.runs.serialise import SettingsError
from lanista.runs.settings import Rollouts, load_settings

ALONE = Rollouts()
PROCESSES = Rollouts(workers=2, launcher="processes")
ASKING = replace(PROCESSES, inference="central")
BURN = 20_000
"""About a millisecond of work, where everything else of a decision takes some microseconds."""


def subject(game, **rollouts):
    values = {"game": game, "network": SMALL, "rollouts": {"matches": 8, **rollouts}}
    return Subject("planted", load_settings(values))


def measured(given, seconds=0.05):
    """Return a profile in seconds of work, of which others on this machine can take none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", time.process_time)
        return profile(given, seconds, 2)


def wall(given):
    return measured(given).wall


def test_a_slow_observation_is_named(tmp_path):
    found = wall(subject(game_file(tmp_path, view=BURN)))
    assert found.phase == OBSERVE
    assert wall_sentence(found, "planted.py").startswith("Bottleneck: views and masks of planted, ")


def test_slow_rules_are_named(tmp_path):
    found = wall(subject(game_file(tmp_path, apply=BURN)))
    assert found.phase == SIMULATE
    assert wall_sentence(found, "planted.py").startswith("Bottleneck: the rules of planted, ")


def test_a_slow_opponent_is_named(tmp_path):
    bot = bot_file(tmp_path, BURN)
    found = wall(subject(game_file(tmp_path), opponents=["self=0.2", bot, "random"]))
    assert found.phase == f"{OPPONENTS}/{bot}"
    assert wall_sentence(found, "planted.py").startswith("Bottleneck: the opponent ponderer, ")
    assert "rollouts.opponents" in remedy(found)


@pytest.mark.parametrize("launcher", ["serial", "threads"])
def test_a_slow_observation_is_named_where_workers_play(tmp_path, launcher):
    file = game_file(tmp_path, view=BURN)
    assert wall(subject(file, workers=2, launcher=launcher)).phase == OBSERVE


def test_shares_of_time_and_of_cpu_sum_to_1_and_are_of_known_phases(tmp_path):
    settings = subject(game_file(tmp_path), opponents=["self", "random"]).settings
    judged = replace(settings.evaluation, every=2, bots=("random",), matches=8)
    found = measured(Subject("planted", replace(settings, evaluation=judged)))
    for shares in (found.wall_shares(), found.cpu_shares()):
        assert sum(shares.values()) == pytest.approx(1)
        assert {phase.partition("/")[0] for phase in shares} <= set(PHASES)
        assert all(share >= 0 for share in shares.values())
        assert {SAVE, JUDGE, LEARN, INFER} <= {*shares}
    assert found.memory > 2**20
    assert found.cpu_cores > 0
    assert {row[0] for row in phase_rows(found, "planted")} <= {*PHASES, f"{OPPONENTS}/random"}


def test_rates_are_decisions_over_wall_time(tmp_path):
    found = measured(subject(game_file(tmp_path)))
    assert len(found.laps) == 2
    for lap in found.laps:
        # Four decisions a match, of both seats, eight matches an iteration.
        assert lap.decisions == 32 * lap.iterations
        assert lap.rate == lap.decisions / lap.wall
        assert sum(lap.own.values()) == pytest.approx(lap.wall, rel=0.1)


# Where several play at once.


def test_a_learner_that_waits_is_held_up_by_those_who_play():
    own = {WAIT: 6.0, LEARN: 4.0}
    played = {SIMULATE: 9.0, INFER: 3.0}
    found = held_up(own, played, 10.0, Rollouts(workers=2, launcher="threads"))
    assert found == {WAIT: 0.0, LEARN: 4.0, SIMULATE: 4.5, INFER: 1.5}


def test_what_no_worker_was_busy_with_stays_waiting():
    own = {WAIT: 6.0, LEARN: 4.0}
    found = held_up(own, {SIMULATE: 8.0}, 10.0, Rollouts(workers=2, launcher="processes"))
    assert found == {WAIT: 2.0, LEARN: 4.0, SIMULATE: 4.0}


def test_with_lag_players_that_are_waited_for_are_the_wall():
    rollouts = Rollouts(workers=2, launcher="threads", lag=1)
    own, played = {WAIT: 5.5, LEARN: 4.5}, {SIMULATE: 8.0, INFER: 12.0}
    assert held_up(own, played, 10.0, rollouts) == {SIMULATE: 4.0, INFER: 6.0}


def test_with_lag_a_learner_that_never_waits_is_the_wall():
    rollouts = Rollouts(workers=2, launcher="threads", lag=1)
    found = held_up({LEARN: 9.8, WAIT: 0.2}, {SIMULATE: 12.0}, 10.0, rollouts)
    assert max(found, key=found.get) == LEARN
    assert sum(found.values()) == pytest.approx(10.0)


def test_opponents_count_together_and_the_largest_is_named_only_if_it_is_most_of_them():
    even = {INFER: 0.4, f"{OPPONENTS}/a": 0.3, f"{OPPONENTS}/b": 0.3}
    assert wall_of(even, "cpu", ALONE).phase == OPPONENTS
    assert wall_of(even, "cpu", ALONE).share == pytest.approx(0.6)
    uneven = {INFER: 0.4, f"{OPPONENTS}/a": 0.5, f"{OPPONENTS}/b": 0.1}
    assert wall_of(uneven, "cpu", ALONE).phase == f"{OPPONENTS}/a"
    assert wall_of({REST: 0.5, WAIT: 0.3, LEARN: 0.2}, "cuda", ALONE).phase == LEARN


def test_a_thread_that_waits_for_the_interpreter_is_held_up_by_what_it_works_on():
    wall, cpu = {SIMULATE: 6.0, OBSERVE: 4.0}, {SIMULATE: 1.0, OBSERVE: 4.0}
    assert by_work(wall, cpu) == {SIMULATE: 2.0, OBSERVE: 8.0}
    assert by_work(wall, {}) == wall


def test_workers_that_wait_for_central_inference_are_held_up_by_it():
    # A worker waits 6 of its 10 seconds: 5 while the others' rows and its own are answered.
    own, played = {WAIT: 10.0, LEARN: 2.0}, {SIMULATE: 8.0, WAIT: 12.0}
    held = held_up(own, played, 12.0, ASKING)
    found = answered(held, {f"{CENTRAL}/{INFER}": 3.0, f"{CENTRAL}/{SAMPLE}": 2.0})
    assert found == pytest.approx(
        {LEARN: 2.0, SIMULATE: 4.0, WAIT: 1.0, "central/infer": 3.0, "central/sample": 2.0}
    )
    # Neither part is the largest phase; what they wait for is.
    named = wall_of({phase: seconds / 12 for phase, seconds in found.items()}, "cuda", ASKING)
    assert named.phase == CENTRAL
    assert (
        wall_sentence(named, "kuhn") == "Bottleneck: central inference on the GPU, 42% of the time."
    )
    assert "rollouts.inference worker" in remedy(named)


def test_central_inference_that_nobody_waits_for_holds_nobody_up():
    found = answered({LEARN: 9.0, WAIT: 0.5, SIMULATE: 0.5}, {f"{CENTRAL}/{INFER}": 8.0})
    assert found == {LEARN: 9.0, WAIT: 0.0, SIMULATE: 0.5, "central/infer": 0.5}
    assert answered({LEARN: 9.0, WAIT: 0.5}, {}) == {LEARN: 9.0, WAIT: 0.5}


def test_central_inference_is_seen_in_shares_and_in_the_table():
    rollouts = {"matches": 16, "workers": 2, "launcher": "processes", "inference": "central"}
    values = {"game": "kuhn", "network": SMALL, "rollouts": rollouts}
    found = profile(Subject("asking", load_settings(values)), 0.05, 1)
    for shares in (found.wall_shares(), found.cpu_shares()):
        assert sum(shares.values()) == pytest.approx(1)
        assert shares["central/infer"] > 0
        assert INFER not in shares  # The workers have no networks.
    rows = {row[0]: row[1] for row in phase_rows(found, "kuhn")}
    assert rows["central/infer"] == "central inference: inference on the CPU"


@pytest.mark.parametrize("phase", [INFER, SAMPLE])
def test_processes_infer_on_the_cpu_where_the_run_has_a_gpu(phase):
    assert " on the CPU, " in wall_sentence(wall_of({phase: 1.0}, "cuda", PROCESSES), "kuhn")
    threads = replace(PROCESSES, launcher="threads")
    assert " on the GPU, " in wall_sentence(wall_of({phase: 1.0}, "cuda", threads), "kuhn")
    assert " on the GPU, " in wall_sentence(wall_of({LEARN: 1.0}, "cuda", PROCESSES), "kuhn")
    assert place_of(f"{CENTRAL}/{phase}", "cuda", ASKING) == "cuda"


def test_the_remedy_for_learning_names_what_lets_shards_run_at_once():
    text = remedy(wall_of({LEARN: 1.0}, "cpu", ALONE))
    assert "rollouts.launcher threads" in text
    assert "rollouts.workers" in text


@pytest.mark.parametrize(
    ("share", "gpu", "says", "never"),
    [
        (1.0, 0.17, "works 17% of the time", "shards"),
        (1.0, 0.95, "learning.epochs", "Python"),
        (0.45, 0.45, "learning.epochs", "Python"),  # At work for as long as anybody learns.
        (1.0, None, "learning.epochs", "Python"),
    ],
)
def test_the_remedy_for_learning_on_a_gpu_goes_by_whether_it_is_at_work(share, gpu, says, never):
    rest = dict.fromkeys((SIMULATE, OBSERVE), (1.0 - share) / 2)
    text = remedy(wall_of({LEARN: share} | rest, "cuda", ALONE), gpu)
    assert says in text
    assert never not in text


@pytest.mark.parametrize("phase", [*PHASES, CENTRAL])
def test_every_phase_has_a_name_and_a_remedy(phase):
    found = wall_of({phase: 1.0}, "cuda", ALONE)
    assert wall_sentence(found, "kuhn").endswith(", 100% of the time.")
    assert remedy(found).endswith(".")


def test_what_is_done_now_and_then_is_spread_over_the_iterations_between(tmp_path):
    found = measured(subject(game_file(tmp_path)))
    seconds = found.saving.wall / found.saving.every
    iteration = sum(lap.wall for lap in found.laps) / sum(lap.iterations for lap in found.laps)
    assert found.wall_shares()[SAVE] == pytest.approx(seconds / (seconds + iteration), rel=0.1)


@pytest.mark.parametrize("launcher", ["serial", "threads"])
def test_where_a_device_works_every_thread_waits_for_it_between_phases(tmp_path, launcher):
    threads = set()
    given = subject(game_file(tmp_path), workers=2, launcher=launcher)
    lap = settled_lap(given, 0.01, lambda: threads.add(threading.get_ident()))
    assert len(threads) == (3 if launcher == "threads" else 1)
    assert sum(lap.played.values()) > 0
    assert Phases().settle is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="There is no GPU.")
def test_on_a_gpu_rates_and_phases_come_from_laps_of_their_own():
    values = {"game": "beastybar", "rollouts": {"matches": 256}, "device": "cuda"}
    found = profile(Subject("x", load_settings(values)), 0.05, 2)
    assert (len(found.laps), len(found.settled)) == (2, 1)
    assert found.gpu_memory > 0
    assert found.gpu is not None or found.gpu_why
    shares = found.wall_shares()
    assert sum(shares.values()) == pytest.approx(1)
    assert "GPU" in wall_sentence(wall_of({LEARN: 1.0}, found.device, ALONE), "beastybar")


def test_warming_up_goes_on_while_iterations_are_slow():
    assert _cold([1.0, 2.1])
    assert not _cold([2.1, 1.0])
    assert not _cold([1.0, 1.9])
    assert not _cold([1.0] * 11 + [9.0])


# What is profiled.


def test_a_run_leaves_no_folder_and_touches_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    game = game_file(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with rig(subject(game), subject(game).settings) as run:
        assert run.folder.is_dir()
        run.warm_up(0)
    gc.collect()
    assert [path for path in sorted(tmp_path.rglob("*")) if "__pycache__" not in path.parts] == (
        before
    )


def test_of_a_pipeline_the_stage_that_learns_is_profiled_with_fresh_networks_of_its_shape(tmp_path):
    given = subject_of("beastybar-quick", ["rollouts.matches=8", "stages.rl.iterations=3"])
    assert given.stage == "rl"
    assert "stage rl" in given.notices[0]
    assert given.settings.iterations == 3
    assert given.settings.supervised_checkpoint == "imitation.safetensors"
    with rig(given, given.settings) as run:
        assert "imitation.safetensors" in run.sentence
        assert run.settings.network.resolved == Network(kind="mlp", size="m").resolved
        assert run.settings.supervised_digest
        run.iterate()
    assert subject_of("beastybar-quick", stage="league").settings.league is not None


def test_a_policy_that_is_there_is_taken_as_it_is(tmp_path):
    values = {"game": "kuhn", "network": SMALL, "rollouts": {"matches": 4}}
    file = tmp_path / "clone.safetensors"
    untrained(values, file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    given = Subject("x", load_settings(values | {"supervised_checkpoint": str(file)}))
    with rig(given, given.settings) as run:
        assert run.sentence == ""
        assert run.settings.supervised_digest == digest
        assert run.settings.supervised_checkpoint == str(file)


def test_of_a_pipelines_folder_the_policies_it_made_are_taken(tmp_path):
    rl = {"network": SMALL, "rollouts": {"matches": 4, "opponents": ["self", "imitation"]}}
    imitate = {"data_dir": "somewhere", "network": SMALL}
    story = {"game": "kuhn", "stages": {"imitate": imitate, "rl": rl}}
    (tmp_path / "recipe.yaml").write_text(json.dumps(story), encoding="utf-8")
    given = subject_of(str(tmp_path))
    with rig(given, given.settings) as run:
        assert "imitation" in run.sentence
    file = tmp_path / "imitation.safetensors"
    untrained({"game": "kuhn", "network": SMALL}, file)
    with rig(given, given.settings) as run:
        assert run.sentence == ""
        assert run.settings.supervised_checkpoint == str(file)
        assert run.settings.opponents == ("self", str(file))
        run.iterate()


def test_a_misspelt_opponent_is_refused_and_not_stood_in_for():
    values = {"game": "beastybar", "rollouts": {"opponents": ["heuristc"]}}
    with (
        pytest.raises(LanistaError, match="heuristic"),
        rig(given := Subject("x", load_settings(values)), given.settings),
    ):
        pass


def test_a_stage_that_is_not_there_is_refused():
    with pytest.raises(SettingsError, match="no stage 'league'"):
        subject_of("leduc-nash", stage="league")
    with pytest.raises(LanistaError, match="--stage"):
        subject_of("kuhn-ppo", stage="rl")


# The machine.


def test_a_reading_counts_what_processes_that_were_started_spend():
    import subprocess
    import sys

    before = reading()
    work = "sum(i * i for i in range(3_000_000)); input()"
    child = subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE)
    try:
        while used(before, reading()).cpu < 0.1:
            assert child.poll() is None
        alive = used(before, reading()).cpu
    finally:
        child.communicate(b"\n")
    assert used(before, reading()).cpu >= alive - 0.02
    assert peak_memory() > 0


def test_whether_the_cpu_has_bf16_is_a_fact_of_the_machine():
    flags = Path("/proc/cpuinfo")
    if not flags.is_file():
        pytest.skip("This system does not say what its CPU can do.")
    assert has_bf16("cpu") == ("bf16" in flags.read_text().split("processor", 2)[1])


def test_an_empty_profile_says_so_by_its_laps():
    assert Profile("cpu", Rollouts()).rates == []
