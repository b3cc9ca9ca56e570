"""Peers are asked, timed with all their processes, compared and ended; their rates are not judged.

Small programs stand for the peers. The real ones run where `make peers` has installed them.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.peers_learning import PEERS, Peer
from bench.peers_process import Learned, PeerFailed, PeerProcess

from bench import learning, peers_learning, peers_process

STUB = """
import json, subprocess, sys, time
def busy(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
BUSY = "import time\\nwhile time.process_time() < %s: pass"
{before}
print(json.dumps({{"version": "1.0"}}), flush=True)
for line in sys.stdin:
    {work}
    print(json.dumps({{"decisions": int(line), "matches": 400, "score": {score}}}), flush=True)
"""


BUSY_FOREVER = "while True: pass"


def stub(work: str = "busy(0.05)", before: str = "", score: str = "0.5") -> list[str]:
    return [sys.executable, "-c", STUB.format(work=work, before=before, score=score)]


def installed(folder: Path, program: list[str]) -> Peer:
    """Return a peer whose interpreter runs `program`, whatever it is asked to run."""
    peer = replace(PEERS[0], module="stub", title="Stub")
    home = folder / "stub"
    (home / "bin").mkdir(parents=True)
    (home / "ready").touch()
    (home / "program.py").write_text(program[2], encoding="utf-8")
    python = home / "bin" / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} {home}/program.py\n", encoding="utf-8")
    python.chmod(0o755)
    return peer


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(peers_learning, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(peers_learning, "REPEATS", 2)
    monkeypatch.setattr(peers_process, "PATIENCE", 1.0)


def test_a_peer_that_is_not_installed_is_said_to_be_missing() -> None:
    lines = list(peers_learning.peers({"fp32": lambda: 1.0}))
    assert [line["bench"].split(", ")[-1] for line in lines] == [peer.title for peer in PEERS]
    assert all(line["why"] == "not measured: `make peers` adds it" for line in lines)


def test_a_peer_that_did_not_install_says_why(tmp_path: Path) -> None:
    peer = PEERS[0]
    (tmp_path / peer.module).mkdir()
    said = "WARNING: slow\nERROR: No matching distribution found for it\n"
    (tmp_path / peer.module / "install.log").write_text(said, encoding="utf-8")
    (line,) = peers_learning.peers({}, (peer,))
    assert line["why"] == (
        "not measured: did not install: ERROR: No matching distribution found for it"
    )


def test_a_peer_that_fails_says_why_and_the_next_goes_on(tmp_path: Path) -> None:
    peer = installed(tmp_path, ["", "", "import sys\nsys.exit('broken wheel')"])
    failed, missing = peers_learning.peers({}, (peer, PEERS[1]))
    assert failed["why"] == "failed: broken wheel"
    assert missing["why"].startswith("not measured")


def test_a_peer_is_compared_at_both_sizes_with_each_precision(tmp_path: Path) -> None:
    peer = installed(tmp_path, stub(score="0.5 if int(line) < 20_000 else 0.9"))
    lines = [
        json.loads(json.dumps(line))
        for line in peers_learning.peers({"fp32": lambda: 1.0, "bf16": lambda: 1e12}, (peer,))
    ]
    assert [line["sizes"] for line in lines] == ["usual sizes"] * 3 + ["its fastest sizes"] * 3
    rate, fp32, bf16 = lines[3:]
    assert rate["version"] == "1.0"
    assert rate["batch"] == peer.fastest["batch"]
    assert 0 < rate["low"] <= rate["median"] <= rate["high"]
    assert (rate["score_first"], rate["score_last"], rate["learns"]) == (0.5, 0.9, True)
    assert (fp32["met"], bf16["met"]) == (False, True)


def test_ours_over_theirs_is_the_median_of_neighbours() -> None:
    # Repeats beside each other: 40/10, 60/20 and 90/10, so 4, 3 and 9.
    rounds = [
        (Learned(10, 1.0, None, 0), {"fp32": 40.0}),
        (Learned(40, 2.0, None, 0), {"fp32": 60.0}),
        (Learned(10, 1.0, None, 0), {"fp32": 90.0}),
    ]
    (line,) = peers_learning.ratios(replace(PEERS[0], times=4.5), "any", rounds)
    assert (line["ratio"], line["low"], line["high"], line["ours"]) == (4.0, 3.0, 9.0, 60)
    assert line["met"] is False


@pytest.mark.parametrize(("last", "learns"), [("0.50", False), ("0.56", False), ("0.58", True)])
def test_a_peer_learns_if_its_score_rose_beyond_chance(
    tmp_path: Path, last: str, learns: bool
) -> None:
    # Two scores of 400 matches each: 1.96 * sqrt(0.25 / 400 + 0.25 / 400) is 0.069.
    peer = installed(tmp_path, stub("pass", score=f"0.5 if int(line) < 20_000 else {last}"))
    assert peers_learning.learning(peer)["learns"] is learns


def test_the_time_of_every_process_is_counted() -> None:
    child = "subprocess.run([sys.executable, '-c', BUSY % 0.4], check=True, start_new_session=True)"
    with PeerProcess(stub(f"busy(0.2); {child}")) as running:
        learned = running.learn(100)
    assert learned.decisions == 100
    assert learned.seconds > 0.5
    assert learned.rate == pytest.approx(100 / learned.seconds)


def test_a_daemon_that_left_the_tree_is_counted_and_ended() -> None:
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BUSY_FOREVER!r}])"
    leave = f"subprocess.run([sys.executable, '-c', {code!r}], start_new_session=True)"
    with PeerProcess(stub("pass", before=leave)) as running:
        assert len(running.processes()) == 2
        began, looks = running.seconds(), 0
        while running.seconds() < began + 0.2 and looks < 200:
            time.sleep(0.1)
            looks += 1
        assert running.seconds() >= began + 0.2
    assert running.processes() == []


def test_what_goes_on_between_requests_can_be_halted() -> None:
    start = f"subprocess.Popen([sys.executable, '-c', {BUSY_FOREVER!r}])"
    with PeerProcess(stub("pass", before=start), halted=True) as running:
        before = running.seconds()
        time.sleep(0.3)
        assert running.seconds() - before <= 0.02
        assert running.learn(5).decisions == 5
    assert running.processes() == []


def test_what_a_peer_leaves_at_home_is_gone() -> None:
    keep = "from pathlib import Path; (Path.home() / 'token').touch()"
    with PeerProcess(stub("pass", before=f"{keep}; sys.stderr.write(str(Path.home()))")) as running:
        home = Path(running._environment()["HOME"])
        assert (home / "token").exists()
        assert (home / "said").read_text(encoding="utf-8") == str(home)
    assert not home.exists()


def test_a_peer_that_says_nothing_has_failed() -> None:
    with pytest.raises(PeerFailed, match="without a word"), PeerProcess(["true"]):
        pass


def test_ours_is_made_when_it_is_first_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Trainer:
        def __init__(self, precision: str) -> None:
            made.append(precision)

        def spend(self, updates: int) -> Any:
            return learning.Spent(decisions=10 * updates, collecting=1.0, learning=1.0)

    monkeypatch.setattr(learning, "Trainer", Trainer)
    measure = learning.repeats("fp32")
    assert made == []
    assert [measure(), measure()] == [5 * learning.UPDATES] * 2
    assert made == ["fp32"]
