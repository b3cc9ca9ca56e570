"""Runs whose matches are played in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pipeline_runs import ARENA, KUHN, killed, last_state, same, same_run, settings_of

from lanista.errors import LanistaError
from lanista.nets.policy_file import load_policy
from lanista.pipeline.observers import Observer
from lanista.pipeline.settings import SettingsError
from lanista.pipeline.training import train
from lanista.rollout.fleet import _Member

QUICK = {**KUHN, "evaluation": {}, "iterations": 4, "checkpoints": {"save_every": 2}}


def with_processes(values, processes):
    return settings_of({**values, "rollouts": {**values["rollouts"], "processes": processes}})


@pytest.mark.parametrize("kind", [QUICK, {**ARENA, "iterations": 2}], ids=["kuhn", "arena stream"])
def test_one_process_gives_the_numbers_of_none(kind, tmp_path):
    for processes in (0, 1):
        assert train(with_processes(kind, processes), tmp_path / f"{processes}.pt") == 0
    here, there = (load_policy(tmp_path / f"{n}.pt").policy.state_dict() for n in (0, 1))
    assert same(here, there)


def test_two_processes_play_all_the_matches_and_every_one_once(tmp_path):
    settings = with_processes(QUICK, 2)
    assert train(settings, tmp_path / "a.pt") == 0
    state = last_state(tmp_path / "a.pt")
    assert state["matches"] == 4 * 32
    first, second = (part["next_match"] for part in state["collector"]["processes"])
    assert first == 4 * 16
    assert second - (1 << 34) // 256 == 4 * 16


@pytest.mark.parametrize("kind", [QUICK, {**ARENA, "iterations": 4, "checkpoints":
    {"save_every": 2}}], ids=["kuhn", "arena stream"])  # fmt: skip
def test_killed_and_resumed_equals_the_unbroken_run(kind, tmp_path):
    settings = with_processes(kind, 2)
    train(settings, tmp_path / "a" / "p.pt")
    killed(settings, tmp_path / "b" / "p.pt", settings.updates - settings.learner_updates)
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same_run(tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt")


def test_a_game_that_refuses_its_settings_is_refused_as_without_processes(tmp_path):
    values = {**QUICK, "game_settings": {"cards": 99}}
    with pytest.raises(LanistaError, match="cards"):
        train(with_processes(values, 2), tmp_path / "p.pt")


def test_learners_who_meet_each_other_play_in_one_process():
    values = {**QUICK, "league": {"main_exploiters": 1, "round": 2}}
    with pytest.raises(SettingsError, match=r"rollouts\.processes plays for one learner"):
        with_processes(values, 2)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_a_process_that_is_killed_is_told_and_the_run_is_resumed(tmp_path):
    settings = with_processes(QUICK, 2)
    assert train(settings, tmp_path / "a" / "p.pt") == 0
    before = set(processes_of(os.getpid()))
    started = []

    class Killing(Observer):
        def updated(self, update, values):
            started.extend(set(processes_of(os.getpid())) - before)
            os.kill(started[0], signal.SIGKILL)

    with pytest.raises(LanistaError, match=r"ended with code -9; .* start the same command"):
        train(settings, tmp_path / "b" / "p.pt", observers=[Killing()])
    assert len(started) == 2
    assert not set(processes_of(os.getpid())) - before
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    assert same_run(tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt")


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals as Unix does")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_whole_group_saves_and_ends_the_run(number, tmp_path):
    """As `timeout`, a service manager or a terminal sends it: to all processes of a run."""
    command = [sys.executable, "-m", "lanista.cli.main", "rl", "--config", "kuhn-ppo", "--cpu",
               "--iterations", "1000000", "--save-every", "2", "--output", "p.pt", "--set",
               "rollouts.matches=8", "rollouts.processes=2", "evaluation.every=0"]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"}, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    while not list((tmp_path / "p.pt.run").glob("checkpoints/00*")):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, number)
    out, err = process.communicate()
    assert (process.returncode, "Interrupted, and saved" in out) == (130, True), err
    assert "ended with code" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals as Unix does")
def test_a_process_that_is_just_starting_is_not_ended_by_a_signal_either():
    for number in (signal.SIGTERM, signal.SIGINT):
        member = _Member()
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
        os.kill(member.process.pid, number)
        with pytest.raises(LanistaError, match="no attribute 'nothing'"):
            member.ask("nothing", None) or member.answer()
        member.let_go()
        member.process.join()
        assert member.process.exitcode == 0


ENDLESS = """
import sys
from pathlib import Path
from pipeline_runs import KUHN
from lanista.pipeline.settings import load_settings
from lanista.pipeline.training import train
values = {**KUHN, "evaluation": {}, "iterations": 10**6}
values["rollouts"] = {**values["rollouts"], "processes": 2}
train(load_settings(values), Path(sys.argv[1]))
"""


def processes_of(parent: int) -> list[int]:
    """Return the children that play; one more keeps account of what they share."""
    told = {child: Path(f"/proc/{child}/cmdline").read_bytes() for child in children_of(parent)}
    return [child for child, words in told.items() if b"spawn_main" in words]


def children_of(parent: int) -> list[int]:
    path = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_no_process_is_left_when_the_learner_is_killed(tmp_path):
    here = str(Path(__file__).parent)
    env = {**os.environ, "PYTHONPATH": here, "OMP_NUM_THREADS": "1"}
    learner = subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path / "p.pt")], env=env)
    try:
        while not (tmp_path / "p.pt.run" / "checkpoints" / "000004").exists():
            assert learner.poll() is None
            time.sleep(0.05)
        children = children_of(learner.pid)
        assert len(children) >= 2
    finally:
        learner.send_signal(signal.SIGKILL)
        learner.wait()
    while any(Path(f"/proc/{child}").exists() for child in children):
        time.sleep(0.05)
