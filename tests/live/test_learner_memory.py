"""Who may learn, and from which memory: the lock, the book, and all that a checkpoint holds."""

from __future__ import annotations

import copy
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import warm_python
from practice import (
    Bench,
    contents,
    kinds_of,
    quick,
    same_weights,
    settings_of,
)
from toy import HERE, view

from lanista.errors import LanistaError, RefusedError
from lanista.live.learner.background_learner import BackgroundLearner
from lanista.live.learner.ledger import NAME, GameRow, reading
from lanista.nets.files.policy_file import load_policy
from lanista.runs.checkpoints import write_state

SECOND = """
import sys
from lanista.cli.main import main
sys.exit(main(["learn", "--spool", sys.argv[1], "--policy", sys.argv[2], "--once"]))
"""


def second(spool: Path, policy: Path) -> Any:
    return warm_python.run(
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
    with pytest.raises(RefusedError, match="is damaged"):
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


def test_games_of_a_damaged_checkpoint_that_were_deleted_are_told_to_be_lost(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    with bench.start() as learner:
        for _ in range(2):
            bench.play(1, -1, 1)
            bench.learn(learner)
        newest = learner.checkpoints.path(learner.number)
    (newest / "values.json").write_text("{}")
    gone = [row.content for row in learner_rows(bench) if row.update_number == 2][:2]
    for content in gone:
        bench.spool.archived(content).unlink()
    with bench.start() as learner:
        assert any(said.startswith("2 games took effect after update 1") for said in bench.said)
        (event,) = learner.ledger.events("lost")
        assert event.body == {"games": 2, "contents": gone}
        bench.learn(learner)
        assert learner.ledger.count() == 4


def learner_rows(bench: Bench) -> list[GameRow]:
    """Return what a learner that is not running has in its book."""
    with reading(bench.folder.folder / "learner" / NAME) as ledger:
        return ledger.games()


def test_without_a_whole_checkpoint_the_learner_does_not_begin_anew_by_itself(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    with bench.start() as learner:
        folder = learner.checkpoints.path(0)
    (folder / "manifest.json").unlink()
    with pytest.raises(RefusedError, match="move the folder away"):
        bench.start()


def test_a_book_with_games_and_no_checkpoints_is_not_begun_anew(tmp_path: Path) -> None:
    """All of it would be deleted, and every game learned from again."""
    bench = Bench(tmp_path)
    bench.play(1, -1)
    with bench.learn() as learner:
        checkpoints, book = learner.checkpoints.folder, learner.ledger.path
    kept, said = tmp_path / "kept", book.read_bytes()
    checkpoints.rename(kept)
    with pytest.raises(RefusedError, match=r"holds no checkpoint, and .* 2 games; put the folder"):
        bench.start()
    assert book.read_bytes() == said
    assert len(contents(bench.spool.archive)) == 2
    kept.rename(checkpoints)
    with bench.start() as learner:
        assert learner.ledger.count() == 2


def test_odd_things_among_checkpoints_are_no_checkpoints_and_hold_up_nobody(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    with bench.start() as learner:
        for _ in range(3):
            bench.play(1)
            bench.learn(learner)
        folder = learner.checkpoints.folder
        newest = learner.checkpoints.path(learner.number)
    for name in ("²", "7", "٣٣٣٣٣٣", "0000001", "9" * 200):
        (folder / name).mkdir()
    (folder / ".tmp-000001.part").write_bytes(b"a file, where folders are")
    (folder / "000999").write_bytes(b"")
    (folder / "000999.aside").write_bytes(b"")
    (newest / "values.json").unlink()
    (newest / "values.json").mkdir()
    with bench.start() as learner:
        assert learner.number == 2
        assert [said for said in bench.said if "values.json is not a file" in said]
        bench.learn(learner)
        assert (learner.number, learner.ledger.count()) == (3, 3)


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
    done = warm_python.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == wanted.tolist()
