"""Work that waits for room on a disk: how often it is tried, how long between, and what is said."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lanista.errors import LanistaError, RefusedError
from lanista.live.learner import ledger_file
from lanista.live.learner.full_disk import is_full, when_there_is_room
from lanista.live.learner.ledger import Ledger


class Clock:
    """Stands for the event that stops a learner, and notes how long was waited for it."""

    def __init__(self, stops_after: int = 10**6) -> None:
        self.pauses: list[float] = []
        self.stops_after = stops_after

    def wait(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        return len(self.pauses) >= self.stops_after


class Work:
    """Fails for want of room so many times, and notes in which order it was done and undone."""

    def __init__(self, failures: int, error: BaseException | None = None) -> None:
        self.failures = failures
        self.error = error or OSError(errno.ENOSPC, "No Space", "somewhere")
        self.steps = ""

    def do(self) -> str:
        self.steps += "w"
        if self.steps.count("w") <= self.failures:
            raise self.error
        return "done"

    def undo(self) -> None:
        self.steps += "u"


def tried(work: Work, clock: Clock, pause: float = 1.0) -> tuple[str | None, list[str]]:
    said: list[str] = []
    stop: Any = clock
    return when_there_is_room(work.do, work.undo, said.append, stop, pause), said


def test_work_that_has_room_is_done_once_and_in_silence() -> None:
    work, clock = Work(0), Clock()
    assert tried(work, clock) == ("done", [])
    assert (work.steps, clock.pauses) == ("w", [])


def test_pauses_double_up_to_a_minute_and_each_try_begins_by_undoing_the_last() -> None:
    work, clock = Work(8), Clock()
    done, said = tried(work, clock)
    assert done == "done"
    assert work.steps == "w" + "uw" * 8
    assert clock.pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert said == [
        "There is no room: no space at somewhere; waiting until there is. Nothing is lost.",
        "There is room again, and the learner goes on.",
    ]


def test_short_pauses_double_ten_times_at_most() -> None:
    clock = Clock()
    tried(Work(13), clock, pause=0.001)
    assert clock.pauses == pytest.approx([0.001 * 2 ** min(n, 10) for n in range(13)])


def test_who_stops_the_work_gets_nothing_and_no_further_try() -> None:
    work, clock = Work(10**6), Clock(stops_after=3)
    done, said = tried(work, clock)
    assert done is None
    assert (work.steps, len(clock.pauses), len(said)) == ("wuwuw", 3, 1)


def caused(error: BaseException) -> LanistaError:
    """Return an error that came of another one."""
    outer = LanistaError("It cannot be moved.")
    outer.__cause__ = error
    return outer


def test_a_full_disk_is_seen_behind_other_errors() -> None:
    full = OSError(errno.EDQUOT, "Quota Exceeded", "here")
    assert is_full(caused(caused(full)))
    assert not is_full(caused(OSError(errno.EIO, "broken")))
    done, said = tried(Work(1, caused(caused(full))), Clock())
    assert done == "done"
    assert "no room: quota exceeded at here;" in said[0]
    assert "no room: no space;" in tried(Work(1, OSError(errno.ENOSPC, "No Space")), Clock())[1][0]


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), LanistaError("It is refused.")])
def test_whatever_else_goes_wrong_is_raised_at_once(error: Exception) -> None:
    work, clock = Work(1, error), Clock()
    with pytest.raises(type(error)) as raised:
        tried(work, clock)
    assert raised.value is error
    assert (work.steps, clock.pauses) == ("w", [])


def test_a_book_that_cannot_be_read_or_written_asks_a_file_of_its_own_whether_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's word for a disk that fails does not say why."""
    failed = sqlite3.OperationalError("disk I/O error")
    failed.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    probes: list[int] = []
    usual = ledger_file.write_bytes

    def full(path: Path, data: bytes) -> None:
        probes.append(len(data))
        usual(path, data)
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with closing(Ledger(tmp_path / "learn.db", write=True)) as ledger:
        before = sorted(path.name for path in tmp_path.iterdir())
        with pytest.raises(RefusedError, match="cannot be read: disk I/O error"):
            refused(ledger, failed)
        monkeypatch.setattr(ledger_file, "write_bytes", full)
        with pytest.raises(OSError, match="No space left") as raised:
            refused(ledger, failed)
        assert is_full(raised.value)
        assert probes == [1 << 16]
        assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE])
def test_a_book_without_room_says_so_as_the_system_would(tmp_path: Path, code: int) -> None:
    failed = sqlite3.OperationalError("database or disk is full")
    failed.sqlite_errorcode = code
    with (
        closing(Ledger(tmp_path / "learn.db", write=True)) as ledger,
        pytest.raises(OSError, match="no space left on device") as raised,
    ):
        refused(ledger, failed)
    assert (raised.value.errno, raised.value.filename) == (
        errno.ENOSPC, str(tmp_path / "learn.db"),
    )  # fmt: skip


def refused(ledger: Ledger, error: sqlite3.Error) -> None:
    with ledger._speaking("read"):
        raise error
