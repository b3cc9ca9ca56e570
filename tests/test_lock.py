"""A folder is held by one process; another is refused, at once or when its patience runs out."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lanista import lock
from lanista.errors import RefusedError
from lanista.lock import holding, is_held

HOLDER = """
import sys
from pathlib import Path
from lanista.lock import holding
with holding(Path(sys.argv[1]), "thing"):
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[Any]:
    """Hold a folder in another process, until it is sent a line or the block ends."""
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        if process.poll() is None:
            process.kill()


def test_another_process_is_refused_with_a_sentence_that_names_the_folder(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path):
        with pytest.raises(RefusedError) as refused, holding(tmp_path, "thing"):
            pass
        assert str(refused.value) == (
            f"Another process is working on the thing {tmp_path}; wait for it or stop it."
        )
        with pytest.raises(RefusedError, match=r"did not finish in 0\.02 seconds; wait"):  # noqa: SIM117
            with holding(tmp_path, "thing", patience=0.02):
                pass


def test_patience_waits_until_the_other_lets_go(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as other:
        with pytest.raises(RefusedError), holding(tmp_path, "thing"):
            pass
        other.stdin.write(b"\n")
        other.stdin.flush()
        with holding(tmp_path, "thing", patience=60), pytest.raises(RefusedError):  # noqa: SIM117
            with holding(tmp_path, "thing"):
                pass


def test_patience_tries_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = 0
    with held_elsewhere(tmp_path) as other:

        def slept(seconds: float) -> None:
            nonlocal tries
            tries += 1
            assert seconds == 0.005
            if tries == 3:
                other.kill()
                other.wait()

        monkeypatch.setattr(lock.time, "sleep", slept)
        with holding(tmp_path, "thing", patience=60):
            assert tries == 3


def test_without_patience_there_are_a_few_tries_however_coarse_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 1

    def slept(seconds: float) -> None:
        nonlocal tries
        tries += 1

    with held_elsewhere(tmp_path):
        monkeypatch.setattr(lock.time, "monotonic", lambda: 7.0)
        monkeypatch.setattr(lock.time, "sleep", slept)
        with pytest.raises(RefusedError), holding(tmp_path, "thing"):
            pass
        assert tries == 10


def test_one_who_looks_stands_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page asks again and again whether a run goes on; a run that starts just then must start."""
    looking = lock._opened(tmp_path)
    lock._try(looking, shared=True)
    assert not is_held(tmp_path)  # Two who look do not take each other for a run.

    def slept(seconds: float) -> None:
        os.close(looking)

    monkeypatch.setattr(lock.time, "sleep", slept)
    with holding(tmp_path, "run"):
        assert is_held(tmp_path)


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as other:
        other.kill()
        other.wait()
        with holding(tmp_path, "thing"):
            pass


def test_a_folder_that_is_not_there_is_not_said_to_be_held(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), holding(tmp_path / "none", "thing", patience=60):
        pass


def test_whether_a_folder_is_held_is_seen_without_leaving_a_trace(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    with held_elsewhere(tmp_path) as other:
        assert is_held(tmp_path)
        assert [*tmp_path.iterdir()] == []
        other.kill()
        other.wait()
        assert not is_held(tmp_path)
        with holding(tmp_path, "thing"):  # Whoever looked has let go again.
            assert is_held(tmp_path)


def open_files() -> int:
    gc.collect()  # What other tests left.
    return len([*Path("/proc/self/fd").iterdir()])


@pytest.mark.skipif(sys.platform != "linux", reason="counts through /proc")
def test_holding_and_looking_leave_no_file_open(tmp_path: Path) -> None:
    before = open_files()
    for _ in range(3):
        with holding(tmp_path, "thing"):
            is_held(tmp_path)
        is_held(tmp_path)
    assert open_files() == before


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the module see Windows, whose locks this gives: handles that are refused."""
    refused: list[int] = []

    def locking(handle: int, mode: int, size: int) -> None:
        assert (mode, size) == (2, 1)
        if refused:
            raise PermissionError

    monkeypatch.setattr(lock, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    return refused


def test_windows_holds_a_file_and_looking_makes_none(tmp_path: Path, windows: list[int]) -> None:
    assert not is_held(tmp_path)
    assert [*tmp_path.iterdir()] == []
    with holding(tmp_path, "thing"):
        assert [path.name for path in tmp_path.iterdir()] == ["run.lock"]
    assert not is_held(tmp_path)
    windows.append(1)
    assert is_held(tmp_path)
    with pytest.raises(RefusedError, match="Another process is working on the thing"):  # noqa: SIM117
        with holding(tmp_path, "thing"):
            pass
