"""`lanista rl` in several ranks: the same run as in one, also when a rank dies or the run stops."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import warm_python

from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.learn.update.ranks import Ranks
from lanista.nets.files import policy_format
from lanista.runs.checkpoints import Checkpoints
from lanista.runs.settings import RunSettings, load_settings
from lanista.training import ranks as module
from lanista.training.ranks import follow, joined, refuse_ranks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="gloo needs a Unix")
PATIENCE = 120.0
ITERATIONS, MANY = 4, 100_000


def words(output: Path, iterations: int, *more: str) -> list[str]:
    # With a fixed learning rate a run is the beginning of any longer one.
    settings = ["learning.shards=2", "learning.lr=0.001", "checkpoints.save_every=1"]
    settings += ["rollouts.matches=64", "evaluation.every=100000"]
    flags = ["--config", "kuhn-ppo", "--output", str(output), "--iterations", str(iterations)]
    return ["rl", *flags, "--cpu", "--set", *settings, *more]


def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return warm_python.Popen(
        [sys.executable, "-m", "lanista", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment,
    )  # fmt: skip


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors


def weights(path: Path) -> dict[str, Any]:
    return dict(policy_format.read(path).arrays)


def equal(one: Path, other: Path) -> bool:
    mine, theirs = weights(one), weights(other)
    return mine.keys() == theirs.keys() and all(
        np.array_equal(mine[name], theirs[name]) for name in mine
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run by one rank with two shards."""
    output = tmp_path_factory.mktemp("alone") / "policy.safetensors"
    code, errors = finished(start(*words(output, ITERATIONS)))
    assert code == 0, errors
    return output


def followers(process: subprocess.Popen[str]) -> list[int]:
    """Return the processes that a run has started as ranks."""
    numbers = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            command = (path.parent / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if parent == process.pid and b"lanista.training.ranks" in command:
            numbers.append(int(path.parent.name))
    return numbers


def reached(output: Path, iteration: int) -> None:
    """Wait until a run has saved an iteration."""
    folder = output.with_name(f"{output.name}.run") / "checkpoints"
    last = time.monotonic() + PATIENCE
    while not (folder.is_dir() and max([0, *Checkpoints(folder).numbers()]) >= iteration):
        assert time.monotonic() < last
        time.sleep(0.02)


def gone(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def refuse_other_end(output: Path, *more: str) -> None:
    """Go on with a run for two iterations; it must end where one that was never broken ends."""
    folder = output.with_name(f"{output.name}.run") / "checkpoints"
    last = Checkpoints(folder).numbers()[-1] + 2
    unbroken = output.with_name("unbroken.safetensors")
    for process in (start(*words(output, last, "--resume", *more)), start(*words(unbroken, last))):
        code, errors = finished(process)
        assert code == 0, errors
    assert equal(output, unbroken)


def test_two_ranks_make_the_run_of_one_to_the_last_bit(alone: Path, tmp_path: Path) -> None:
    output = tmp_path / "policy.safetensors"
    code, errors = finished(start(*words(output, ITERATIONS, "--ranks", "2")))
    assert code == 0, errors
    assert equal(output, alone)


@pytest.mark.skipif(sys.platform != "linux", reason="it looks for the ranks in /proc")
def test_a_dead_rank_ends_the_run_with_a_sentence_and_it_resumes(
    tmp_path: Path,
) -> None:
    output = tmp_path / "policy.safetensors"
    process = start(*words(output, MANY, "--ranks", "2"))
    reached(output, 1)
    (follower,) = followers(process)
    os.kill(follower, signal.SIGKILL)
    code, errors = finished(process)
    assert code == 1
    assert [line for line in errors.splitlines() if "A rank is gone" in line]
    assert "Traceback" not in errors
    refuse_other_end(output, "--ranks", "2")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="it looks for the ranks in /proc")
def test_when_the_first_rank_is_killed_the_others_end_and_the_run_resumes_in_one(
    tmp_path: Path,
) -> None:
    output = tmp_path / "policy.safetensors"
    process = start(*words(output, MANY, "--ranks", "2"))
    reached(output, 1)
    (follower,) = followers(process)
    process.kill()
    process.communicate()
    last = time.monotonic() + PATIENCE
    while not gone(follower):
        assert time.monotonic() < last, "the other rank goes on"
        time.sleep(0.02)
    refuse_other_end(output)


def test_ranks_are_found_by_the_variables_that_torchrun_sets(alone: Path, tmp_path: Path) -> None:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port = str(line.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    shared["GLOO_SOCKET_IFNAME"] = "lo" if sys.platform == "linux" else "lo0"
    outputs = [tmp_path / f"rank{rank}.safetensors" for rank in range(2)]
    processes = [
        start(*words(output, ITERATIONS), RANK=str(rank), LOCAL_RANK=str(rank), **shared)
        for rank, output in enumerate(outputs)
    ]
    for process in processes:
        code, errors = finished(process)
        assert code == 0, errors
    assert equal(outputs[0], alone)
    assert [path.name for path in tmp_path.iterdir() if "rank1" in path.name] == []


@pytest.mark.slow
def test_an_interrupt_saves_and_ends_all_ranks(tmp_path: Path) -> None:
    output = tmp_path / "policy.safetensors"
    process = start(*words(output, MANY, "--ranks", "2"))
    reached(output, 1)
    children = followers(process) if sys.platform == "linux" else []
    process.send_signal(signal.SIGINT)
    code, errors = finished(process)
    assert code == 130, errors
    assert all(map(gone, children))
    refuse_other_end(output, "--ranks", "2")


def test_what_ranks_cannot_do_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = Ranks()
    ranks.size, ranks.alone = 2, False
    with pytest.raises(LanistaError, match=r"learning.shards is 1, and 2 ranks learn; give"):
        refuse_ranks(ranks, RunSettings())
    with pytest.raises(LanistaError, match="A league's learners"):
        refuse_ranks(ranks, load_settings({"league": {}, "learning": {"shards": 2}}))
    assert main(words(tmp_path / "p.safetensors", 1, "--ranks", "0")) == 2
    assert "--ranks is 0; give 1 or more." in capsys.readouterr().err
    monkeypatch.setenv("WORLD_SIZE", "many")
    with pytest.raises(LanistaError, match="WORLD_SIZE is 'many'"), joined(None):
        pass
    with pytest.raises(LanistaError, match="torchrun has started ranks"), joined(2):
        pass


def test_a_rank_that_cannot_start_ends_the_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module.sys, "executable", "/bin/false")
    assert main(words(tmp_path / "p.safetensors", 1, "--ranks", "2")) == 1
    assert "ended before it joined" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_rank_with_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Told(Ranks):
        def heard(self) -> tuple[str, Any]:
            return "begin", {"settings": {}, "versions": ["0.0.1", torch.__version__]}

    monkeypatch.setattr(module.signal, "signal", lambda *_: None)
    with pytest.raises(LanistaError, match=r"rank 0 has 0\.0\.1"):
        follow(Told())
