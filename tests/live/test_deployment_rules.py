"""Which rule a test in service goes by, when a candidate is wanted, and what a state holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from practice import policy_of, published
from test_deployment import ROW

from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.settings import Gate
from lanista.live.promotion.deployment import Deployment, Due
from lanista.live.promotion.gate import Trial, Watch
from lanista.live.promotion.sequential_test import Rule

GATE = Gate(
    every=5, share=0.4, watch_share=0.25, rule=Rule(limit=31), watch=Rule(limit=47), patience=12
)


@pytest.fixture
def folder(tmp_path: Path) -> PolicyFolder:
    return published(tmp_path)


def test_a_trial_goes_by_the_gates_rule_and_a_watch_by_the_watchs(folder: PolicyFolder) -> None:
    found = Deployment(GATE, folder.pointer())
    first = found.stable
    digest = folder.add(policy_of(1))
    found.try_out(digest, "candidate")
    found.carry_out(folder)
    for deployment in (found, Deployment.found(GATE, folder)):
        assert type(deployment.test) is Trial
        assert deployment.test.rule == GATE.rule
        assert (deployment.stable, deployment.second, deployment.share) == (first, digest, 0.4)
        assert deployment.serial == folder.pointer().serial
    found.publish(digest, "better")
    found.carry_out(folder)
    for deployment in (found, Deployment.found(GATE, folder)):
        assert type(deployment.test) is Watch
        assert deployment.test.rule == GATE.watch
        assert (deployment.stable, deployment.second, deployment.share) == (digest, first, 0.25)
    folder.withdraw()
    assert Deployment.found(GATE, folder).test is None


def taken(found: Deployment, games: int, score: float = 0.0) -> None:
    """Let both play by turns, the candidate with an outcome of its own."""
    for number in range(games):
        candidate = number % 2 == 0
        policy = found.second if candidate else found.stable
        row = replace(
            ROW, candidate=candidate, outcome=score if candidate else 0.0, policy=policy,
            serial=found.serial,
        )  # fmt: skip
        assert found.take(row) == ()


def trying(folder: PolicyFolder, gate: Gate) -> Deployment:
    found = Deployment(gate, folder.pointer())
    found.try_out(folder.add(policy_of(1)), "candidate")
    found.carry_out(folder)
    return found


def test_a_candidate_is_wanted_after_exactly_as_many_games_as_the_gate_says(
    folder: PolicyFolder,
) -> None:
    found = Deployment(GATE, folder.pointer())
    wanted = []
    for learned in (4, 5, 6):
        found.learned = learned
        wanted.append(found.wants_candidate(spent=False))
    assert wanted == [False, True, True]
    found.learned = 0
    assert found.wants_candidate(spent=True)
    found.due = Due("withdraw", found.stable, 0.0, "")
    assert not found.wants_candidate(spent=True)


def test_another_candidate_may_come_after_exactly_as_many_games_as_patience_says(
    folder: PolicyFolder,
) -> None:
    found = trying(folder, GATE)
    found.learned = 100
    taken(found, 11)
    assert not found.wants_candidate(spent=True)
    taken(found, 1)
    assert found.wants_candidate(spent=True)


@pytest.mark.parametrize(("score", "makes_room"), [(0.0, True), (1.0, False)])
def test_a_candidate_makes_room_early_unless_it_is_ahead_by_the_margin(
    folder: PolicyFolder, score: float, makes_room: bool
) -> None:
    rule = Rule(publish=1e-9, roll_back=1e-9, futile=0, missing=0, share=0, margin=0.1)
    gate = replace(GATE, patience=0, refresh=6, rule=rule)
    found = trying(folder, gate)
    taken(found, 5, score)
    assert not found.undecided
    taken(found, 1, score)
    assert found.undecided == makes_room


def test_a_watch_never_makes_room(folder: PolicyFolder) -> None:
    found = trying(folder, replace(GATE, patience=1))
    found.publish(str(found.second), "better")
    found.carry_out(folder)
    taken(found, 4)
    assert not found.undecided


@pytest.mark.parametrize("due", [None, Due("publish", "cd" * 32, 0.25, "better")])
def test_a_state_holds_all_that_a_deployment_knows(folder: PolicyFolder, due: Any) -> None:
    found = trying(folder, GATE)
    taken(found, 7)
    found.learned, found.due = 3, due
    again = Deployment.of(GATE, found.state())
    for name in ("serial", "stable", "second", "share", "learned", "due"):
        assert getattr(again, name) == getattr(found, name), name
    assert type(again.test) is Trial
    assert found.test is not None
    assert again.test.save() == found.test.save()
    assert again.state() == found.state()
