"""Runs whose matches are played in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import warm_python
from pipeline_runs import ARENA, KUHN, killed, last_state, same, same_run, settings_of

from lanista.errors import LanistaError, RefusedError
from lanista.league.population import Population
from lanista.nets.files.policy_file import load_policy
from lanista.rollout.launchers import restarts
from lanista.rollout.launchers.processes import WorkerError
from lanista.runs.settings import SettingsError
from lanista.training.collector_factory import refuse_graphs
from lanista.training.learner_loop import LearnerLoop
from lanista.training.loop import train
from lanista.training.observers import Observer

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
QUICK = {**KUHN, "evaluation": {}, "iterations": 4, "checkpoints": {"save_every": 2}}
STREAM = {**ARENA, "iterations": 4, "checkpoints": {"save_every": 2}}
KINDS = pytest.mark.parametrize("kind", [QUICK, STREAM], ids=["matches", "stream"])


def launched(values, launcher, workers=2, lag=0):
    told = {"launcher": launcher, "workers": workers, "lag": lag}
    return settings_of({**values, "rollouts": {**values["rollouts"], **told}})


def weights(path):
    return load_policy(path).policy.state_dict()


@KINDS
@pytest.mark.parametrize("launcher", ["threads", "processes"])
def test_one_worker_gives_the_numbers_of_the_learner_alone(kind, launcher, tmp_path):
    for name, settings in (("a", settings_of(kind)), ("b", launched(kind, launcher, workers=1))):
        assert train(settings, tmp_path / f"{name}.pt") == 0
    assert same(weights(tmp_path / "a.pt"), weights(tmp_path / "b.pt"))


@pytest.mark.parametrize(("kind", "lag"), [
    pytest.param(QUICK, 0, id="matches"),
    pytest.param(STREAM, 2, id="stream ahead"),
    pytest.param(QUICK, 2, id="matches ahead", marks=pytest.mark.slow),
    pytest.param(STREAM, 0, id="stream", marks=pytest.mark.slow),
])  # fmt: skip
def test_every_launcher_gives_the_same_run(kind, lag, tmp_path):
    for launcher in ("serial", "threads", "processes"):
        assert train(launched(kind, launcher, lag=lag), tmp_path / launcher / "p.pt") == 0
    for launcher in ("threads", "processes"):
        assert same_run(tmp_path / "serial" / "p.pt", tmp_path / launcher / "p.pt")


@pytest.mark.parametrize(("launcher", "at_once"), [("serial", 1), ("threads", 2), ("processes", 2)])
def test_shards_are_learned_from_at_once_wherever_workers_play_at_once(launcher, at_once, tmp_path):
    settings = launched(QUICK, launcher)
    sharded = replace(settings, learning=replace(settings.learning, shards=2))
    with closing(Population(sharded, tmp_path, LearnerLoop)) as population:
        assert [each.learner.threads.count for each in population.trainings.values()] == [at_once]


@pytest.mark.slow
def test_shards_beside_processes_give_the_numbers_of_shards_in_turn(tmp_path):
    for launcher in ("serial", "processes"):
        settings = launched(STREAM, launcher)
        sharded = replace(settings, learning=replace(settings.learning, shards=2))
        assert train(sharded, tmp_path / launcher / "p.pt") == 0
    assert same_run(tmp_path / "serial" / "p.pt", tmp_path / "processes" / "p.pt")


def test_two_workers_play_all_the_matches_and_every_one_once(tmp_path):
    assert train(launched(QUICK, "threads"), tmp_path / "a.pt") == 0
    state = last_state(tmp_path / "a.pt")
    assert state["matches"] == 4 * 32
    first, second = (part["next_match"] for part in state["collector"]["workers"])
    assert first == 4 * 16
    assert second - (1 << 34) // 2 == 4 * 16


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_weights_that_play_are_as_old_as_the_lag_says(lag, tmp_path):
    told: list[float] = []

    class Ages(Observer):
        def updated(self, update, values):
            assert values["lag/mean"] == values["lag/max"]
            told.append(values["lag/max"])

    settings = launched({**QUICK, "iterations": 6}, "threads", lag=lag)
    assert train(settings, tmp_path / "p.pt", observers=[Ages()]) == 0
    assert told == [min(update, lag) for update in range(6)]


@pytest.mark.parametrize(("kind", "launcher", "lag"), [
    pytest.param(QUICK, "threads", 1, id="matches in threads"),
    pytest.param(STREAM, "threads", 1, id="stream in threads"),
    pytest.param(STREAM, "processes", 2, id="stream in processes"),
    pytest.param(QUICK, "processes", 2, id="matches in processes", marks=pytest.mark.slow),
    pytest.param(QUICK, "processes", 0, id="matches without lag", marks=pytest.mark.slow),
    pytest.param(STREAM, "processes", 0, id="stream without lag", marks=pytest.mark.slow),
])  # fmt: skip
def test_killed_and_resumed_equals_the_unbroken_run(kind, launcher, lag, tmp_path):
    settings = launched(kind, launcher, lag=lag)
    train(settings, tmp_path / "a" / "p.pt")
    killed(settings, tmp_path / "b" / "p.pt", settings.updates - settings.learner_updates)
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same_run(tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt")


def test_a_run_may_be_resumed_with_another_launcher_and_stays_the_same(tmp_path):
    train(launched(STREAM, "serial", lag=1), tmp_path / "a" / "p.pt")
    settings = launched(STREAM, "processes", lag=1)
    killed(settings, tmp_path / "b" / "p.pt", settings.updates - settings.learner_updates)
    resumed = launched(STREAM, "threads", lag=1)
    assert train(resumed, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same(weights(tmp_path / "a" / "p.pt"), weights(tmp_path / "b" / "p.pt"))


@pytest.mark.parametrize("order", [("serial", "threads"), ("threads", "serial")])
@KINDS
def test_one_worker_may_be_launched_otherwise_too(kind, order, tmp_path):
    train(launched(kind, "serial", workers=1), tmp_path / "a" / "p.pt")
    first, then = (launched(kind, launcher, workers=1) for launcher in order)
    killed(first, tmp_path / "b" / "p.pt", first.updates - first.learner_updates)
    assert train(then, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same(weights(tmp_path / "a" / "p.pt"), weights(tmp_path / "b" / "p.pt"))


@pytest.mark.parametrize("launcher", ["serial", "threads"])
def test_cpu_seconds_are_those_of_the_process(launcher, tmp_path):
    began = time.process_time()
    assert train(launched(QUICK, launcher), tmp_path / "p.pt") == 0
    spent = time.process_time() - began
    assert 0 < last_state(tmp_path / "p.pt")["cpu_seconds"] <= spent


def test_threads_that_play_ahead_leave_the_learner_s_converted_weights_alone(tmp_path):
    network = {"kind": "lstm", "width": 16, "layers": 1}
    learning = {**STREAM["learning"], "precision": "bf16"}
    values = {**STREAM, "network": network, "learning": learning, "iterations": 8}
    for launcher in ("serial", "threads"):
        assert train(launched(values, launcher, lag=1), tmp_path / f"{launcher}.pt") == 0
    assert same(weights(tmp_path / "serial.pt"), weights(tmp_path / "threads.pt"))


@pytest.mark.parametrize("told", [{"workers": 3}, {"lag": 1}])
def test_a_run_keeps_its_workers_and_its_lag(told, tmp_path):
    train(launched(QUICK, "serial"), tmp_path / "p.pt")
    (key,) = told
    with pytest.raises(RefusedError, match=rf"begun with rollouts\.{key}"):
        train(launched(QUICK, "serial", **told), tmp_path / "p.pt", resume=True)


@pytest.mark.parametrize("launcher", ["serial", "threads", "processes"])
def test_a_game_that_refuses_its_settings_is_refused_by_every_launcher(launcher, tmp_path):
    values = {**QUICK, "game_settings": {"cards": 99}}
    with pytest.raises(LanistaError, match="cards"):
        train(launched(values, launcher), tmp_path / "p.pt")


@pytest.mark.parametrize("launcher", ["threads", "processes"])
def test_a_game_that_fails_in_a_worker_ends_the_run_with_its_reason(launcher, tmp_path):
    values = {
        **QUICK,
        "game": str(failing_game(tmp_path, "raise ValueError('the table fell over')")),
    }
    with pytest.raises(Exception, match="the table fell over"):
        train(launched(values, launcher), tmp_path / "p.pt")


def test_learners_who_meet_each_other_play_in_one_thread():
    values = {**QUICK, "league": {"main_exploiters": 1, "round": 2}}
    with pytest.raises(SettingsError, match=r"2 learners who meet each other"):
        launched(values, "threads")


FAILING = """
import os
from lanista.games import Facts, PythonGame, View

