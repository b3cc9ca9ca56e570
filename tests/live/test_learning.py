"""The background learner: what it learns, what it takes in, what it refuses, what it remembers."""

from __future__ import annotations

import copy
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from practice import (
    Bench,
    contents,
    policy_of,
    published,
    quick,
    same_weights,
    settings_of,
    written,
)
from toy import SPEC, agent_of, view

from lanista.errors import RefusedError
from lanista.live.learner.background_learner import FOLDER, BackgroundLearner
from lanista.live.learner.ledger import reading
from lanista.live.learner.service import Service, serve, statistics
from lanista.lock import holding
from lanista.nets.settings import Network


def chance(learner: BackgroundLearner, action: tuple[int, int], seen: Any) -> float:
    """Return how likely the weights are to play an action."""
    policy = learner.weights.learner.policy
    with torch.no_grad():
        logits, _, _ = policy.step(torch.from_numpy(seen[None]), torch.zeros(1, policy.state_size))
        log_probs = policy.heads.log_probs(logits, torch.ones(1, SPEC.choices, dtype=torch.bool))
        return float(policy.heads.joint(log_probs, torch.tensor([action])).exp())


# What is learned.


@pytest.mark.parametrize("by", ["reward", "outcome"])
@pytest.mark.parametrize("overruled", [False, True])
def test_what_was_rewarded_becomes_likelier_through_files(
    tmp_path: Path, by: str, overruled: bool
) -> None:
    bench = Bench(tmp_path)
    good, bad = (1, 0), (2, 1)
    for number in range(40):
        action, worth = (good, 1.0) if number % 2 else (bad, -1.0)
        actions, rewards = ([action, (0, 0)], [worth, 0]) if overruled else ([action], [worth])
        given = {"game_id": f"g{number}", "play": f"{number:016x}", "policy": bench.stable}
        paid = rewards if by == "reward" else [0] * len(rewards)
        outcome = 0.0 if by == "reward" else worth
        rules = [1] if overruled else []
        bench.spool.write(written(actions, paid, outcome, overruled=rules, **given))
    with bench.start() as learner:
        before = chance(learner, good, view(0)), chance(learner, bad, view(0))
        bench.learn(learner)
        assert learner.ledger.totals().learned == 40
        assert chance(learner, good, view(0)) > before[0] + 0.02
        assert chance(learner, bad, view(0)) < before[1] - 0.02


def test_a_bot_learns_which_lever_pays(tmp_path: Path) -> None:
    """From the agent over the spool, the learner and the pointer back to the agent."""
    settings = settings_of(quick(kind="open", every=50), {"lr": 0.03, "epochs": 4}, batch_games=25)
    bench = Bench(tmp_path, settings)
    first, paid, number = bench.stable, [], 0
    with agent_of(tmp_path, spec=SPEC) as agent, bench.start() as learner:
        for _ in range(8):
            for _ in range(50):
                number += 1
                game = agent.game(f"pull {number}")
                won = game.act(view(0)) == (2, 1)
                paid.append(won)
                game.end(1 if won else -1)
            while agent.report().games.waiting:
                time.sleep(0.002)
            bench.learn(learner)
        assert learner.ledger.totals().games == 400
        assert len({row.policy for row in learner.ledger.games()}) > 5
    assert bench.stable != first
    assert np.mean(paid[:50]) < 0.5
    assert np.mean(paid[-100:]) > 0.9


def test_the_same_games_in_the_same_batches_give_the_same_weights(tmp_path: Path) -> None:
    found = []
    for name in ("one", "other"):
        bench = Bench(tmp_path / name, settings_of(quick(kind="open", every=20), {"epochs": 2}))
        with bench.start() as learner:
            for _ in range(3):
                bench.play(1, -1, 0, 1, None, -1, 1, policy="ab" * 32, serial=1)
                bench.learn(learner)
            found.append(learner.weights.learner)
            found.append(bench.stable)
    assert same_weights(found[0].policy, found[2].policy)
    assert same_weights(found[0].critic, found[2].critic)
    assert found[1] == found[3]


def test_the_average_loss_is_the_mean_over_samples(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(learning={"epochs": 3, "minibatches": 2}))
    with bench.start() as learner:
        bench.play(1, -1, 1)
        learner.step()
        bench.spool.write(written([(0, 0)] * 40, [1.0] * 40, 1, policy=bench.stable))
        learner.step()
        rows, totals = learner.ledger.batches(), learner.ledger.totals()
        assert [row.samples for row in rows] == [9, 40]
        assert [row.passes for row in rows] == [3, 3]
        wanted = sum(row.loss * row.samples for row in rows) / 49
        assert totals.loss == pytest.approx(wanted)
        assert abs(totals.loss - (rows[0].loss + rows[1].loss) / 2) > 1e-3
        assert totals.trained == 3 * 49


