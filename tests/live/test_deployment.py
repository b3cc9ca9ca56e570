"""A candidate's way: tried, published, watched, withdrawn; each decision is carried out once."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from practice import policy_of, published

from lanista.live.files.policy_folder import Pointer, PolicyFolder
from lanista.live.learner.ledger import GameRow
from lanista.live.learner.settings import Gate
from lanista.live.promotion.deployment import Deployment, Verdict
from lanista.live.promotion.gate import Trial, Watch
from lanista.live.promotion.sequential_test import Rule
from lanista.lock import is_held

GATE = Gate(every=5, share=0.5, watch_share=0.25, rule=Rule(limit=40), watch=Rule(limit=40))
ROW = GameRow(
    update_number=1, content="", game_id="", policy="", serial=0, candidate=False, outcome=1.0,
    crashed=False, steps=1, overruled=0, reward=0.0, log_prob=0.0, staleness=0, use="learned",
    predicted=None, came=None, at=0.0,
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> PolicyFolder:
    return published(tmp_path)


def trying(folder: PolicyFolder, gate: Gate = GATE) -> tuple[Deployment, str]:
    """Return a deployment in which a candidate is tried, and the candidate."""
    found = Deployment(gate, folder.pointer())
    digest = folder.add(policy_of(1))
    found.try_out(digest, "candidate")
    assert found.carry_out(folder)
    return found, digest


def row(found: Deployment, candidate: bool, outcome: float | None, **given: Any) -> GameRow:
    policy = found.second if candidate else found.stable
    told = {"serial": found.serial, "policy": policy} | given
    return replace(ROW, candidate=candidate, outcome=outcome, **told)


def only(verdicts: tuple[Verdict, ...]) -> Verdict | None:
    assert len(verdicts) <= 1
    return verdicts[0] if verdicts else None


def play(found: Deployment, second: float, stable: float, most: int = 200) -> Any:
    """Let both policies play in turn until there is a verdict."""
    for number in range(most):
        candidate = number % round(1 / found.share) == 0
        verdict = only(found.take(row(found, candidate, second if candidate else stable)))
        if verdict is not None:
            return verdict
    return None


def deployed(watch: bool, number: int, limit: int) -> Any:
    """Let two equal policies play, chosen as agents choose; return the verdict and the test."""
    gate = Gate(share=0.3, watch_share=0.2, rule=Rule(limit=limit), watch=Rule(limit=limit))
    second = hashlib.sha256(f"policy {number}".encode()).hexdigest()
    pointer = Pointer("ab" * 32, second, gate.watch_share if watch else gate.share, serial=7)
    found = Deployment(gate, pointer)
    test = Watch(gate.watch) if watch else Trial(gate.rule)
    found.tests, found.share = {second: test}, pointer.share
    drawn, verdict = np.random.default_rng([3, number]), None
    while verdict is None:
        mine = pointer.chosen(f"game {test.games}") is not None
        verdict = only(found.take(row(found, mine, 1.0 if drawn.random() < 0.8 else -1.0)))
    return verdict, test


@pytest.mark.parametrize(("watch", "share"), [(False, 0.3), (True, 0.8)])
def test_the_share_that_is_tested_is_the_one_that_agents_give(watch: bool, share: float) -> None:
    verdict, test = deployed(watch, 0, 400)
    assert verdict.kind != "void"
    new, old = test.side(True).games, test.side(False).games
    assert new / (new + old) == pytest.approx(share, abs=0.07)


@pytest.mark.slow
def test_of_200_deployments_of_an_equal_at_most_5_percent_are_published_or_rolled_back() -> None:
    trials = Counter(deployed(False, number, 1000)[0].kind for number in range(200))
    watches = Counter(deployed(True, number, 1000)[0].kind for number in range(200))
    assert trials["published"] <= 10
    assert watches["rolled_back"] <= 10
    assert trials["void"] + watches["void"] <= 2


def test_a_better_candidate_is_published_and_then_watched(folder: PolicyFolder) -> None:
    old = folder.pointer().stable
    found, digest = trying(folder)
    assert folder.pointer() == replace(folder.pointer(), stable=old, candidate=digest, share=0.5)
    verdict = play(found, 1, -1)
    assert (verdict.kind, verdict.digest) == ("published", digest)
    assert verdict.facts["difference"] == 1.0
    assert sum(verdict.facts["played"]) == verdict.facts["games"]
    assert folder.pointer().stable == old  # Decided, and not done yet.
    assert found.carry_out(folder)
    pointer = folder.pointer()
    assert (pointer.stable, pointer.candidate, pointer.share) == (digest, old, 0.25)
    assert isinstance(found.test, Watch)
    kept = play(found, -1, 1)
    assert (kept.kind, kept.digest) == ("kept", digest)
    found.carry_out(folder)
    assert (folder.pointer().stable, folder.pointer().candidate) == (digest, None)
    assert found.test is None


def test_a_published_policy_that_is_worse_is_rolled_back(folder: PolicyFolder) -> None:
    old = folder.pointer().stable
    found, digest = trying(folder)
    play(found, 1, -1)
    found.carry_out(folder)
    verdict = play(found, 1, -1)  # Now the one before it wins, and plays as the second.
    assert (verdict.kind, verdict.digest) == ("rolled_back", digest)
    assert verdict.facts["difference"] == -1.0
    found.carry_out(folder)
    pointer = folder.pointer()
    assert (pointer.stable, pointer.candidate) == (old, None)
    assert (found.stable, found.serial, found.test) == (old, pointer.serial, None)


def test_a_candidate_that_is_no_better_is_rejected(folder: PolicyFolder) -> None:
    old = folder.pointer().stable
    found, digest = trying(folder)
    verdict = play(found, 1, 1)
    assert (verdict.kind, verdict.digest) == ("rejected", digest)
    found.carry_out(folder)
    assert (folder.pointer().stable, folder.pointer().candidate) == (old, None)


def test_games_that_are_not_what_they_claim_make_a_trial_void(folder: PolicyFolder) -> None:
    found, digest = trying(folder, replace(GATE, rule=Rule(limit=400)))
    verdict = None
    for _ in range(100):
        verdict = verdict or only(found.take(row(found, True, 0)))
    assert verdict is not None
    assert (verdict.kind, verdict.digest) == ("void", digest)
    found.carry_out(folder)
    assert folder.pointer().candidate is None


def test_a_candidate_whose_games_get_lost_is_blamed(folder: PolicyFolder) -> None:
    gate = replace(GATE, rule=Rule(limit=2000))
    found, _ = trying(folder, gate)
    verdict = None
    for number in range(400):
        if verdict is None:
            score = None if number % 2 == 0 else -1
            verdict = only(found.take(row(found, number % 2 == 0, score)))
    assert verdict is not None
    assert (verdict.kind, verdict.decision.reason) == ("rejected", "missing")


def test_games_of_another_serial_or_another_policy_do_not_count(folder: PolicyFolder) -> None:
    found, _ = trying(folder)
    assert found.test is not None
    for given in (
        {"serial": found.serial - 1},
        {"serial": found.serial + 1},
        {"policy": "ab" * 32},
    ):
        for candidate in (True, False):
            assert found.take(row(found, candidate, 1, **given)) == ()
    assert found.test.games == 0
    found.take(row(found, True, 1))
    assert found.test.games == 1


@pytest.mark.parametrize(("outcome", "score"), [(3.0, 1.0), (0.0, 0.5), (-0.5, 0.0)])
def test_an_outcome_counts_by_its_sign(folder: PolicyFolder, outcome: float, score: float) -> None:
    found, _ = trying(folder)
    assert found.test is not None
    found.take(row(found, True, outcome))
    found.take(row(found, False, None))
    assert found.test.side(True).score == score
    assert found.test.side(False).missing == 1


@pytest.mark.parametrize("verb", ["try_out", "publish", "withdraw", "roll_back"])
@pytest.mark.parametrize("killed", ["before the change", "after the change"])
def test_a_decision_is_carried_out_once_over_a_kill(
    folder: PolicyFolder, verb: str, killed: str
) -> None:
    if verb == "try_out":
        found = Deployment(GATE, folder.pointer())
        found.try_out(folder.add(policy_of(1)), "candidate")
    else:
        found, _ = trying(folder)
        play(found, 1, -1) if verb != "withdraw" else play(found, 1, 1)
        if verb == "roll_back":
            found.carry_out(folder)
            play(found, 1, -1)
    saved = found.state()
    assert saved["due"]["verb"] == verb
    if killed == "after the change":
        found.carry_out(folder)
    serial = folder.pointer().serial
    again = Deployment.of(GATE, saved)
    assert again.carry_out(folder) == (killed == "before the change")
    assert folder.pointer().serial == serial + (killed == "before the change")
    assert len(folder.history()) == folder.pointer().serial
    assert again.serial == folder.pointer().serial
    assert again.due is None
    assert not again.carry_out(folder)
    assert not again.overtaken(folder.pointer())
    if killed == "after the change":
        assert again.state() == found.state()
    assert isinstance(again.test, {"try_out": Trial, "publish": Watch}.get(verb, type(None)))


def test_a_change_by_hand_is_not_undone_by_a_decision(folder: PolicyFolder) -> None:
    found, _ = trying(folder)
    play(found, 1, -1)
    mine = folder.publish(folder.add(policy_of(2)), "by hand")
    assert not found.carry_out(folder)
    assert folder.pointer() == mine
    assert found.overtaken(folder.pointer())


def test_nobody_comes_between_looking_and_changing(
    folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a policy that an operator published in that moment would be gone again."""
    found, _ = trying(folder)
    play(found, 1, -1)
    held: list[bool] = []
    usual = PolicyFolder.pointer

    def watched(self: PolicyFolder) -> Any:
        held.append(is_held(self.folder))
        return usual(self)

    monkeypatch.setattr(PolicyFolder, "pointer", watched)
    assert found.carry_out(folder)
    assert held
    assert all(held)