class Failing(PythonGame):
    \'\'\'A table that falls over at its first move.\'\'\'

    facts = Facts(2, 4, hidden=False, chance=False, zero_sum=True, simultaneous=False)
    observation = 1
    moves = 2

    def deal(self, rng):
        return [0]

    def view(self, state, seat):
        return View([0], [0, 1]) if state[0] % 2 == seat else None

    def apply(self, state, moves, rng):
        {fault}
"""


def failing_game(folder, fault):
    path = folder / "failing.py"
    path.write_text(FAILING.replace("{fault}", fault))
    return path


LEAGUE = {**QUICK, "iterations": 6, "league": {"round": 2, "main": {"snapshot_decisions": 40}}}


@pytest.mark.parametrize(("launcher", "workers", "lag"), [
    ("serial", 1, 1),
    ("threads", 2, 2),
    pytest.param("processes", 2, 1, marks=pytest.mark.slow),
])  # fmt: skip
def test_a_league_plays_ahead_and_is_resumed_to_the_same(launcher, workers, lag, tmp_path):
    settings = launched(LEAGUE, launcher, workers, lag)
    assert train(settings, tmp_path / "a" / "p.pt") == 0
    for update in (3, 5):
        again = (tmp_path / "b").exists()
        killed(settings, tmp_path / "b" / "p.pt", update, resume=again)
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same(last_state(tmp_path / "a" / "p.pt"), last_state(tmp_path / "b" / "p.pt"))


def central(values, **told):
    rollouts = {**values["rollouts"], "launcher": "processes", "inference": "central", **told}
    return settings_of({**values, "rollouts": rollouts})


@pytest.mark.parametrize(("kind", "lag"), [
    pytest.param(QUICK, 1, id="matches"),
    pytest.param({**STREAM, "network": {"kind": "lstm", "width": 16, "layers": 1}}, 0, id="lstm"),
])  # fmt: skip
def test_central_inference_gives_the_same_run_up_to_rounding(kind, lag, tmp_path):
    told: list[dict[str, float]] = []

    class Measured(Observer):
        def updated(self, update, values):
            told.append(values)

    assert train(launched(kind, "serial", lag=lag), tmp_path / "a.pt") == 0
    settings = central(kind, workers=2, lag=lag)
    assert train(settings, tmp_path / "b.pt", observers=[Measured()]) == 0
    here, there = weights(tmp_path / "a.pt"), weights(tmp_path / "b.pt")
    for name, tensor in here.items():
        torch.testing.assert_close(there[name], tensor, rtol=1e-3, atol=1e-4)
    assert sum(values["inference/batches"] for values in told) > 0
    assert any("inference/latency_ms/p50" in values for values in told)


@needs_proc
def test_central_inference_goes_on_with_the_process_that_takes_a_dead_one_s_place(tmp_path):
    killing = Killing(1, 2)
    settings = central({**QUICK, "iterations": 6}, workers=2, lag=1)
    assert train(settings, tmp_path / "p.pt", observers=[killing]) == 0
    assert sum("was started again" in each for each in killing.heard) == 2
    wait_until_only(killing.before)


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
def test_a_deadline_is_a_number_of_seconds(seconds):
    with pytest.raises(SettingsError, match=r"rollouts\.inference_deadline is"):
        central(QUICK, inference_deadline=seconds)


def test_threads_have_the_networks_at_hand():
    with pytest.raises(SettingsError, match=r"rollouts\.inference is central and the launcher thr"):
        central(QUICK, launcher="threads")


@pytest.mark.parametrize("launcher", ["ray", "ray-threads"])
def test_only_processes_of_this_machine_share_the_learner_s_gpu(launcher):
    far = central(QUICK, launcher=launcher, inference="worker", processes_on_gpu=True)
    assert far.rollouts.on_cpu
    assert central(QUICK, processes_on_gpu=True).rollouts.on_cpu, "they ask the learner's process"


def test_who_records_work_on_a_gpu_is_told_what_would_play_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    recorded = {**QUICK, "device": "cuda", "rollouts": {**QUICK["rollouts"], "graphs": True}}
    with pytest.raises(LanistaError, match=r"rollouts\.processes_on_gpu to true, or") as said:
        refuse_graphs(launched(recorded, "processes"))
    assert "and processes play on the CPU" in str(said.value)
    with pytest.raises(LanistaError, match=r"to false, or rollouts\.launcher to threads"):
        refuse_graphs(launched(recorded, "ray"))
    refuse_graphs(central(recorded))
    refuse_graphs(launched(recorded, "threads"))


def test_processes_that_may_share_a_gpu_play_on_the_cpu_without_one_and_go_on_either_way(tmp_path):
    settings = launched({**QUICK, "device": "cpu"}, "processes")
    assert train(settings, tmp_path / "a" / "p.pt") == 0
    killed(settings, tmp_path / "b" / "p.pt", 3)
    sharing = replace(settings, rollouts=replace(settings.rollouts, processes_on_gpu=True))
    assert train(sharing, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same_run(tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt")


class Killing(Observer):
    """Kills one of the processes that play after some of the updates, and hears what is said."""

    def __init__(self, *updates):
        self.before, self.updates = set(processes_of(os.getpid())), updates
        self.killed: set[int] = set()
        self.heard: list[str] = []

    def updated(self, update, values):
        if update in self.updates:
            # One that was killed is still listed until the server that forked it has looked.
            victim = min(set(processes_of(os.getpid())) - self.before - self.killed)
            self.killed.add(victim)
            os.kill(victim, signal.SIGKILL)

    def message(self, sentence):
        self.heard.append(sentence)


@needs_proc
@pytest.mark.parametrize("lag", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_a_process_that_is_killed_is_started_again_and_whole_matches_stay_the_same(lag, tmp_path):
    settings = launched({**QUICK, "iterations": 6}, "processes", lag=lag)
    assert train(settings, tmp_path / "a" / "p.pt") == 0
    before = set(processes_of(os.getpid()))
    killing = Killing(1, 2)
    assert train(settings, tmp_path / "b" / "p.pt", observers=[killing]) == 0
    told = [each for each in killing.heard if "ended with code -9 and was started again" in each]
    assert len(told) == 2
    wait_until_only(before)
    assert same(weights(tmp_path / "a" / "p.pt"), weights(tmp_path / "b" / "p.pt"))


@needs_proc
def test_a_stream_goes_on_with_fresh_matches_when_a_process_is_killed(tmp_path):
    settings = launched(STREAM, "processes", lag=1)
    assert train(settings, tmp_path / "p.pt", observers=[Killing(2, 4)]) == 0
    assert last_state(tmp_path / "p.pt")["iteration"] == 4


@needs_proc
def test_a_process_that_dies_again_and_again_is_given_up_with_a_report(tmp_path, monkeypatch):
    monkeypatch.setattr(restarts, "FIRST_PAUSE", 0.0)
    values = {**QUICK, "game": str(failing_game(tmp_path, "os._exit(7)"))}
    before = set(processes_of(os.getpid()))
    with pytest.raises(WorkerError, match=r"died 6 times .* with the codes 7, 7, 7, 7, 7, 7"):
        train(launched(values, "processes", workers=1), tmp_path / "p.pt")
    wait_until_only(before)


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals as Unix does")
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_signal_to_the_whole_group_saves_and_ends_the_run(number, tmp_path):
    """As `timeout`, a service manager or a terminal sends it: to all processes of a run."""
    command = [sys.executable, "-m", "lanista.cli.main", "rl", "--config", "kuhn-ppo", "--cpu",
               "--iterations", "1000000", "--save-every", "2", "--output", "p.pt", "--set",
               "rollouts.matches=8", "rollouts.workers=2", "rollouts.launcher=processes",
               "evaluation.every=0"]  # fmt: skip
    process = warm_python.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"}, start_new_session=True,
    )  # fmt: skip
    while not list((tmp_path / "p.pt.run").glob("checkpoints/00*")):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, number)
    out, err = process.communicate()
    assert (process.returncode, "Interrupted, and saved" in out) == (130, True), err
    assert "ended with code" not in err


ENDLESS = """
import sys
from pathlib import Path
from pipeline_runs import KUHN
from lanista.runs.settings import load_settings
from lanista.training.loop import train
values = {**KUHN, "evaluation": {}, "iterations": 10**6}
values["rollouts"] = dict(values["rollouts"])
values["rollouts"] |= {"workers": 2, "launcher": "processes", "lag": int(sys.argv[2])}
train(load_settings(values), Path(sys.argv[1]))
"""


def processes_of(parent: int) -> list[int]:
    """Return those that play: children of the child that all of them are forked from."""
    servers = [child for child in children_of(parent) if b"forkserver" in command_of(child)]
    return [process for server in servers for process in children_of(server)]


def command_of(process: int) -> bytes:
    """Return a process's command line; empty where it has ended in the meantime."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def wait_until_only(before: set[int]) -> None:
    """Wait until no process that plays is left but those of before; a test that hangs has failed.

    A process is listed for a moment after its last word has reached us.
    """
    while set(processes_of(os.getpid())) - before:
        time.sleep(0.01)