def test_an_update_is_told_with_what_it_took_and_when(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    with bench.start() as learner:
        usual = learner._learn
        clocks = {"monotonic": 100.0, "process_time": 40.0, "time": 5e8}

        def slow(*given: Any) -> Any:
            clocks.update(monotonic=107.0, process_time=42.5)
            return usual(*given)

        monkeypatch.setattr(learner, "_learn", slow)
        for name in clocks:
            monkeypatch.setattr(
                f"lanista.live.learner.background_learner.time.{name}",
                lambda name=name: clocks[name],
            )
        bench.play(1, -1)
        batch = learner.step()
        monkeypatch.undo()
        (row,) = learner.ledger.batches()
    assert (row.update_number, row.seconds, row.cpu_seconds, row.at) == (1, 7.0, 2.5, 5e8)
    assert (row.games, row.learned, row.samples, row.waiting, row.repeated) == (2, 2, 6, 2, 0)
    assert batch is not None
    assert (batch.games, batch.learned, batch.waiting, batch.refused) == (2, 2, 2, 0)


# What a game is, and when it is too old.


def test_a_row_says_all_that_its_file_says(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    given = {"policy": bench.stable, "serial": 1, "opponent": "kiter", "game_id": "g"}
    bench.spool.write(written([(0, 0)] * 3, [1, 2, 4], -1, overruled=[1], **given))
    bench.spool.write(written([(0, 0)] * 2, [1, 2], None, crashed=True, play="1" * 16, **given))
    with bench.learn() as learner:
        lost, cut = sorted(learner.ledger.games(), key=lambda row: row.outcome is None)
    assert (lost.outcome, lost.steps, lost.overruled, lost.reward) == (-1, 3, 1, 5)
    assert (lost.opponent, lost.serial, lost.candidate) == ("kiter", 1, False)
    assert lost.log_prob == pytest.approx(-3.0)
    assert lost.came == pytest.approx(5 - 1)
    assert (cut.outcome, cut.crashed, cut.came) == (None, True, None)


def test_a_policy_that_the_learner_never_met_has_no_age_and_is_learned_from(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(batch_games=1, staleness=1))
    with bench.start() as learner:
        bench.play(1)
        bench.learn(learner)
        bench.play(1, policy="ab" * 32)
        bench.learn(learner)
        assert [row.staleness for row in learner.ledger.games()] == [0, -1]
        assert [row.use for row in learner.ledger.games()] == ["learned"] * 2


def test_games_too_old_are_archived_and_not_learned_from(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(staleness=2, batch_games=1))
    old = bench.stable
    with bench.start() as learner:
        for _ in range(4):
            bench.play(1)
            bench.learn(learner)
        before = copy.deepcopy(learner.weights.learner.policy)
        assert same_weights(before, learner.weights.learner.policy)
        rows = learner.ledger.games()
        assert [row.staleness for row in rows] == [0, 1, 2, 3]
        assert [row.use for row in rows] == ["learned"] * 3 + ["stale"]
        assert len(contents(bench.spool.archive)) == 4
        assert statistics(learner).totals.stale == 1
        assert {row.policy for row in rows} == {old}


def test_games_of_a_policy_too_far_away_are_archived_and_not_learned_from(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(distance=0.3))
    with agent_of(tmp_path) as agent, agent.game("near") as game:
        game.act(view())
        game.end(1)
    # Ratios of e and more to what the weights say: e - 1 - 1 is above 0.3.
    far = written([(0, 0)] * 3, [0] * 3, 1, log_prob=-30.0, policy="cd" * 32, game_id="far")
    bench.spool.write(far)
    with bench.learn() as learner:
        found = {row.game_id: row for row in learner.ledger.games()}
    assert found["near"].use == "learned"
    assert found["near"].distance == pytest.approx(0, abs=1e-5)
    assert found["far"].use == "stale"
    assert found["far"].distance > 0.3


def test_an_update_waits_for_its_least_games_but_not_for_ever(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(least_games=3))
    with bench.start() as learner:
        bench.play(1, 1)
        assert learner.step(3) is None
        assert len(bench.spool.waiting()) == 2
        bench.play(1)
        batch = learner.step(3)
        assert batch is not None
        assert batch.games == 3
        bench.play(1)
        found = serve(learner, Service(once=True), threading.Event())
        assert found.totals.games == 4


def test_games_without_a_decision_of_the_policy_count_and_teach_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    given = {"policy": bench.stable, "serial": 1}
    bench.spool.write(written([], [], 1, game_id="none", **given))
    bench.spool.write(written([(0, 0)], [1], None, game_id="cut", **given))
    bench.spool.write(written([(0, 0)], [0], -1, overruled=[0], game_id="ruled", **given))
    with bench.learn() as learner:
        assert [row.use for row in learner.ledger.games()] == ["empty"] * 3
        assert learner.ledger.totals().samples == 0
        assert learner.weights.learner.update_count == 0


def test_a_flood_of_old_games_delays_no_new_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    flood = bench.play(*[-1] * 30)
    for number, path in enumerate(flood):
        os.utime(path, (1000 + number, 1000 + number))
    with bench.start() as learner:
        learner.step()
        fresh = bench.play(1, 1)
        learner.step()
        taken = [row.game_id for row in learner.ledger.games() if row.update_number == 2]
        assert {f"game {bench.count - 1}", f"game {bench.count}"} <= set(taken)
        assert not any(path.exists() for path in fresh)
        bench.learn(learner)
        assert learner.ledger.count() == 32


def test_a_flood_of_games_too_old_does_not_make_the_newest_policy_old(tmp_path: Path) -> None:
    """Updates that change nothing make nothing older."""
    bench = Bench(tmp_path, settings_of(quick(kind="open", every=3), staleness=2, batch_games=1))
    old = bench.stable
    with bench.start() as learner:
        bench.play(1, 1, 1)
        bench.learn(learner)
        new = bench.stable
        assert new != old
        bench.play(*[1] * 8, policy=old)
        bench.learn(learner)
        assert [row.use for row in learner.ledger.games()[3:]] == ["stale"] * 8
        bench.play(1)
        bench.learn(learner)
        last = learner.ledger.games()[-1]
        assert (last.policy, last.staleness, last.use) == (new, 0, "learned")


def test_weights_that_run_out_of_fresh_games_are_offered_so_that_learning_goes_on(
    tmp_path: Path,
) -> None:
    """Else every game would be too old for ever."""
    settings = settings_of(quick(kind="open", every=100), staleness=3, batch_games=1)
    bench = Bench(tmp_path, settings)
    with bench.start() as learner:
        for _ in range(12):
            bench.play(1)
            bench.learn(learner)
        uses = [row.use for row in learner.ledger.games()]
        assert uses.count("learned") >= 9
        assert len(learner.ledger.events("candidate")) >= 2


# Serving.


def test_while_the_critic_is_new_it_alone_learns(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(warm_up=2))
    with bench.start() as learner:
        learning = learner.weights.learner
        for number in (1, 2, 3):
            policy, critic = copy.deepcopy(learning.policy), copy.deepcopy(learning.critic)
            bench.play(1, -1, 1)
            bench.learn(learner)
            assert same_weights(policy, learning.policy) is (number <= 2)
            assert not same_weights(critic, learning.critic)


def test_weights_that_are_still_the_stable_ones_are_no_candidate_and_learning_goes_on(
    tmp_path: Path,
) -> None:
    settings = settings_of(quick(), warm_up=6, staleness=2)
    bench = Bench(tmp_path, settings)
    with bench.start() as learner:
        for _ in range(6):
            bench.play(1, -1)
            bench.learn(learner)
        assert learner.ledger.events("candidate") == []
        assert bench.folder.pointer().candidate is None
        assert [batch.learned for batch in learner.ledger.batches()] == [2] * 6
        bench.play(1, -1)
        bench.learn(learner)
        assert len(learner.ledger.events("candidate")) == 1


def test_statistics_are_in_the_book_and_add_up(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(batch_games=2))
    bench.play(1, -1, 0, 1, 1)
    (bench.spool.new / "bad.npz").write_bytes(b"bad")
    told: list[Any] = []
    with bench.start() as learner:
        found = serve(learner, Service(once=True, report_every=2), threading.Event(), told.append)
    assert (found.totals.games, found.totals.learned, found.errors) == (5, 5, 1)
    assert found.totals.samples == 15
    assert found.waiting == 0
    assert sum(batch.games for batch in told) == 5
    with reading(bench.folder.folder / "learner" / "learn.db") as ledger:
        assert ledger.totals() == found.totals
    reports = [line for line in bench.said if line.startswith("games ")]
    assert len(reports) == 2
    assert found.lines()[0].startswith("games 5 (learned from 5, too old 0, copies 0, refused 1")


def test_a_policy_of_another_network_published_by_hand_is_learned_from(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with bench.start() as learner:
        bench.play(1, 1)
        bench.learn(learner)
        other = policy_of(3, Network("lstm", width=4, layers=1))
        digest = bench.folder.publish(bench.folder.add(other)).stable
        bench.play(1, -1)
        bench.learn(learner)
        assert learner.weights.base == digest
        assert [row.use for row in learner.ledger.games()] == ["learned"] * 4
        assert [row.staleness for row in learner.ledger.games()][2:] == [0, 0]
        weights = learner.weights.learner.policy
    with bench.start() as learner:
        assert learner.weights.base == digest
        assert same_weights(learner.weights.learner.policy, weights)
        bench.play(1)
        bench.learn(learner)
        assert learner.ledger.count() == 5


def test_a_learner_that_is_refused_leaves_no_spool_and_the_one_that_makes_it_knows(
    tmp_path: Path,
) -> None:
    folder = published(tmp_path / "policy")
    home, spool = folder.folder / FOLDER, tmp_path / "spool"
    home.mkdir()
    with holding(home, "learner"), pytest.raises(RefusedError, match="Another process is working"):
        BackgroundLearner(spool, folder.folder, settings_of(), say=str)
    assert not spool.exists()
    for new in (True, False):
        with BackgroundLearner(spool, folder.folder, settings_of(), say=str) as learner:
            assert learner.made_spool == new
