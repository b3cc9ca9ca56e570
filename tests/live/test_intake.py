"""What a learner takes in: copies told by content, bad files set aside, games moved once."""

from __future__ import annotations

import copy
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from practice import (
    Bench,
    contents,
    numbered,
    policy_of,
    quick,
    same_weights,
    settings_of,
)

from lanista.live.files.game_file import read
from lanista.live.files.spool import Spool, SpoolError
from lanista.live.learner.service import statistics


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
    (first, *_) = bench.play(1, -1, 1)
    shutil.copy(first, first.with_name("copy.npz"))
    game = numbered(99, bench.stable)
    game.observations[:, 1:] = 3e38  # Finite, and too large to be multiplied.
    bench.spool.write(game)
    bench.play(1)
    (bench.spool.new / "junk.npz").write_bytes(b"no game")
    with bench.start() as learner:
        batch = learner.step()
        assert batch is not None
        assert (batch.games, batch.learned, batch.repeated, batch.refused) == (4, 4, 1, 2)
        assert batch.waiting == 7
        assert [row.games for row in learner.ledger.batches()] == [1, 1, 1, 1]
        assert [row.waiting for row in learner.ledger.batches()] == [7, 7, 7, 7]
        (told,) = (line for line in bench.said if "one game at a time" in line)
        assert told.startswith(learner.ledger.events("broken")[0].body["sentence"][:9])
        assert learner.ledger.count() == 4
        assert all(torch.isfinite(p).all() for p in learner.weights.learner.parameters)
        (event,) = learner.ledger.events("broken")
        assert "not touched" in event.body["sentence"] or "left as" in event.body["sentence"]
        bench.play(1)
        bench.learn(learner)
    assert len(contents(bench.spool.bad)) == 4
    reasons = [path.read_text() for path in bench.spool.bad.glob("*.txt")]
    assert sum("cannot be learned from" in reason for reason in reasons) == 1


def test_a_game_that_comes_alone_and_cannot_be_learned_from_is_counted_with_what_came_along(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    with bench.start() as learner:
        (known,) = bench.play(1)
        data = known.read_bytes()
        bench.learn(learner)
        (bench.spool.new / "copy.npz").write_bytes(data)
        (bench.spool.new / "junk.npz").write_bytes(b"no game")
        game = numbered(99, bench.stable)
        game.observations[:, 1:] = 3e38
        path = bench.spool.write(game)
        batch = learner.step()
        assert batch is not None
        assert (batch.games, batch.learned, batch.repeated, batch.refused) == (0, 0, 1, 2)
        (event,) = learner.ledger.events("broken")
        assert (event.body["file"], event.update_number) == (path.name, 1)
        assert learner.number == 1


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


def test_who_counts_what_waits_does_not_mind_that_a_learner_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    first, second = bench.play(1, 1)
    usual = os.listdir

    def looking(folder: Path) -> list[str]:
        """List a folder from which a file is taken in the meantime."""
        names = usual(folder)
        first.rename(bench.spool.work / first.name)
        return names

    monkeypatch.setattr(os, "listdir", looking)
    assert bench.spool.waiting() == [second]


def test_what_waits_is_listed_newest_first_also_when_it_was_seen_before(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    first, second = bench.play(1, 1)
    os.utime(first, ns=(1, 1))
    os.utime(second, ns=(2, 2))
    assert bench.spool.waiting() == [second, first]
    (third,) = bench.play(1)
    os.utime(third, ns=(3, 3))
    second.unlink()
    assert bench.spool.waiting() == [third, first]


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


def test_a_refused_file_is_told_by_name_escaped_once_and_where_it_is_now(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    (bench.spool.new / "j\x1bunk.npz").write_text("not a game, and long enough to be looked at")
    bench.learn().close()
    (place,) = (path for path in bench.spool.bad.iterdir() if path.suffix == ".npz")
    (said,) = (sentence for sentence in bench.said if "unk.npz" in sentence)
    assert said.startswith(r"The game file 'j\x1bunk.npz' is refused: it is no npz file")
    assert said.endswith(f" It is in {place} now.")
