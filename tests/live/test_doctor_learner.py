"""The doctor on the learner's side: who runs, what waits, what is refused, what is published."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import warm_python
from patients import book_of, found, healthy, learn, offered, only, play, sight
from toy import HERE, agent_of, folder_of, spec_of

from lanista.live.diagnosis.doctor import examine
from lanista.live.files.spool import Spool
from lanista.live.learner.ledger import BatchRow, Ledger
from lanista.lock import holding


def test_games_that_are_all_too_old_are_found(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 20)
    learn(tmp_path, use="stale", staleness=431)
    (tmp_path / "policy" / "learner" / "settings.yaml").write_text("staleness: 200\n")
    evidence = only(tmp_path, "all_stale").evidence
    assert evidence == {
        "games": 20, "stale": 20, "median": 431, "limit": 200,
        "far": 0, "median_distance": 0.0, "limit_distance": None,
    }  # fmt: skip


def test_games_that_are_all_too_far_from_the_weights_are_found_as_such(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 20)
    learn(tmp_path, use="stale", staleness=3, distance=0.75)
    settings = tmp_path / "policy" / "learner" / "settings.yaml"
    settings.write_text("staleness: 200\ndistance: 0.5\n")
    finding = only(tmp_path, "all_stale")
    assert finding.evidence == {
        "games": 20, "stale": 20, "median": 3, "limit": 200,
        "far": 20, "median_distance": 0.75, "limit_distance": 0.5,
    }  # fmt: skip
    assert "20 of them too far" in finding.sentence
    assert "`distance`" in finding.remedy


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("rejected", "futile"), ("rejected", "missing"), ("void", "share"), ("vetoed", "veto")],
)
def test_a_gate_that_never_passes_is_found_with_its_reasons(
    tmp_path: Path, kind: str, reason: str
) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 20)
    learn(tmp_path)
    with book_of(tmp_path) as ledger:
        for update in range(4):
            offered(ledger, update, kind, reason)
        offered(ledger, 4, "rejected", "limit")
    finding = only(tmp_path, "gate_never_passes")
    assert finding.evidence["reasons"] == {reason: 4, "limit": 1}
    assert (finding.evidence["offered"], finding.evidence["judged"]) == (5, 5)
    assert repr(reason) in finding.remedy


def test_some_rejections_after_a_publication_are_no_finding(tmp_path: Path) -> None:
    healthy(tmp_path)
    with book_of(tmp_path) as ledger:
        for update in range(3, 12):
            offered(ledger, update, "rejected", "futile")
        assert found(tmp_path) == []
        offered(ledger, 12, "rejected", "futile")
    assert only(tmp_path, "gate_never_passes").gravity == "doubt"


def test_candidates_that_nobody_ever_decides_on_are_found(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 20)
    learn(tmp_path)
    with book_of(tmp_path) as ledger:
        for update in range(9):
            replaced(ledger, update)
        assert found(tmp_path) == []
        replaced(ledger, 9)
    finding = only(tmp_path, "gate_never_passes")
    assert finding.evidence["reasons"] == {"undecided": 10}
    assert (finding.evidence["offered"], finding.evidence["judged"]) == (10, 10)
    assert "gate.refresh" in finding.remedy


def replaced(ledger: Ledger, update: int) -> None:
    """Write down a candidate that made room for newer weights."""
    ledger.add_event(update, "candidate", digest="cd" * 32, stable="ab" * 32, share=0.5)
    ledger.add_event(update, "superseded", digest="cd" * 32, games=60, difference=0.0)


def test_a_learner_that_offers_no_candidate_is_found(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 30)
    learn(tmp_path)
    (tmp_path / "policy" / "learner" / "settings.yaml").write_text("gate: {every: 10}\n")
    assert only(tmp_path, "no_candidate").evidence["learned"] == 30


def test_games_that_nobody_takes_are_found_unless_a_learner_runs(tmp_path: Path) -> None:
    healthy(tmp_path)
    play(tmp_path, 12, prefix="waiting")
    evidence = only(tmp_path, "learner_absent").evidence
    assert (evidence["waiting"], evidence["archived"]) == (12, 60)
    with holding(tmp_path / "spool" / "work", "learner"):
        assert found(tmp_path) == []


def test_a_learner_that_was_stopped_is_told_from_one_that_was_killed(tmp_path: Path) -> None:
    healthy(tmp_path)
    play(tmp_path, 12, prefix="waiting")
    assert "ended without stopping" in only(tmp_path, "learner_absent").sentence
    with book_of(tmp_path) as ledger:
        ledger.add_event(3, "stopped")
    assert "no learner is running" in only(tmp_path, "learner_absent").sentence


def test_games_that_nobody_ever_took_are_found_in_a_spool_alone(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 12)
    (finding,) = examine(tmp_path / "spool").findings
    assert finding.name == "learner_absent"
    assert "no learner ever took any" in finding.sentence


def test_a_learner_of_another_spool_is_found(tmp_path: Path) -> None:
    healthy(tmp_path)
    with book_of(tmp_path) as ledger:
        ledger.add_event(2, "started", spool=str(tmp_path / "old spool"))
    evidence = only(tmp_path, "other_spool").evidence
    assert evidence["learner"] == str(tmp_path / "old spool")


def test_a_learner_that_falls_behind_is_found(tmp_path: Path) -> None:
    healthy(tmp_path)
    play(tmp_path, 25, prefix="waiting")
    with book_of(tmp_path) as ledger:
        for update in range(3, 43):
            ledger.add_batch(BatchRow(update, 2, 2, 24, 1, 0.1, 0, 1.0, 1.0, update // 2, 0.0))
    with holding(tmp_path / "spool" / "work", "learner"):
        evidence = only(tmp_path, "learner_behind").evidence
    assert evidence["waiting"] == 25
    assert evidence["waited_now"] > 2 * evidence["waited_before"]


def test_refused_files_are_found_with_the_commonest_reason(tmp_path: Path) -> None:
    healthy(tmp_path)
    spool = Spool(tmp_path / "spool")
    for i in range(6):
        path = spool.new / f"broken {i}.npz"
        path.write_bytes(b"no game")
        why = "its header is not JSON" if i else "it is a symbolic link"
        spool.reject(path, f"The game file {path.name!r} is refused: {why}.")
    finding = only(tmp_path, "bad_files")
    reasons = {"its header is not JSON.": 5, "it is a symbolic link.": 1}
    assert finding.evidence["reasons"] == reasons
    assert finding.gravity == "spoils"


def test_games_of_another_layout_are_found_before_a_learner_refuses_them(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    folder_of(elsewhere / "policy", spec=spec_of(name="another toy"))
    folder_of(tmp_path / "policy")
    play(elsewhere, 9)
    finding = list(examine(elsewhere / "spool", tmp_path / "policy").findings)
    assert [one.name for one in finding] == ["bad_files"]
    assert "'another toy'" in finding[0].sentence
    assert len(finding[0].evidence["unreadable"]) == 5


KILLED = """
import os, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from patients import sight
from toy import agent_of
agent = agent_of(Path(sys.argv[1]))
game = agent.game("killed")
import time
while not any(p.stat().st_size for p in Path(sys.argv[1], "spool", "open").glob("killed*.journal")):
    game.act(sight(0, 0))
    time.sleep(0.01)
os._exit(9)
"""


def test_journals_of_dead_processes_are_found_and_those_of_the_living_are_not(
    tmp_path: Path,
) -> None:
    healthy(tmp_path)
    with agent_of(tmp_path) as agent:
        game = agent.game("being played")
        game.act(sight(0, 0))
        words = [sys.executable, "-c", KILLED, str(tmp_path), str(HERE)]
        assert warm_python.run(words, check=False).returncode == 9
        finding = only(tmp_path, "dead_journals")
        game.end(1.0)
    assert finding.evidence["journals"] == 1
    # Looking recovered nothing; the next agent does.
    assert agent_of(tmp_path).close().games.recovered == 1


def test_an_empty_spool_and_an_unusable_policy_are_found(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "policy")
    Spool(tmp_path / "spool").create()
    assert only(tmp_path, "no_games").evidence["playing"] == 0
    play(tmp_path, 3)
    path = folder.path_of(folder.pointer().stable)
    path.write_bytes(path.read_bytes()[:-1])
    finding = only(tmp_path, "policy_unusable")
    assert str(path) in finding.evidence["trouble"]