def test_the_state_of_a_trial_and_of_a_watch_goes_on_with_the_same_bits(
    folder: PolicyFolder,
) -> None:
    found, _ = trying(folder)
    for stage in (Trial, Watch):
        assert type(found.test) is stage
        for _ in range(3):
            found.take(row(found, True, 1))
            found.take(row(found, False, -1))
        again = Deployment.of(GATE, found.state())
        assert again.state() == found.state()
        one, other = play(found, 1, -1), play(again, 1, -1)
        assert one == other
        found.carry_out(folder)


def test_patience_lets_newer_weights_take_a_candidates_place(folder: PolicyFolder) -> None:
    found, _ = trying(folder, replace(GATE, patience=6))
    found.learned = 5
    for number in range(6):
        assert not found.wants_candidate(False)
        found.take(row(found, number % 2 == 0, 0))
    assert found.wants_candidate(False)
    found.learned = 4
    assert not found.wants_candidate(False)
    assert found.wants_candidate(True)  # Nothing more can be learned from what plays.


@pytest.mark.parametrize(("stable", "makes_room"), [(1.0, True), (-1.0, False)])
def test_a_candidate_that_is_not_ahead_makes_room_early_and_one_that_is_does_not(
    folder: PolicyFolder, stable: float, makes_room: bool
) -> None:
    gate = replace(GATE, refresh=10, patience=0, rule=Rule(futile=0, share=0))
    found, _ = trying(folder, gate)
    found.learned = 5
    play(found, 1, stable, 9)
    assert not found.undecided
    play(found, 1, stable, 1)
    assert found.test is not None
    assert found.undecided is makes_room
    assert found.wants_candidate(False) is makes_room