def children_of(parent: int) -> list[int]:
    path = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


@needs_proc
@pytest.mark.parametrize("lag", ["2", pytest.param("0", marks=pytest.mark.slow)])
def test_no_process_is_left_when_the_learner_is_killed(lag, tmp_path):
    here = str(Path(__file__).parents[1] / "helpers")
    env = {**os.environ, "PYTHONPATH": here, "OMP_NUM_THREADS": "1"}
    learner = warm_python.Popen(
        [sys.executable, "-c", ENDLESS, str(tmp_path / "p.pt"), lag], env=env
    )
    try:
        while not (tmp_path / "p.pt.run" / "checkpoints" / "000004").exists():
            assert learner.poll() is None
            time.sleep(0.05)
        children = [*children_of(learner.pid), *processes_of(learner.pid)]
        assert len(processes_of(learner.pid)) == 2
    finally:
        learner.send_signal(signal.SIGKILL)
        learner.wait()
    while any(Path(f"/proc/{child}").exists() for child in children):
        time.sleep(0.05)


STREAMED = {"mode": "stream", "unrolls": 12, "unroll_length": 2, "slots": 4}
POOL = {**LEAGUE, "iterations": 14, "checkpoints": {"save_every": 3}}
POOL["league"] = {"round": 1, "past_members": 2, "main": {"snapshot_decisions": 1}}


