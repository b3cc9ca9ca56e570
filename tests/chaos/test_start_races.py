"""Processes that start on one folder at the same time: one goes on, the others end with 3."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
import warm_python

from lanista.games import registry
from lanista.live.files.policy_folder import PolicyFolder
from lanista.nets.files.policy_file import policy_bytes
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM is a Unix signal")
RACER = """
import sys, time
from pathlib import Path
from lanista.cli.main import main
import lanista.live.learner.background_learner, lanista.training.loop
from lanista.runs import folder as run_folder

def meet(place):
    # All have come this far before one goes on.
    place.mkdir(exist_ok=True, parents=True)
    (place / sys.argv[1]).touch()
    while len(list(place.iterdir())) < 2:
        time.sleep(0.001)

gate = Path(sys.argv[2])
usual = run_folder._remove_unborn
run_folder._remove_unborn = lambda folder: (usual(folder), meet(gate / f"inside-{folder.name}"))
for number, words in enumerate(line.split("|") for line in sys.argv[3:]):
    meet(gate / str(number))
    print("code", main(words), flush=True)
"""


def race(gate: Path, rounds: list[list[str]]) -> list[subprocess.Popen[str]]:
    words = ["|".join(round_) for round_ in rounds]
    return [
        warm_python.Popen(
            [sys.executable, "-c", RACER, str(number), str(gate), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
        )
        for number in range(2)
    ]


def test_of_runs_that_begin_at_the_same_time_one_is_made_and_the_other_refused(
    tmp_path: Path,
) -> None:
    tiny = ["--config", "kuhn-ppo", "--iterations", "1"]
    rounds = [["rl", *tiny, "--output", str(tmp_path / f"{n}.safetensors")] for n in range(1)]
    short = ["--rounds", "1", "--rl-iterations-per-round", "1", "--actor-rollouts", "8"]
    league = ["league", "--game", "kuhn", *short, "--cpu", "--output-dir"]
    rounds.append([*league, str(tmp_path / "league")])
    processes = race(tmp_path / "gate", rounds)
    said = [process.communicate(timeout=900) for process in processes]
    codes = [
        [line.split()[1] for line in out.splitlines() if line.startswith("code")] for out, _ in said
    ]
    assert [sorted(pair) for pair in zip(*codes, strict=True)] == [["0", "3"]] * len(rounds), said
    for _, errors in said:
        assert "Traceback" not in errors
    refusals = [
        line
        for _, errors in said
        for line in errors.splitlines()
        if "Another process" in line or "already" in line
    ]
    assert len(refusals) == len(rounds)
    assert not list(tmp_path.glob(".*.part"))


def test_of_learners_that_begin_at_the_same_time_one_serves_and_the_other_is_refused(
    tmp_path: Path,
) -> None:
    spec = registry.spec_of("kuhn")
    torch.manual_seed(0)
    rounds = []
    for number in range(2):
        folder = PolicyFolder(tmp_path / f"{number}" / "policy")
        folder.publish(folder.add(policy_bytes(Policy(spec, Network("mlp", width=8)), spec)))
        spool = tmp_path / f"{number}" / "spool"
        rounds.append(["learn", "--spool", str(spool), "--policy", str(folder.folder)])
    processes = race(tmp_path / "gate", rounds)
    # Reading waits for as long as somebody lives; one who hangs must fail the test, not stop it.
    watchdog = threading.Timer(900, lambda: [process.kill() for process in processes])
    watchdog.start()
    try:
        for number in range(len(rounds)):
            codes = finish(processes)
            assert sorted(codes) == [0, 3], number
    finally:
        watchdog.cancel()
        for process in processes:
            process.kill()
            process.wait()


def finish(processes: list[subprocess.Popen[str]]) -> list[int]:
    """Wait until one learner serves and the other has ended; stop it, and return both codes."""
    codes, serving = [-1, -1], None
    for number, process in enumerate(processes):
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "Traceback" not in line
        if line.startswith("learning from"):
            serving = process
            assert "is new and empty" in process.stderr.readline()
        else:
            assert "Another process is working on" in line
            codes[number] = code_of(process)
    assert serving is not None
    serving.send_signal(signal.SIGTERM)
    codes[processes.index(serving)] = code_of(serving)
    assert serving.stderr is not None
    assert "Stopping after this batch" in serving.stderr.readline()
    return codes


def code_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("code"):
            return int(line.split()[1])
    raise AssertionError("it ended without a code")
