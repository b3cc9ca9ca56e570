"""A policy is read once, however often the folder is looked at, and again when its file is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from toy import folder_of, policy_bytes

from lanista.live.agent import policy_watcher as current_module
from lanista.live.agent.inference import load
from lanista.live.agent.policy_watcher import Current
from lanista.live.files.policy_folder import PolicyFolder

PATIENCE = 60.0


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return how often each policy was read."""
    counts: Counter[str] = Counter()

    def counted(path: Path, digest: str) -> Any:
        counts[digest] += 1
        return load(path, digest)

    monkeypatch.setattr(current_module, "load", counted)
    return counts


@pytest.fixture
def folder(tmp_path: Path) -> PolicyFolder:
    return folder_of(tmp_path / "policy")


@pytest.fixture
def current(folder: PolicyFolder, loads: Counter[str]) -> Iterator[Current]:
    found = Current(folder)
    yield found
    found.close()


def test_what_plays_already_is_not_read_again_when_the_pointer_changes(
    folder: PolicyFolder, current: Current, loads: Counter[str]
) -> None:
    stable, candidate = folder.pointer().stable, folder.add(policy_bytes(1))
    folder.try_out(candidate, 0.5)
    for _ in range(3):
        assert current.lineup(PATIENCE).candidates
    folder.try_out(candidate, 0.25)
    assert current.lineup(PATIENCE).pointer.share == 0.25
    folder.publish(candidate, watch_share=0.1)
    lineup = current.lineup(PATIENCE)
    assert (lineup.stable.digest, lineup.pointer.candidate) == (candidate, stable)
    assert loads == {stable: 1, candidate: 1}


def test_a_damaged_candidate_is_read_once_and_again_when_its_file_is_another(
    folder: PolicyFolder, current: Current, loads: Counter[str]
) -> None:
    candidate = folder.add(policy_bytes(1))
    whole = folder.path_of(candidate).read_bytes()
    folder.try_out(candidate, 1.0)
    folder.path_of(candidate).write_bytes(whole[:-8])
    for number in range(5):
        lineup = current.lineup(PATIENCE)
        assert not lineup.candidates
        # Its games are the stable policy's, and say so.
        assert lineup.choose(f"game {number}") == (lineup.stable, False)
    assert loads[candidate] == 1
    assert current.refused == 1
    folder.path_of(candidate).write_bytes(whole)
    lineup = current.lineup(PATIENCE)
    assert lineup.choose("game") == (lineup.candidates[candidate], True)
    assert loads[candidate] == 2
