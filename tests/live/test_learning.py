"""The background learner: what it learns, what it takes in, what it refuses, what it remembers."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from practice import (
    Bench,
    kinds_of,
    numbered,
    policy_of,
    quick,
    same_weights,
    settings_of,
    written,
)
from toy import HERE, SPEC, agent_of, view

from lanista.errors import LanistaError, RefusedError
from lanista.learn.checkpoint import write_state
from lanista.live.game_files import read
from lanista.live.learning import BackgroundLearner
from lanista.live.ledger import reading
from lanista.live.service import Service, serve, statistics
from lanista.live.spool import Spool, SpoolError
from lanista.nets.policy_file import load_policy
from lanista.nets.settings import Network


def chance(learner: BackgroundLearner, action: tuple[int, int], seen: Any) -> float:
    """Return how likely the weights are to play an action."""
    policy = learner.weights.learner.policy
    with torch.no_grad():
        logits, _, _ = policy.step(torch.from_numpy(seen[None]), torch.zeros(1, policy.state_size))
        log_probs = policy.heads.log_probs(logits, torch.ones(1, SPEC.choices, dtype=torch.bool))
        return float(policy.heads.joint(log_probs, torch.tensor([action])).exp())


def contents(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


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
    far = written([(0, 0)] * 3, [0] * 3, 1, log_prob=-30.0, policy=bench.stable, game_id="far")
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


# What is taken in.


def repacked(path: Path, place: Path) -> None:
    """Write the same arrays again, in another order and another compression."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(place, "w", zipfile.ZIP_STORED) as new:
        for entry in reversed(old.infolist()):
            new.writestr(zipfile.ZipInfo(entry.filename), old.read(entry))


def test_copies_are_told_by_content_however_they_are_named_or_packed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    (path,) = bench.play(1)
    kept = path.read_bytes()
    repacked(path, bench.spool.new / "packed.npz")
    assert (bench.spool.new / "packed.npz").read_bytes() != kept
    (bench.spool.new / "renamed.npz").write_bytes(kept)
    with bench.start() as learner:
        bench.learn(learner)
        once = copy.deepcopy(learner.weights.learner.policy)
        for name in ("later", "again"):
            (bench.spool.new / f"{name}.npz").write_bytes(kept)
            bench.learn(learner)
        assert learner.ledger.count() == 1
        assert same_weights(once, learner.weights.learner.policy)
        assert statistics(learner).totals.repeated == 4
    assert contents(bench.spool.new) == contents(bench.spool.work) == []
    assert len(contents(bench.spool.archive)) == 1


