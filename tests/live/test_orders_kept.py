"""In which order folders are changed, so that a kill or a full disk between two steps does no harm.

And what is spared when something is removed.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from practice import policy_of, published
from toy import agent_of, folder_of, game_of, view

from lanista.live.agent import game_writer as writer_module
from lanista.live.agent.inference import load
from lanista.live.files import policy_folder as folder_module
from lanista.live.files import spool as spool_module
from lanista.live.files.policy_folder import POINTER
from lanista.live.files.spool import Spool


def test_a_change_is_in_the_history_before_the_pointer_tells_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = published(tmp_path)
    written: list[str] = []
    real = folder_module.write_text

    def noted(path: Path, text: str, *more: Any) -> None:
        written.append(path.name)
        real(path, text, *more)

    monkeypatch.setattr(folder_module, "write_text", noted)
    folder.publish(folder.add(policy_of(1)))
    assert written == [f"{folder.pointer().serial:08d}.json", POINTER]


def test_pruning_spares_who_plays_who_is_tried_who_was_before_and_who_is_named(
    tmp_path: Path,
) -> None:
    folder = published(tmp_path)
    digests = [folder.add(policy_of(seed)) for seed in range(1, 6)]
    old, before, stable, candidate, base = digests
    for digest in (old, before, stable):
        folder.publish(digest)
    folder.try_out(candidate, 0.5)
    assert folder.prune(0, {base}) == 2
    left = {path.stem for path in folder.policies.glob("*.safetensors")}
    assert left == {before, stable, candidate, base}
    assert folder.prune(0) == 1
    assert not folder.path_of(base).exists()


def test_nothing_comes_to_bad_without_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path / "spool")
    spool.create()
    path = spool.write(game_of())

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool_module, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        spool.reject(path, "it is bad")
    assert path.exists()
    assert list(spool.bad.iterdir()) == []


def test_two_tellings_of_one_play_are_two_files(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.create()
    # The whole game, and what a journal still knew of it.
    paths = {spool.write(game_of(4)), spool.write(game_of(3)), spool.write(game_of(4))}
    assert len(paths) == 2
    assert len(spool.waiting()) == 2


def test_games_on_the_disk_make_room_for_those_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder_of(tmp_path / "policy")
    with agent_of(tmp_path) as agent:
        for number in range(20):
            game = agent.game(f"game {number}")
            game.act(view())
            if number == 0:
                size = 3 * game._recording.format.dtype.itemsize
                monkeypatch.setattr(writer_module, "MOST_WAITING_BYTES", 2 * size)
            game.end(1)
            while agent.report().games.waiting:
                time.sleep(0.001)
        report = agent.close()
    assert (report.games.written, report.games.dropped) == (20, 0)


def test_an_observation_that_was_taken_is_a_copy(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    digest = folder.pointer().stable
    decider = load(folder.path_of(digest), digest)
    given = view()
    taken = decider.seen(given)
    given[1] = 77.0
    assert taken[1] != 77.0