@pytest.mark.parametrize(
    ("rollouts", "launcher", "workers", "lag"),
    [({}, "serial", 2, 1), (STREAMED, "serial", 1, 0), (STREAMED, "threads", 2, 1)],
    ids=["ahead", "stream", "both"],
)
def test_those_who_left_a_league_are_let_go_and_a_resumed_one_is_the_same(
    rollouts, launcher, workers, lag, tmp_path, monkeypatch
):
    """A pool of two snapshots, a new one every iteration: chairs of those who left are reused."""
    chairs, digests = [], []
    meet = LearnerLoop.meet

    def watched(training, meetings):
        meet(training, meetings)
        chairs.append(len(training.chairs))
        digests.append(len(training.players))

    monkeypatch.setattr(LearnerLoop, "meet", watched)
    values = {**POOL, "rollouts": {**POOL["rollouts"], **rollouts}}
    settings = launched(values, launcher, workers, lag)
    assert train(settings, tmp_path / "a" / "p.pt") == 0
    # Two of the pool, for two reasons each, and one in each of the four slots' matches in flight.
    assert max(chairs) <= 8
    assert max(digests) <= 6
    with monkeypatch.context() as patched:
        patched.setattr(LearnerLoop, "meet", meet)
        killed(settings, tmp_path / "b" / "p.pt", 8)
        assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same(last_state(tmp_path / "a" / "p.pt"), last_state(tmp_path / "b" / "p.pt"))