def test_bad_files_go_to_bad_with_a_reason_and_the_others_count(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    (path,) = bench.play(1)
    (bench.spool.new / "cut.npz").write_bytes(path.read_bytes()[:100])
    (bench.spool.new / "text.npz").write_text("not a game")
    other = replace(numbered(7, bench.stable).header.layout, observation_version=9)
    bench.spool.write(numbered(8, bench.stable, layout=other))
    with bench.learn() as learner:
        assert learner.ledger.count() == 1
        assert statistics(learner).errors == 3
    names = contents(bench.spool.bad)
    assert len(names) == 6
    reasons = [bench.spool.bad / name for name in names if name.endswith(".reason.txt")]
    said = " ".join(reason.read_text() for reason in reasons)
    assert "observation version" in said
    assert "npz" in said
    assert all(any(reason.read_text().strip() in s for s in bench.said) for reason in reasons)


def test_a_move_that_fails_is_an_error_and_the_game_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    bench.play(1, -1)
    usual = Path.rename

    def full(path: Path, place: Path) -> Path:
        if "archive" in str(place):
            raise OSError(28, "No space left on device")
        return usual(path, place)

    with bench.start() as learner:
        monkeypatch.setattr(Path, "rename", full)
        with pytest.raises(SpoolError, match="no space left"):
            learner.step()
        monkeypatch.undo()
    with bench.start() as learner:
        assert learner.step() is None
        assert learner.ledger.count() == 2
        assert learner.number == 1
    assert len(contents(bench.spool.archive)) == 2


def test_a_game_that_cannot_be_learned_from_goes_to_bad_and_its_mates_count(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    bench.play(1, -1, 1)
    game = numbered(99, bench.stable)
    game.observations[:, 1:] = 3e38  # Finite, and too large to be multiplied.
    bench.spool.write(game)
    bench.play(1)
    with bench.start() as learner:
        batch = learner.step()
        assert batch is not None
        assert (batch.games, batch.refused) == (4, 1)
        assert learner.ledger.count() == 4
        assert all(torch.isfinite(p).all() for p in learner.weights.learner.parameters)
        (event,) = learner.ledger.events("broken")
        assert "not touched" in event.body["sentence"] or "left as" in event.body["sentence"]
        bench.play(1)
        bench.learn(learner)
    assert len(contents(bench.spool.bad)) == 2
    (reason,) = bench.spool.bad.glob("*.txt")
    assert "cannot be learned from" in reason.read_text()


def test_a_game_without_finite_answers_that_is_too_old_is_archived(tmp_path: Path) -> None:
    """Nothing is learned from it, so it breaks nothing, in the book neither."""
    bench = Bench(tmp_path, settings_of(staleness=1, batch_games=1))
    with bench.start() as learner:
        for _ in range(2):
            bench.play(1)
            bench.learn(learner)
        game = numbered(99, bench.stable)
        game.observations[:, 1:] = 3e38
        bench.spool.write(game)
        bench.learn(learner)
        assert [row.use for row in learner.ledger.games()] == ["learned", "learned", "stale"]


def test_what_the_gate_saw_is_not_forgotten_over_a_game_that_cannot_be_learned_from(
    tmp_path: Path,
) -> None:
    """The weights go back to the last checkpoint, and what was done since is still done."""
    bench = Bench(tmp_path, settings_of(quick(every=1, share=0.5)))
    with bench.start() as learner:
        bench.play(1)
        bench.learn(learner)
        trial = bench.folder.pointer()
        assert trial.candidate is not None
        game = numbered(99, bench.stable, serial=trial.serial)
        game.observations[:, 1:] = 3e38
        bench.spool.write(game)
        bench.duel(6, 1, 1)
        learner.step()
        assert learner.gatekeeper.deployment.test is not None
        assert learner.gatekeeper.deployment.test.games == 6
        # The same when somebody changed the pointer meanwhile: it is noticed once.
        hand = bench.folder.publish(bench.folder.add(policy_of(9))).stable
        game = numbered(100, hand, serial=trial.serial + 1)
        game.observations[:, 1:] = 3e38
        bench.spool.write(game)
        bench.play(1)
        learner.step()
        assert len(learner.ledger.events("changed")) == 1
        assert [e.body["digest"] for e in learner.ledger.events("returned")] == [hand]
        assert learner.weights.base == hand


# Who may learn, and from which memory.

SECOND = """
import sys
from lanista.cli.main import main
sys.exit(main(["learn", "--spool", sys.argv[1], "--policy", sys.argv[2], "--once"]))
"""


def second(spool: Path, policy: Path) -> Any:
    return subprocess.run(
        [sys.executable, "-c", SECOND, str(spool), str(policy)], capture_output=True, text=True
    )


def test_a_second_learner_is_refused_with_a_sentence(tmp_path: Path) -> None:
    bench, other = Bench(tmp_path), Bench(tmp_path / "other")
    with bench.start():
        done = second(bench.spool.folder, bench.folder.folder)
        assert done.returncode == 3
        assert done.stderr.count("\n") == 1
        assert "Another process is working on the learner of the policy folder" in done.stderr
        # Nor may one for another policy take the same games.
        with pytest.raises(RefusedError, match="learner of the spool"):
            BackgroundLearner(bench.spool.folder, other.folder.folder, bench.settings)
    with bench.start():
        pass


def test_a_lost_or_foreign_book_is_refused_with_the_remedy(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.play(1, 1)
    with bench.learn() as learner:
        book, home = learner.ledger.path, learner.home
    foreign = Bench(tmp_path / "foreign")
    foreign.play(1)
    with foreign.learn() as learner:
        other = learner.ledger.path
    kept = tmp_path / "kept.db"
    shutil.move(book, kept)
    with pytest.raises(RefusedError, match=r"is gone.*move .*learner away"):
        bench.start()
    shutil.copy(other, book)
    with pytest.raises(RefusedError, match="holds 1 games and the checkpoint 2"):
        bench.start()
    book.write_bytes(b"something else entirely" * 100)
    with pytest.raises(RefusedError, match="cannot be read"):
        bench.start()
    shutil.move(kept, book)
    with bench.start() as learner:
        assert learner.ledger.count() == 2
    # The remedy: a new learner, from the stable policy; what was archived stays there.
    shutil.move(home, tmp_path / "away")
    with bench.learn() as learner:
        assert learner.ledger.count() == 0
        assert learner.weights.base == bench.stable


def test_games_of_a_damaged_checkpoint_come_back_and_take_effect_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    whole = Bench(tmp_path / "whole")
    for one in (bench, whole):
        with one.start() as learner:
            for _ in range(3):
                one.play(1, -1, 1, policy="ab" * 32)
                one.learn(learner)
            weights = copy.deepcopy(learner.weights.learner.policy)
            newest = learner.checkpoints.path(learner.number)
        if one is bench:
            tensors = newest / "tensors.safetensors"
            tensors.write_bytes(tensors.read_bytes()[:-1] + b"x")
    with bench.start() as learner:
        assert learner.number == 2
        assert any("damaged" in said for said in bench.said)
        assert learner.ledger.count() == 6
        assert len(bench.spool.waiting()) == 3
        bench.learn(learner)
        assert learner.ledger.count() == 9
        assert learner.number == 3
        assert same_weights(weights, learner.weights.learner.policy)
    assert len(contents(bench.spool.archive)) == 9


def test_without_a_whole_checkpoint_the_learner_does_not_begin_anew_by_itself(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    with bench.start() as learner:
        folder = learner.checkpoints.path(0)
    (folder / "manifest.json").unlink()
    with pytest.raises(RefusedError, match="move the folder away"):
        bench.start()


# What a checkpoint must hold.


FIELDS = (
    ("games",),
    ("weights", "base"),
    *(("weights", "learner", name) for name in (
        "policy", "critic", "average", "references", "optimiser", "order", "update_count",
        "scaler", "schedules",
    )),
    *(("deployment", name) for name in (
        "serial", "stable", "second", "share", "test", "learned", "due",
    )),
)  # fmt: skip
"""All that a checkpoint holds; the averaged critic of R-NaD is always empty here."""
GATE = quick(every=3, share=0.5, watch_share=0.2)
TERMS = {"policy": 1.0, "value": 0.5, "entropy": 0.01, "reference": 0.1}
ALL = {"minibatches": 2, "average": 0.9, "terms": TERMS, "reference_every": 2, "lr": 0.01}


def resumed(bench: Bench, path: Path, number: int, state: dict[str, Any] | None) -> str:
    """Go on with a copy of a run from a changed checkpoint; return all that came of it."""
    shutil.copytree(bench.path, path)
    if state is not None:
        place = path / "policy" / "learner" / "checkpoints" / f"{number:06d}"
        shutil.rmtree(place)
        place.mkdir()
        write_state(place, state)
    copied = Bench(path, bench.settings)
    copied.count = bench.count
    try:
        with copied.start() as learner:
            copied.learn(learner)
            came = {"w": learner.weights.state(), "d": learner.gatekeeper.deployment.state()}
            came["happened"] = kinds_of(learner)
    except (KeyError, TypeError, ValueError, RuntimeError, LanistaError) as error:
        return f"failed: {type(error).__name__}"
    (path / "out").mkdir()
    write_state(path / "out", came)
    names = ("tensors.safetensors", "values.json")
    said = [(path / "out" / name).read_bytes().hex() for name in names]
    return "".join([*said, str(copied.folder.pointer())])


def test_leave_one_out_every_field_of_a_checkpoint_is_needed(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "first", settings_of(GATE, ALL, batch_games=4))
    with bench.start() as learner:
        fresh = learner.checkpoints.newest_good()[1]
        bench.play(1, -1, 1)
        bench.learn(learner)
        due = learner.checkpoints.newest_good()[1]["deployment"]["due"]
        for _ in range(2):
            bench.duel(4, 1, -1)
            bench.learn(learner)
        number, state, _ = learner.checkpoints.newest_good()
    assert state["weights"]["learner"].keys() - {"slow_critic"} == {
        path[2] for path in FIELDS if path[1:2] == ("learner",)
    }
    assert state["deployment"].keys() == {path[1] for path in FIELDS if path[0] == "deployment"}
    bench.duel(4, 1, 0)
    wanted = resumed(bench, tmp_path / "whole", number, None)
    assert resumed(bench, tmp_path / "again", number, copy.deepcopy(state)) == wanted
    assert not wanted.startswith("failed")
    same = []
    for place, path in enumerate(FIELDS):
        changed, first = copy.deepcopy(state), fresh
        branch: Any = changed
        for key in path[:-1]:
            branch, first = branch[key], first[key]
        # As if it had not been saved, and began as a new learner's does.
        branch[path[-1]] = due if path[-1] == "due" else first[path[-1]]
        if resumed(bench, tmp_path / f"{place}", number, changed) == wanted:
            same.append(".".join(path))
    # These are what they were at the start, in every run that is not in half precision, has no
    # plateau schedule and has published nothing.
    assert same == [
        "weights.base", "weights.learner.scaler", "weights.learner.schedules", "deployment.stable",
    ]  # fmt: skip


def test_a_checkpoint_without_one_of_its_fields_is_not_gone_on_from(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "first", settings_of(GATE, ALL))
    with bench.start() as learner:
        number, state, _ = learner.checkpoints.newest_good()
    for place, path in enumerate(FIELDS):
        changed = copy.deepcopy(state)
        branch: Any = changed
        for key in path[:-1]:
            branch = branch[key]
        del branch[path[-1]]
        assert resumed(bench, tmp_path / f"{place}", number, changed) == "failed: KeyError", path


def test_a_new_process_loads_what_was_saved(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick(kind="open", every=2)))
    bench.play(1, -1, 1, 1)
    with bench.learn() as learner:
        digest = bench.stable
        seen = np.array([view(step) for step in range(5)])
        with torch.no_grad():
            state = torch.zeros(5, learner.weights.learner.policy.state_size)
            wanted = load_policy(bench.folder.path_of(digest)).policy.step(
                torch.from_numpy(seen), state
            )[0]
            ours = learner.weights.learner.best.step(torch.from_numpy(seen), state)[0]
        assert torch.equal(wanted, ours)
    program = f"""
import sys, json; sys.path.insert(0, {str(HERE)!r})
import numpy as np, torch
from practice import Bench, settings_of, quick
from pathlib import Path
from toy import view
bench = Bench(Path({str(tmp_path)!r}), settings_of(quick(kind="open", every=2)))
with bench.start() as learner, torch.no_grad():
    seen = torch.from_numpy(np.array([view(step) for step in range(5)]))
    policy = learner.weights.learner.best
    print(json.dumps(policy.step(seen, torch.zeros(5, policy.state_size))[0].tolist()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == wanted.tolist()


# Serving.


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


def test_who_counts_what_waits_does_not_mind_that_a_learner_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    first, second = bench.play(1, 1)
    usual = os.scandir

    class Looking:
        """Lists a folder from which a file is taken in the meantime."""

        def __init__(self, folder: Path) -> None:
            self.entries = list(usual(folder))
            first.rename(bench.spool.work / first.name)

        def __enter__(self) -> list[Any]:
            return self.entries

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(os, "scandir", Looking)
    assert bench.spool.waiting() == [second]


def test_what_killed_writers_left_is_removed_and_is_no_error(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with bench.start() as learner:
        home = learner.home
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    name = f".tmp-{process.pid}-{'0' * 16}.part"
    folders = [home, bench.folder.folder, bench.folder.policies, bench.folder.history_folder]
    for folder in (*folders, bench.spool.bad, bench.spool.new):
        (folder / name).write_text("half")
    (bench.spool.bad / f".tmp-{os.getppid()}-{'0' * 16}.part").write_text("being written")
    with bench.start() as learner:
        assert statistics(learner).errors == 0
    assert list(tmp_path.rglob(name)) == []


def test_the_archive_holds_every_game_under_its_content(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.play(1, -1)
    with bench.learn() as learner:
        for row in learner.ledger.games():
            assert read(bench.spool.archived(row.content)).content == row.content
    assert not Spool(bench.spool.folder).taken()
