"""What is named is on the disk first, and its name is on the disk before the writer goes on.

A power cut cannot be staged here; the order of the calls that outlast one can be.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from lanista.files import filling, remove_leftovers, replacing, write_bytes, write_text
from lanista.runs.checkpoints import Checkpoints


@dataclass(frozen=True)
class Sync:
    """One thing brought to the disk, and what lay there at that moment."""

    path: Path
    content: bytes | None
    """A file's bytes; None for a folder."""
    names: frozenset[str]
    """What the folder held: of a file, the folder it lies in."""


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[Sync]:
    """Return a list of all that is brought to the disk from now on, in order."""
    found: list[Sync] = []

    def note(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        folder = path if path.is_dir() else path.parent
        content = None if path.is_dir() else path.read_bytes()
        found.append(Sync(path, content, frozenset(each.name for each in folder.iterdir())))

    for name in ("fsync", "fdatasync"):
        real = getattr(os, name)

        def synced(handle: int, real: object = real) -> None:
            real(handle)  # type: ignore[operator]
            note(handle)

        monkeypatch.setattr(os, name, synced)
    return found


def assert_durable(syncs: list[Sync], path: Path, content: bytes) -> None:
    """Check that the bytes were on the disk before they had the name, and then the name was."""
    files = [n for n, sync in enumerate(syncs) if sync.content == content]
    folders = [n for n, sync in enumerate(syncs) if sync.content is None]
    assert files, "the file's bytes were not brought to the disk"
    first = files[0]
    assert syncs[first].path.name != path.name
    assert syncs[first].path.parent == path.parent
    named = [n for n in folders if syncs[n].path == path.parent and path.name in syncs[n].names]
    assert [n for n in named if n > first], "the folder's new name was not brought to the disk"


@pytest.mark.parametrize("old", [None, b"an older state"])
def test_a_files_bytes_and_then_its_name_are_brought_to_the_disk(
    tmp_path: Path, syncs: list[Sync], old: bytes | None
) -> None:
    path = tmp_path / "state.json"
    if old is not None:
        path.write_bytes(old)
    # More than a buffer holds, and an end that only the flush writes.
    content = b"0123456789" * 30_000 + b"the end"
    with replacing(path) as file:
        for at in range(0, len(content), 7001):
            file.write(content[at : at + 7001])
    assert_durable(syncs, path, content)
    files = [sync for sync in syncs if sync.content is not None]
    assert all((path.name in sync.names) == (old is not None) for sync in files)


def test_bytes_and_text_are_brought_to_the_disk_too(tmp_path: Path, syncs: list[Sync]) -> None:
    write_bytes(tmp_path / "one", b"1")
    assert_durable(syncs, tmp_path / "one", b"1")
    syncs.clear()
    write_text(tmp_path / "two", "zwölf")
    assert_durable(syncs, tmp_path / "two", "zwölf".encode())


def test_a_file_that_failed_is_not_named_on_the_disk(tmp_path: Path, syncs: list[Sync]) -> None:
    def fail() -> None:
        with replacing(tmp_path / "state.json") as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not any("state.json" in sync.names for sync in syncs)


def test_a_filled_folders_name_is_brought_to_the_disk(tmp_path: Path, syncs: list[Sync]) -> None:
    with filling(tmp_path / "teams") as place:
        write_text(place / "1.txt", "one")
        inside = len(syncs)
    assert_durable(syncs[:inside], place / "1.txt", b"one")
    after = [sync for sync in syncs[inside:] if sync.path == tmp_path]
    assert after
    assert "teams" in after[-1].names


def test_a_checkpoint_is_whole_on_the_disk_before_it_has_its_name(
    tmp_path: Path, syncs: list[Sync]
) -> None:
    folder = Checkpoints(tmp_path / "checkpoints")
    target = folder.save(12, {"update": 3})
    files = [sync for sync in syncs if sync.content is not None]
    assert {path.read_bytes() for path in target.iterdir()} == {sync.content for sync in files}
    assert all(sync.path.parent.parent == folder.folder for sync in files)
    assert all(sync.path.parent != target for sync in files)
    last = syncs[-1]
    assert (last.path, last.content) == (folder.folder, None)
    assert target.name in last.names


def test_what_somebody_elses_process_is_writing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever is root may signal everybody, so the system's refusal is made up.
    def refuse(process: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    other = tmp_path / f".tmp-{os.getpid() + 1}-{'0' * 16}.part"
    other.write_bytes(b"half")
    assert remove_leftovers(tmp_path) == 0
    assert other.read_bytes() == b"half"
