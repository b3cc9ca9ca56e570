"""Between weights and service: what is offered, what becomes of it, what is noted."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from practice import (
    Bench,
    is_policy,
    kinds_of,
    offered,
    policy_of,
    quick,
    same_weights,
    settings_of,
)
from toy import agent_of, view

from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.background_learner import BackgroundLearner
from lanista.live.promotion.ope_veto import recorded_opinion
from lanista.live.promotion.sequential_test import Rule
from lanista.nets.files.policy_file import load_policy
from lanista.nets.settings import Network


def test_a_candidate_is_offered_tried_published_watched_and_kept(tmp_path: Path) -> None:
    gate = quick(every=2, watch_share=0.5, watch=Rule(limit=30))
    bench = Bench(tmp_path, settings_of(gate))
    old = bench.stable
    with bench.start() as learner:
        new = offered(bench, learner)
        snapshot = load_policy(bench.folder.path_of(new)).policy
        assert same_weights(learner.weights.learner.policy, snapshot)
        bench.duel(40, 1, -1)
        bench.learn(learner)
        pointer = bench.folder.pointer()
        assert (pointer.stable, pointer.candidate, pointer.share) == (new, old, 0.5)
        # Publishing takes nothing back: what was learned since goes on.
        assert not same_weights(learner.weights.learner.policy, snapshot)
        bench.duel(40, 0, 0)
        bench.learn(learner)
        assert bench.folder.pointer().stable == new
        assert kinds_of(learner)[:3] == ["candidate", "published", "kept"]
        first, won, kept = (learner.ledger.events()[place] for place in (1, 2, 3))
        assert first.body["stable"] == old
        assert first.body["opinion"] == "cannot_tell"
        assert won.body["digest"] == kept.body["digest"] == new
        assert won.body["difference"] == 1.0
        assert won.body["low"] > 0


def test_after_a_rejection_the_learner_goes_back_to_the_stable_weights(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=2)))
    with bench.start() as learner:
        new = offered(bench, learner)
        critic = copy.deepcopy(learner.weights.learner.critic)
        bench.duel(40, -1, 1)
        bench.learn(learner)
        assert "rejected" in kinds_of(learner)
        (event,) = learner.ledger.events("rejected")
        assert event.body["digest"] == new
        (back,) = learner.ledger.events("returned")
        assert back.body["digest"] == bench.stable
        assert back.update_number == event.update_number
        assert not same_weights(critic, learner.weights.learner.critic)
        number = event.update_number
    # The update that decided went back, and what was learned in it is gone.
    alone = Bench(tmp_path / "alone", settings_of(quick(every=2), batch_games=100))
    with alone.start() as learner:
        offered(alone, learner)
        alone.duel(40, -1, 1)
        alone.learn(learner)
        assert is_policy(learner, alone.stable)
        assert alone.folder.pointer().candidate is None
        assert learner.gatekeeper.deployment.learned == 0
    assert number > 1


def test_after_a_roll_back_the_learner_goes_back_too(tmp_path: Path) -> None:
    gate = quick(every=2, watch_share=0.5, watch=Rule(limit=40))
    bench = Bench(tmp_path, settings_of(gate, batch_games=100))
    old = bench.stable
    with bench.start() as learner:
        new = offered(bench, learner)
        bench.duel(40, 1, -1)
        bench.learn(learner)
        assert bench.stable == new
        bench.duel(40, 1, -1)  # The second is the old one now.
        bench.learn(learner)
        assert bench.folder.pointer().stable == old
        assert kinds_of(learner) == ["candidate", "published", "rolled_back", "returned"]
        assert is_policy(learner, old)
    # And from there after a restart, to the last bit.
    with bench.start() as learner:
        assert is_policy(learner, old)
        assert learner.weights.base == old


@pytest.mark.parametrize("terms", [{}, {"anchor_reverse": 0.1}])
def test_a_learner_that_went_back_is_resumed_as_it_was(tmp_path: Path, terms: Any) -> None:
    found = []
    for name in ("whole", "halved"):
        weights = {"policy": 1.0, "value": 0.5, "entropy": 0.01, **terms}
        gate = quick(every=2, watch_share=0.0)
        bench = Bench(tmp_path / name, settings_of(gate, {"terms": weights}, batch_games=100))
        learner = bench.start()
        offered(bench, learner)
        bench.duel(40, 1, -1)
        bench.learn(learner)
        offered(bench, learner)
        bench.duel(40, -1, 1)
        bench.learn(learner)
        assert kinds_of(learner)[-1] == "returned"
        if name == "halved":
            learner.close()
            learner = bench.start()
        bench.play(1)
        bench.learn(learner)
        found.append(learner.weights.learner)
        learner.close()
    assert same_weights(found[0].policy, found[1].policy)
    assert same_weights(found[0].critic, found[1].critic)


def test_a_trial_that_is_void_takes_nothing_back(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=2, rule=Rule(limit=400)), batch_games=100))
    with bench.start() as learner:
        new = offered(bench, learner)
        bench.play(*[0] * 90, policy=new, candidate=True)
        bench.learn(learner)
        (event,) = learner.ledger.events("void")
        assert (event.body["digest"], event.body["reason"]) == (new, "share")
        assert learner.ledger.events("returned") == []
        assert bench.folder.pointer().candidate is None


def test_newer_weights_take_the_place_of_a_candidate_nobody_can_decide_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=4, patience=4), batch_games=4))
    with bench.start() as learner:
        bench.play(1, -1, 1, 1)
        bench.learn(learner)
        first = bench.folder.pointer()
        bench.duel(4, 1, 1)
        bench.learn(learner)
        second = bench.folder.pointer()
        assert kinds_of(learner) == ["candidate", "superseded", "candidate"]
        (event,) = learner.ledger.events("superseded")
        assert (event.body["digest"], event.body["games"]) == (first.candidate, 4)
        assert second.candidate not in (None, first.candidate)
        assert learner.gatekeeper.deployment.test is not None
        assert learner.gatekeeper.deployment.test.games == 0


def test_a_candidate_that_recorded_games_speak_against_is_not_tried(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=10_000)))
    folder = bench.folder
    with agent_of(tmp_path) as agent:
        for number in range(300):
            game = agent.game(f"g{number}")
            game.end(1 if game.act(view(0))[0] == 0 else -1)
    with bench.start(settings_of(quick(every=10_000), {"lr": 0.0})) as learner:
        bench.learn(learner)
        unchanged = recorded_opinion(
            learner.spool, learner.ledger, bench.stable, learner.weights.learner, bench.settings
        )
        assert unchanged.effective == pytest.approx(300, rel=1e-4)
        assert unchanged.candidate == pytest.approx(unchanged.stable)
        bias = learner.weights.learner.policy.head.bias
        with torch.no_grad():
            bias[0] += 0.2  # Weights that like what won, and that like what lost.
            found = recorded_opinion(
                learner.spool, learner.ledger, bench.stable, learner.weights.learner, bench.settings
            )
            bias[0] -= 1.7
        assert found.verdict == "no_veto"
        learner.gatekeeper.deployment.learned = 10_000
        bench.play(0)
        bench.learn(learner)
        (event,) = learner.ledger.events("vetoed")
        assert event.body["effective"] > 50
        assert learner.ledger.events("candidate") == []
        assert folder.pointer().candidate is None
        assert is_policy(learner, bench.stable)


def test_recorded_games_of_a_policy_that_remembers_are_as_likely_as_they_were(
    tmp_path: Path,
) -> None:
    torch.manual_seed(1)
    folder = PolicyFolder(tmp_path / "policy")
    folder.publish(folder.add(policy_of(1, Network("lstm", width=8, layers=1))))
    bench = Bench(tmp_path, settings_of(learning={"lr": 0.0}, unroll_length=3))
    with agent_of(tmp_path) as agent:
        for number in range(60):
            game = agent.game(f"g{number}")
            for step in range(6):
                game.act(view(step, number))
                if step in (1, 3):
                    game.overrule()
            game.end(1 if number % 2 else -1)
    with bench.learn() as learner:
        found = recorded_opinion(
            learner.spool, learner.ledger, bench.stable, learner.weights.learner, bench.settings
        )
    assert found.games == 60
    assert found.effective == pytest.approx(60, rel=1e-3)


def test_a_pointer_changed_by_hand_in_mid_trial_is_followed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=2)))
    with bench.start() as learner:
        new = offered(bench, learner)
        bench.duel(4, 1, -1)
        bench.learn(learner)
        mine = bench.folder.add(policy_of(7))
        before = bench.folder.pointer()
        bench.folder.publish(mine, "by hand")
        # Games of the old pointer still come in: they are learned from and decide nothing.
        for number in range(40):
            candidate = number % 2 == 0
            policy = new if candidate else before.stable
            bench.play(
                1 if candidate else -1, policy=policy, candidate=candidate, serial=before.serial
            )
        learner.step()
        assert bench.stable == mine
        (event,) = learner.ledger.events("changed")
        assert (event.body["stable"], event.body["before"]) == (mine, before.stable)
        assert learner.weights.base == mine
        assert "published" not in kinds_of(learner)


def test_a_decision_that_an_operator_came_before_is_dropped_and_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    with bench.start(settings_of(quick())) as learner:
        offered(bench, learner)
        mine = bench.folder.add(policy_of(7))
        save = BackgroundLearner._save

        def overtaken(self: BackgroundLearner, number: int) -> None:
            save(self, number)
            if learner.gatekeeper.deployment.due is not None:
                bench.folder.publish(mine, "by hand")

        monkeypatch.setattr(BackgroundLearner, "_save", overtaken)
        bench.duel(80, 1, -1)
        bench.learn(learner)
        assert bench.folder.pointer().stable == mine
        dropped, *_ = learner.ledger.events("dropped")
        assert dropped.body["verb"] == "publish"


def test_a_candidate_withdrawn_by_hand_costs_the_learner_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=2)))
    with bench.start() as learner:
        offered(bench, learner)
        weights = copy.deepcopy(learner.weights.learner.policy)
        bench.folder.withdraw("by hand")
        learner.step()
        assert kinds_of(learner) == ["candidate", "changed"]
        assert same_weights(weights, learner.weights.learner.policy)


class KilledError(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize("moment", ["before the checkpoint", "before the pointer", "after it"])
@pytest.mark.parametrize("decision", ["candidate", "published", "rejected"])
def test_a_kill_around_a_decision_changes_nothing(
    tmp_path: Path, moment: str, decision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for name in ("whole", "killed"):
        bench = Bench(tmp_path / name, settings_of(quick(every=2), batch_games=100))
        learner = bench.start()
        if decision == "candidate":
            bench.play(1, -1)
        else:
            offered(bench, learner)
            bench.duel(40, *((1, -1) if decision == "published" else (-1, 1)))
        if name == "killed":
            kill_at(monkeypatch, moment)
            with pytest.raises(KilledError):
                learner.step()
            monkeypatch.undo()
            learner.close()
            learner = bench.start()
        bench.learn(learner)
        bench.play(1)
        bench.learn(learner)
        pointer = bench.folder.pointer()
        found.append([pointer, kinds_of(learner), learner.ledger.count(), learner.number])
        found[-1].append(len(bench.folder.history()))
        assert len(learner.ledger.events(decision)) == 1
        found[-1].append(copy.deepcopy(learner.weights.learner.policy))
        learner.close()
    assert found[0][:-1] == found[1][:-1]
    assert same_weights(found[0][-1], found[1][-1])


def kill_at(monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    def killed(*_: object) -> None:
        raise KilledError

    from lanista.live.promotion.deployment import Deployment
    from lanista.runs.checkpoints import Checkpoints

    if moment == "before the checkpoint":
        monkeypatch.setattr(Checkpoints, "save", killed)
    elif moment == "before the pointer":
        monkeypatch.setattr(Deployment, "carry_out", killed)
    else:
        monkeypatch.setattr(Deployment, "_follow", killed)


def test_games_of_the_stable_policy_that_are_too_old_call_for_a_candidate_only_when_all_are(
    tmp_path: Path,
) -> None:
    settings = settings_of(quick(kind="open", every=1000), staleness=2, batch_games=2)
    bench = Bench(tmp_path, settings)
    with bench.start() as learner:
        for _ in range(4):
            bench.play(1)
            bench.play(1, policy="ab" * 32)  # Of a policy that is not known: always learned from.
            bench.learn(learner)
        rows = learner.ledger.games()
        assert [row.use for row in rows if row.policy == bench.stable][-1] == "stale"
        assert kinds_of(learner) == []
        bench.play(1)
        bench.learn(learner)
        assert kinds_of(learner) == ["candidate", "published"]


def test_an_open_gate_publishes_every_candidate_untested(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick(kind="open", every=2), batch_games=2))
    with bench.start() as learner:
        for _ in range(3):
            bench.play(1, -1)
            bench.learn(learner)
        assert kinds_of(learner) == ["candidate", "published"] * 3
        assert [c.reason for c in bench.folder.history()][1:] == ["published untested"] * 3
        assert bench.folder.pointer().candidate is None
        tried = {event.body["digest"] for event in learner.ledger.events("candidate")}
        assert bench.stable in tried


@pytest.mark.parametrize("stage", ["trial", "watch"])
def test_a_new_learner_takes_up_the_trial_that_it_finds(tmp_path: Path, stage: str) -> None:
    """Else a candidate that nobody judges would go on playing its share of the games."""
    gate = quick(every=2, watch_share=0.5, watch=Rule(limit=40))
    bench = Bench(tmp_path, settings_of(gate, batch_games=100))
    old = bench.stable
    with bench.start() as learner:
        new = offered(bench, learner)
        if stage == "watch":
            bench.duel(40, 1, -1)
            bench.learn(learner)
            assert bench.stable == new
        home = learner.home
    home.rename(tmp_path / "away")
    with bench.start() as learner:
        assert learner.weights.base == bench.stable
        bench.duel(40, 1, -1)
        bench.learn(learner)
        wanted = {"trial": "published", "watch": "rolled_back"}[stage]
        assert [kind for kind in kinds_of(learner) if kind == wanted] == [wanted]
    assert bench.stable == {"trial": new, "watch": old}[stage]
